"""People's opinions of answers: thumbs, reasons, and the rates that admins see."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from perplexity.scope import N_

MAX_COMMENT = 500
"""The most characters of a comment on an answer, as in Slack's form."""

REASONS = {
    "wrong": N_("It is wrong"),
    "sources": N_("The sources don’t say that"),
    "outdated": N_("It is out of date"),
    "incomplete": N_("Something is missing"),
    "other": N_("Something else"),
}
"""The reasons that a person can choose for calling an answer bad, by the stored name."""


@dataclass(frozen=True, kw_only=True)
class Rating:
    """The ratings of a provider's answers at an effort; both names are empty for answers without a provider."""

    provider: str
    effort: str
    up: int
    down: int

    @property
    def share(self) -> float:
        """The share of good ratings, 0 to 1; 0 without ratings."""
        return self.up / (self.up + self.down) if self.up + self.down else 0.0


@dataclass(frozen=True, kw_only=True)
class BadAnswer:
    """A question whose asker called the answer bad, and agreed that admins may read both.

    `text` is the command and its text, `reasons` are names in `REASONS`; `reference` is the short id in the log.
    """

    reference: str
    text: str
    reasons: Sequence[str]
    comment: str
    at: datetime


@dataclass(frozen=True, kw_only=True)
class Feedback:
    """People's feedback on answers: rates by provider and effort, and the bad answers that admins may read."""

    ratings: Sequence[Rating] = ()
    bad: Sequence[BadAnswer] = ()


NO_FEEDBACK = Feedback()
