"""What people think of answers: thumbs, reasons, and the rates that admins see."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

MAX_COMMENT = 500
"""Characters of a comment on an answer; Slack's form takes no more either."""

REASONS = {
    "wrong": "It is wrong",
    "sources": "The sources don’t say that",
    "outdated": "It is out of date",
    "incomplete": "Something is missing",
    "other": "Something else",
}
"""Why an answer was bad, as people choose it, by the name that is stored."""


@dataclass(frozen=True, kw_only=True)
class Rating:
    """How the answers of a provider at an effort were rated; both are empty if no provider was asked."""

    provider: str
    effort: str
    up: int
    down: int

    @property
    def share(self) -> float:
        """The share of good ones, 0 to 1."""
        return self.up / (self.up + self.down) if self.up + self.down else 0.0


@dataclass(frozen=True, kw_only=True)
class BadAnswer:
    """A question whose asker said that its answer was bad, and that admins may read it.

    `text` is the command and what was typed after it, `reasons` are names in `REASONS`;
    `reference` is the short id in the log.
    """

    reference: str
    text: str
    reasons: Sequence[str]
    comment: str
    at: datetime


@dataclass(frozen=True, kw_only=True)
class Feedback:
    """What people said about answers: rates by provider and effort, and the bad ones that admins may read."""

    ratings: Sequence[Rating] = ()
    bad: Sequence[BadAnswer] = ()


NO_FEEDBACK = Feedback()
