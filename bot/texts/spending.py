"""Spending: what was spent, and the budgets, for admins and for each person."""

from __future__ import annotations

from perplexity.formatting import pluralize

PER_PERSON = "Each person, a day"
PER_CHANNEL = "Each channel, a day"
PER_WORKSPACE = "The workspace, a month"
NO_LIMIT = "no limit"
SPENT = "Spent"
BY_PERSON = "Person, today"
BY_CHANNEL = "Channel, today"
BY_SERVICE = "Service, this month"
IN_UTC = "Days and months are in UTC."


def heading(slash: str) -> str:
    """Return the line above the budgets; `slash` is the umbrella command."""
    return f"*Budgets*  (`{slash} budget help` shows how to set them)"


def paused(by: str, slash: str) -> str:
    """Return that nothing is spent now; `by` mentions who paused it, empty if that is not known."""
    return f"*All paid searches are paused*{f' by {by}' if by else ''}. Type `{slash} resume` to allow them again."


def spent(today: str, month: str, *, reserved: str, cut: str) -> str:
    """Return what was spent; `reserved` is for calls that are not over, `cut` for those whose cost is unknown."""
    under_way = f", and up to {reserved} by calls under way" if reserved else ""
    ceiling = f" {cut} of it is counted at the highest price of calls that were cut off." if cut else ""
    return f"*Spent*  {today} today, {month} this month{under_way}.{ceiling}"


def count_calls(count: int) -> str:
    """Return how many calls of a service were made."""
    return pluralize(count, "call")


def own_today(amount: str, allowed: str) -> str:
    """Return what a person has spent today, of what they may spend; `allowed` is empty without a limit."""
    return f"Today (UTC): {amount}{f' of {allowed}' if allowed else ''}"
