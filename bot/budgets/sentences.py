"""Sentences on budgets: a refusal with its reason and the next step."""

from __future__ import annotations

from collections.abc import Mapping

from bot.budgets.amounts import format_amount
from bot.model.question import RateWait
from bot.model.spending import OverBudget, Scope

WHOSE: Mapping[Scope, str] = {
    "user": "Your budget for today",
    "user_week": "Your budget for this week",
    "channel": "This channel’s budget for today",
    "channel_week": "This channel’s budget for this week",
    "workspace_week": "This workspace’s budget for this week",
    "workspace": "This workspace’s budget for this month",
}


def over_budget_sentence(over: OverBudget, *, effort: str, fits: str = "") -> str:
    """Return why a call is refused, when its budget resets, and the next step; `fits` is an effort that fits."""
    if not over.allowed:
        return f"{WHOSE[over.scope]} is $0.00, so I can’t make paid searches for it. Ask an admin for more."
    whose, allowed, wait = WHOSE[over.scope], format_amount(over.allowed), _wait(over.resets)
    if fits or (effort in {"high", "xhigh"} and over.remaining):
        left, cost = format_amount(over.remaining), format_amount(over.amount)
        next_step = f"`{fits}` still fits; for more, ask an admin." if fits else "Ask an admin for more."
        return f"{whose} has {left} left of {allowed}, and this may cost up to {cost}. It resets {wait}. {next_step}"
    return f"{whose} ({allowed}) is used up. It resets {wait}. Ask again then, or ask an admin for more."


def first_budget_sentence(amount: int, *, slash: str) -> str:
    """Return the sentence on a new installation's budget, and how to change it."""
    return (
        f"Each person may spend {format_amount(amount)} a day, as in every new installation. `{slash} budget user` and "
        "BUDGET_USER_DAY_USD change that; `none` lifts it."
    )


def too_fast_sentence(wait: RateWait | None) -> str:
    """Return why a question that came too fast is refused, and when to ask again."""
    when = "in a minute" if wait is None else _wait(wait.seconds)
    in_channel = wait is not None and wait.kind == "channel"
    many = "Many questions were asked in this channel" if in_channel else "You’ve asked a lot"
    return f"{many} in a short time. Ask again {when}."


def _wait(seconds: float) -> str:
    """Return a wait as "in about 40 s", "in about 5 min", "in about 3 h", or "in about 2 days"."""
    if seconds < 100:
        return f"in about {max(1, round(seconds))} s"
    for unit, size, below in (("min", 60, 100), ("h", 3600, 48)):
        if seconds / size < below:
            return f"in about {round(seconds / size)} {unit}"
    return f"in about {round(seconds / 86400)} days"
