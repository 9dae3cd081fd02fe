"""Sentences on budgets: a refusal with its reason and the next step."""

from __future__ import annotations

from collections.abc import Mapping

from bot.budgets.amounts import format_amount
from bot.model.question import RateWait
from bot.model.spending import OverBudget, Scope
from bot.translation import N_, money
from bot.translation import gettext as _

WHOSE: Mapping[Scope, str] = {
    "user": N_("Your budget for today"),
    "user_week": N_("Your budget for this week"),
    "channel": N_("This channel’s budget for today"),
    "channel_week": N_("This channel’s budget for this week"),
    "workspace_week": N_("This workspace’s budget for this week"),
    "workspace": N_("This workspace’s budget for this month"),
}


def over_budget_sentence(over: OverBudget, *, effort: str, fits: str = "") -> str:
    """Return a sentence on why a call is refused, when its budget resets and what to do; `fits` is an effort that fits.

    `fits` is empty if no effort fits.
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
