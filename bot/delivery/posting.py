"""What one attempt to post came to."""

from __future__ import annotations

import re
from dataclasses import dataclass

_NAME = re.compile(r"[a-z_]{1,60}")

UNNAMED = "unnamed"
"""The name for an error that Slack, or a server that answered in its place, gave no valid name."""

UNREADABLE = frozenset({"invalid_blocks", "invalid_blocks_format", "msg_blocks_too_long", "msg_too_long", "no_text"})
"""Refusals of the message's form, after which the same words are sent once as plain text."""

BROKEN = frozenset({"internal_error", "fatal_error"})
"""Slack's own troubles, which pass, unless it is the message's blocks that bring them about."""


def error_name(said: object) -> str | None:
    """Return an error's name if it has the form of Slack's; None otherwise, since it may contain text or a secret."""
    return said if isinstance(said, str) and _NAME.fullmatch(said) else None


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
    """Slack is away or busy; `seconds` is what it asked for. `ambiguous`: the message may have arrived anyway.

    `blind`: nobody can look whether this post, or an earlier one of the same message, arrived.
    """

    error: str
    seconds: float | None = None
    ambiguous: bool = False
    blind: bool = False

    @property
    def broken(self) -> bool:
        """Whether Slack itself failed at the message, which it does at some blocks, for ever."""
        return self.error in BROKEN


Posting = Sent | Refused | WayClosed | TryLater


@dataclass(frozen=True, kw_only=True)
class Found:
    """A message that was looked for stands there."""

    ts: str


@dataclass(frozen=True, kw_only=True)
class NotThere:
    """The conversation was read and does not hold the message."""


@dataclass(frozen=True, kw_only=True)
class CannotLook:
    """The conversation may not be read: the token lacks the scope for its history."""


Looked = Found | NotThere | CannotLook | TryLater
