"""What one attempt to post came to."""

from __future__ import annotations

from dataclasses import dataclass

UNREADABLE = frozenset({"invalid_blocks", "invalid_blocks_format", "msg_blocks_too_long", "msg_too_long", "no_text"})
"""Refusals of the message's form, after which the same words are sent once as plain text."""


@dataclass(frozen=True, kw_only=True)
class Sent:
    """Slack took the message; `ts` identifies it where Slack says so."""

    ts: str | None = None


@dataclass(frozen=True, kw_only=True)
class Refused:
    """Slack does not like the message's form."""

    error: str


@dataclass(frozen=True, kw_only=True)
class WayClosed:
    """A way that leads nowhere any more: used up, expired, not allowed."""

    error: str


@dataclass(frozen=True, kw_only=True)
class TryLater:
    """Slack is away or busy; `seconds` is what it asked for. `ambiguous`: the message may have arrived all the same."""

    error: str
    seconds: float | None = None
    ambiguous: bool = False


Posting = Sent | Refused | WayClosed | TryLater
