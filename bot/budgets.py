"""Budgets: amounts as people type and read them, the amounts reserved for calls, and sentences on refusals. Pure.

The app counts in whole micro-dollars.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal

from bot.model.question import RateWait
from bot.model.spending import OverBudget, Scope
from bot.translation import N_, money
from bot.translation import gettext as _

MICROS = 1_000_000
"""The number of micro-dollars in a dollar."""

MAX_DOLLARS = 1_000_000

ALLOWED = N_("an amount in dollars from 0 to 1,000,000, such as 2.50, with at most six decimals")

_AMOUNT = re.compile(r"\$?(\d{1,9}(?:\.\d{1,6})?|\d{1,3}(?:,\d{3}){1,2}(?:\.\d{1,6})?|\.\d{1,6})", re.ASCII)
"""Matches an amount.

A comma may only separate thousands: `2,50` is two and a half to many people, and must not become 250.
"""


def parse_amount(text: str) -> int:
    """Return an amount such as `2.50` or `$2.50` in micro-dollars. Raises ValueError, whose text is `ALLOWED`."""
    found = _AMOUNT.fullmatch(text.strip())
    amount = int(Decimal(found[1].replace(",", "")) * MICROS) if found else -1
    if not 0 <= amount <= MAX_DOLLARS * MICROS:
        raise ValueError(ALLOWED)
    return amount


def format_amount(amount: int) -> str:
    """Return micro-dollars as "$2.50", with as many decimals as the amount has, at least two."""
    whole, rest = divmod(amount, MICROS)
    return f"${whole:,}.{f'{rest:06}'.rstrip('0').ljust(2, '0')}"


def format_rounded(amount: int) -> str:
    """Return micro-dollars for a table: "$2.50", "$0.0042" for an amount below a cent, or "under $0.0001"."""
    if 0 < amount < MICROS // 100:
        return f"${amount / MICROS:.4f}" if amount >= MICROS // 10_000 else "under $0.0001"
    return f"${amount / MICROS:,.2f}"


SEARCH, POSTS, AGENT = "search", "posts", "agent"
"""Names used as the effort of calls that have none: a search, a look at posts on X, and a step of the agent's model."""

CEILINGS: Mapping[str, int] = {
    SEARCH: 20_000,
    "fast": 20_000,
    "low": 20_000,
    "medium": 100_000,
    "high": 2_000_000,
    "xhigh": 2_000_000,
    POSTS: 500_000,
    AGENT: 100_000,
}
"""The micro-dollars that are reserved for a call, by its effort, until the ledger knows the costs of enough calls."""

REASONING = frozenset({"medium"})
"""The efforts that become `FAST` near the end of a budget."""

FAST = "fast"

OFFERED = (FAST, "medium", "high")
"""The efforts that a refusal may offer."""


def cheaper(effort: str) -> dict[str, int]:
    """Return the cheaper efforts that a person can choose instead, with their ceilings; empty for `POSTS`."""
    return {one: CEILINGS[one] for one in OFFERED if effort != POSTS and CEILINGS[one] < CEILINGS[effort]}


WHOSE: Mapping[Scope, str] = {
    "user": N_("Your budget for today"),
    "user_week": N_("Your budget for this week"),
    "channel": N_("This channel’s budget for today"),
    "channel_week": N_("This channel’s budget for this week"),
    "workspace_week": N_("This workspace’s budget for this week"),
    "workspace": N_("This workspace’s budget for this month"),
}


def over_budget_sentence(over: OverBudget, *, effort: str, fits: str = "") -> str:
    """Return the text that says why a call is refused, when the budget resets, and what to do.

    `fits` is a cheaper effort that the budget still allows; empty if there is none.
    """
    if not over.allowed:
        sentence = _("{whose} is {allowed}, so I can’t make paid searches for it. Ask an admin for more.")
    elif fits:
        sentence = _(
            "{whose} has {left} left of {allowed}, and this may cost up to {cost}. It resets {wait}. "
            "`{fits}` still fits; for more, ask an admin."
        )
    elif effort in {"high", "xhigh"} and over.remaining:
        sentence = _(
            "{whose} has {left} left of {allowed}, and this may cost up to {cost}. It resets {wait}. "
            "Ask an admin for more."
        )
    else:
        sentence = _("{whose} ({allowed}) is used up. It resets {wait}. Ask again then, or ask an admin for more.")
    amounts = {"left": over.remaining, "allowed": over.allowed, "cost": over.amount}
    shown = {name: money(format_amount(amount)) for name, amount in amounts.items()}
    return sentence.format(whose=_(WHOSE[over.scope]), wait=_wait(over.resets), fits=fits, **shown)


def first_budget_sentence(amount: int, *, slash: str) -> str:
    """Return the sentence on a new installation's budget, and how to change it."""
    sentence = _(
        "Each person may spend {amount} a day, as in every new installation. `{command}` and BUDGET_USER_DAY_USD "
        "change that; `off` lifts it."
    )
    return sentence.format(amount=money(format_amount(amount)), command=f"{slash} budget user")


def too_fast_sentence(wait: RateWait | None) -> str:
    """Return a sentence on why a question that came too soon is refused, and when to ask again."""
    when = _("in a minute") if wait is None else _wait(wait.seconds)
    if wait is not None and wait.kind == "channel":
        return _("Many questions were asked in this channel in a short time. Ask again {wait}.").format(wait=when)
    return _("You’ve asked a lot in a short time. Ask again {wait}.").format(wait=when)


def _wait(seconds: float) -> str:
    """Return a wait as "in about 40 s", "in about 5 min", "in about 3 h", or "in about 2 days"."""
    if seconds < 100:
        return _("in about {count} s").format(count=max(1, round(seconds)))
    for about, size, below in ((N_("in about {count} min"), 60, 100), (N_("in about {count} h"), 3600, 48)):
        if seconds / size < below:
            return _(about).format(count=round(seconds / size))
    return _("in about {count} days").format(count=round(seconds / 86400))
