"""What a service that has Grok is asked and says: what a new way to Grok has to offer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Literal, Protocol, get_args

from perplexity.errors import PerplexityError
from perplexity.types import JSON, Source
from perplexity.wire.errors import Dialect


@dataclass(frozen=True, kw_only=True)
class Told:
    """What a response says, of which nothing is believed yet.

    `written` is the model's own text. `annotated` are the addresses that the service annotates it with, `named` all
    those that the service, and not the model, says it came across. `fetched` is how many posts it read, None where it
    does not say. `incomplete` says why the model stopped early (None: it finished).
    """

    written: str
    annotated: tuple[str, ...]
    named: tuple[str, ...]
    fetched: int | None
    incomplete: str | None
    provider: str
    model: str | None
    cost_usd: float | None


class GrokWire(Protocol):
    """A way to Grok: the address, the request, and what the answers mean. Pure."""

    @property
    def name(self) -> str:
        """The display name, such as "Grok" or "Grok at OpenRouter"."""
        ...

    @property
    def base_url(self) -> str:
        """Where the service usually is."""
        ...

    @property
    def path(self) -> str:
        """What is posted to."""
        ...

    @property
    def dialect(self) -> Dialect:
        """How the service names errors."""
        ...

    def build(self, topic: str, *, since: date, until: date) -> dict[str, JSON]:
        """Return the request's body. Both days are included."""
        ...

    def read(self, body: Mapping[str, JSON]) -> Told:
        """Return what a response says. Raises what its error says, RunFailed or MalformedResponse."""
        ...

    def understood(self, error: PerplexityError) -> PerplexityError:
        """Return what an error of this service means, in the service's name."""
        ...


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


MOST_SEARCHES = 3

SYSTEM = f"""\
Search X for what people say about the topic. Read at most {MOST_POSTS} posts, in at most {MOST_SEARCHES} searches. \
Take posts of different people and opinions, no advertisements and no copies.
`posts`: each post that you found and used, with its address and the mood of its author towards the topic: positive, \
neutral, negative or mixed. `about`: who says what, in at most ten words.
`summary`: what people say and why, in at most 200 words. Behind each statement put the numbers of the posts that say \
it in square brackets, such as [1] or [2][3]; the first of `posts` is 1. Do not quote posts word for word.
Where you found no posts, leave `posts` empty and say so in `summary`."""

SCHEMA: Mapping[str, JSON] = {
    "type": "object",
    "properties": {
        "posts": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "url": {"type": "string"},
                    "mood": {"type": "string", "enum": [*MOODS]},
                    "about": {"type": "string"},
                },
                "required": ["url", "mood", "about"],
                "additionalProperties": False,
            },
        },
        "summary": {"type": "string"},
    },
    "required": ["posts", "summary"],
    "additionalProperties": False,
}


def messages(topic: str, *, more: str = "") -> list[JSON]:
    """Return the two messages; `more` is what one service has to be told besides."""
    system = f"{SYSTEM}\n{more}" if more else SYSTEM
    return [{"role": "system", "content": system}, {"role": "user", "content": f"Topic: {topic}"}]
