"""What admins see of their workspace: problems, services with their limits and speed, and opinions of answers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from perplexity.scope import N_

DIRECT = "D"
"""Stands for all direct messages together, in place of a channel's id."""


@dataclass(frozen=True, kw_only=True)
class Problem:
    """A problem, and an admin's remedy; both are sentences."""

    text: str
    fix: str


FindProblems = Callable[[str], Awaitable[Sequence[Problem]]]
"""Returns the problems of a workspace. Raises database errors."""


@dataclass(frozen=True, kw_only=True)
class LaneUse:
    """A service's limit of calls per minute for a kind of call, and the calls in the fullest minute of the last hour.

    `source` says where the limit comes from: `tier` (what the service allows a new key), `reply` (a reply of the
    service) or `set` (the settings).
    `others` is how many calls in one minute of the last hour came from other programs with the same key, according to
    the service; None if the service reported no such calls.
    """

    lane: str
    per_minute: int
    source: str
    fullest: int = 0
    others: int | None = None


@dataclass(frozen=True, kw_only=True)
class ProviderStats:
    """One provider over a period: the numbers of requests and answers, and the speed.

    `p50` and `p95` are the median and the 95th percentile of the seconds per answer, None without answers.
    """

    provider: str
    asked: int
    answered: int
    p50: float | None = None
    p95: float | None = None

    @property
    def answer_rate(self) -> float:
        """The share of requests that were answered, 0 to 1."""
        return self.answered / self.asked if self.asked else 0.0


MAX_COMMENT = 500
"""The most characters of a comment on an answer; the form in Slack has the same limit."""

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
    """The ratings of a provider's answers at an effort; both fields are empty for answers without a provider."""

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
    """A question whose asker called the answer bad, and agreed that admins may read the question.

    `text` is the command and the text after it; `reasons` are names in `REASONS`; `reference` is the short id in the
    log.
    """

    reference: str
    text: str
    reasons: Sequence[str]
    comment: str
    at: datetime


@dataclass(frozen=True, kw_only=True)
class Feedback:
    """People's feedback on answers: ratings by provider and effort, and the bad answers that admins may read."""

    ratings: Sequence[Rating] = ()
    bad: Sequence[BadAnswer] = ()


NO_FEEDBACK = Feedback()
