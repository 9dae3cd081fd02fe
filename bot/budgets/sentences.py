"""What people read about budgets: a refusal with its reason and the next step, a notice for admins."""

from __future__ import annotations

from collections.abc import Mapping

from bot.budgets.amounts import format_amount
from bot.model.question import RateWait
from bot.model.spending import BudgetNotice, OverBudget, Scope
from bot.texts import notices

WHOSE: Mapping[Scope, str] = {
    "user": notices.PERSONS_BUDGET,
    "channel": notices.CHANNELS_BUDGET,
    "workspace": notices.WORKSPACES_BUDGET,
}


def over_budget_sentence(over: OverBudget, *, effort: str) -> str:
    """Return why a call is refused, when its budget resets, and what can be done."""
    if not over.allowed:
        return notices.no_budget(WHOSE[over.scope])
    whose, allowed, wait = WHOSE[over.scope], format_amount(over.allowed), _wait(over.resets)
    if effort in {"high", "xhigh"} and over.remaining:
        left, cost = format_amount(over.remaining), format_amount(over.amount)
        return notices.too_expensive(whose, left=left, allowed=allowed, cost=cost, wait=wait)
    return notices.used_up(whose, allowed=allowed, wait=wait)


def notice_text(notice: BudgetNotice, *, slash: str) -> str:
    """Return mrkdwn that tells an admin how much of a budget is spent; `slash` is the umbrella command."""
    return notices.budget_used(
        _whose(notice),
        percent=notice.percent,
        spent=format_amount(notice.spent),
        allowed=format_amount(notice.allowed),
        slash=slash,
    )


def _whose(notice: BudgetNotice) -> str:
    match notice.scope:
        case "user":
            return notices.persons_budget(f"<@{notice.subject}>", notice.period)
        case "channel":
            return notices.channels_budget(f"<#{notice.subject}>", notice.period)
        case "workspace":
            return notices.workspaces_budget(notice.period)


def too_fast_sentence(wait: RateWait | None) -> str:
    """Return why a question is refused that came too fast, and when to ask again."""
    if wait is None:
        return notices.too_fast("in a minute", in_channel=False)
    return notices.too_fast(_wait(wait.seconds), in_channel=wait.kind == "channel")


def _wait(seconds: float) -> str:
    """Return a wait as "in about 40 s", "in about 5 min", "in about 3 h", or "in about 2 days"."""
    if seconds < 100:
        return f"in about {max(1, round(seconds))} s"
    for unit, size, below in (("min", 60, 100), ("h", 3600, 48)):
        if seconds / size < below:
            return f"in about {round(seconds / size)} {unit}"
    return f"in about {round(seconds / 86400)} days"
