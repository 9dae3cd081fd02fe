"""The public pulse: what people say about a topic, the posts that say it, and how they feel."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Literal, Protocol, get_args

from perplexity.types import Source

Mood = Literal["positive", "neutral", "negative", "mixed"]
MOODS: tuple[Mood, ...] = get_args(Mood)

MOST_POSTS = 20


@dataclass(frozen=True, kw_only=True)
class Moods:
    """How many posts are of each mood."""

    positive: int = 0
    neutral: int = 0
    negative: int = 0
    mixed: int = 0

    @property
    def total(self) -> int:
        """How many posts were counted."""
        return sum(self.counts().values())

    def counts(self) -> dict[Mood, int]:
        """Return the number of posts by mood."""
        return {"positive": self.positive, "neutral": self.neutral, "negative": self.negative, "mixed": self.mixed}


@dataclass(frozen=True, kw_only=True)
class Pulse:
    """What people say. `text` has markers that refer to `posts`, whose addresses were checked.

    `moods` counts the posts, and nothing that a model says of them. `degraded` is a sentence on why this rests on no
    post at all, or on posts that nobody confirms and whose moods are not counted; None where it rests on some that are
    to be believed. `incomplete` says why the model stopped early (None: it finished), `fetched` is how many posts the
    service read, None where it does not say.
    """

    text: str
    posts: tuple[Source, ...] = ()
    moods: Moods = Moods()
    fetched: int | None = None
    degraded: str | None = None
    incomplete: str | None = None
    provider: str = ""
    model: str | None = None
    seconds: float = 0.0
    cost_usd: float | None = None


class PulseSource(Protocol):
    """A service that reads public posts."""

    @property
    def name(self) -> str:
        """The display name, such as "Grok" or "Grok at OpenRouter"."""
        ...

    async def feel(self, topic: str, *, since: date, until: date, seconds: float) -> Pulse:
        """Return what people said from `since` to `until`, both included. Raises a PerplexityError, nothing else."""
        ...
