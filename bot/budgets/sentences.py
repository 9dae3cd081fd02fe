"""What people read about budgets: a refusal with its reason and the next step, a faster answer, a notice for admins."""

from __future__ import annotations

from collections.abc import Mapping

from bot.budgets.amounts import format_amount
from bot.model.question import RateWait
from bot.model.spending import BudgetNotice, OverBudget, Scope

WHOSE: Mapping[Scope, str] = {
    "user": "Your budget for today",
    "channel": "This channel’s budget for today",
    "workspace": "This workspace’s budget for this month",
}

PAUSED = "An admin has paused all paid searches, so I can’t answer now. Ask again when they are resumed."
LEDGER_AWAY = "I can’t reach my database, so I can’t check the budget. Ask again in a moment."
FASTER = "Answered fast instead of with reasoning: what is left of the budget would not cover it."


def over_budget_sentence(over: OverBudget, *, effort: str) -> str:
    """Return why a call is refused, when its budget begins anew, and what can be done."""
    if not over.allowed:
        return f"{WHOSE[over.scope]} is $0.00, so I can’t make paid searches for it. Ask an admin for more."
    whose, resets = WHOSE[over.scope], f"It begins anew {format_wait(over.resets)}"
    if effort in {"high", "xhigh"} and over.remaining:
        return (
            f"{whose} has {format_amount(over.remaining)} left of {format_amount(over.allowed)}, and this may cost up "
            f"to {format_amount(over.amount)}. {resets}. Ask with less effort, such as `--model fast`, or ask an admin "
            "for more."
        )
    return f"{whose} ({format_amount(over.allowed)}) is used up. {resets}. Ask again then, or ask an admin for more."


def notice_text(notice: BudgetNotice, *, slash: str) -> str:
    """Return mrkdwn that tells an admin how much of a budget is spent; `slash` is the umbrella command."""
    whose = {
        "user": f"<@{notice.subject}>’s budget for {notice.period:%-d %B}",
        "channel": f"<#{notice.subject}>’s budget for {notice.period:%-d %B}",
        "workspace": f"The workspace’s budget for {notice.period:%B}",
    }[notice.scope]
    share = "is used up" if notice.percent >= 100 else f"is {notice.percent}% used"
    what = "Further questions are refused. " if notice.percent >= 100 else ""
    return (
        f"{whose} {share}: {format_amount(notice.spent)} of {format_amount(notice.allowed)}. {what}"
        f"Change it with `{slash} budget`."
    )


def too_fast_sentence(wait: RateWait | None) -> str:
    """Return why a question is refused that came too fast, and when to ask again."""
    many = "Many questions were asked in this channel" if wait and wait.kind == "channel" else "You’ve asked a lot"
    return f"{many} in a short time. Ask again {format_wait(wait.seconds) if wait else 'in a minute'}."


def format_wait(seconds: float) -> str:
    """Return a wait as "in about 40 s", "in about 5 min", "in about 3 h", or "in about 2 days"."""
    if seconds < 100:
        return f"in about {max(1, round(seconds))} s"
    for unit, size, below in (("min", 60, 100), ("h", 3600, 48)):
        if seconds / size < below:
            return f"in about {round(seconds / size)} {unit}"
    return f"in about {round(seconds / 86400)} days"
