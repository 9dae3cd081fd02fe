"""Limits as admins read and write them."""

from __future__ import annotations

import re
from collections.abc import Mapping

from bot.model.limits import HIGHEST, Limit, LimitName

NO_LIMIT = "no limit"
SAVED = "Saved. It applies from the next question on."

LABELS: Mapping[LimitName, str] = {
    "open": "Open questions per person",
    "user": "Questions per person each minute",
    "channel": "Questions in a channel each minute",
    "thread": "Questions in a thread each minute",
    "workspace": "Questions in progress",
}
"""What each limit is called."""

OFF = "off"
"""What an admin types for no limit."""

_NUMBER = re.compile(r"[0-9]{1,9}")


def parse_limit(text: str, *, bound: int | None = None) -> int | None:
    """Return what an admin typed: a number, 0 for no limit, None for an empty text, which is the settings' limit.

    `bound` is as in `Limit`. Raises ValueError, which says what is allowed.
    """
    text = text.strip()
    if not text:
        return None
    if text.casefold() == OFF and bound is None:
        return 0
    if not _NUMBER.fullmatch(text) or not 1 <= int(text) <= (bound or HIGHEST):
        raise ValueError(allowed(bound))
    return int(text)


def allowed(bound: int | None = None) -> str:
    """Return what can be set as a limit, besides nothing: "a whole number from 1 to 20"."""
    return (
        f"a whole number from 1 to {bound:,}, which is this app’s own limit"
        if bound is not None
        else f"a whole number from 1 to {HIGHEST:,}, or {OFF} for no limit"
    )


def typed(limit: Limit) -> str:
    """Return what a form shows of what holds today; nothing for no limit."""
    return str(limit.value or "")


def limit_line(limit: Limit) -> str:
    """Return a limit as a line of mrkdwn, with that of the settings if admins have set another one."""
    line = f"{LABELS[limit.name]}: *{number(limit.value)}*"
    return line if limit.own is None else f"{line} (default: {number(limit.host)})"


def number(value: int) -> str:
    """Return a limit for people: "1,000", or "no limit" for 0."""
    return f"{value:,}" if value else NO_LIMIT


def limit_not_taken(text: str, label: str, allowed: str, *, reset: str = "nothing") -> str:
    """Return that a limit cannot be this, and what is allowed; `reset` is what takes it back."""
    return f"“{text}” cannot be the limit “{label}”. It takes {allowed}, or {reset}."
