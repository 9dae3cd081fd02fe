"""The protocol of a service with Grok, and its results: posts on X, their summary and their sentiment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import ClassVar, Literal, Protocol, get_args

from perplexity.errors import PerplexityError
from perplexity.types import JSON, Source
from perplexity.wire.errors import ErrorMap


@dataclass(frozen=True, kw_only=True)
class GrokResponse:
    """The contents of a response, not yet validated.

    `text` is the model's own text. `annotation_urls` are the addresses in the service's annotations of that text;
    `confirmed_urls` are all addresses that the service itself reports, and not only the model. `posts_read` is how many
    posts the service read, None if it does not say. `incomplete` says why the model stopped early, None if it finished.
    """

    text: str
    annotation_urls: tuple[str, ...]
    confirmed_urls: tuple[str, ...]
    posts_read: int | None
    incomplete: str | None
    provider: str
    model: str | None
    cost_usd: float | None


class GrokWire(Protocol):
    """A service's protocol for Grok: the address, the request and the response. It does no I/O."""

    name: ClassVar[str]
    """The display name, such as "Grok" or "Grok at OpenRouter"."""

    base_url: ClassVar[str]
    """The service's usual address."""

    path: ClassVar[str]
    """The path that requests are posted to."""

    dialect: ClassVar[ErrorMap]
    """How the service reports errors."""

    def build(self, topic: str, *, since: date, until: date) -> dict[str, JSON]:
        """Return the request's body. Both days are included."""
        ...

    def read(self, body: Mapping[str, JSON]) -> GrokResponse:
        """Parse a response. Raises the error that the response reports, or RunFailed."""
        ...

    def translate_error(self, error: PerplexityError) -> PerplexityError:
        """Return the error with the service's name, and with another class if the service means another error by it."""
        ...


SentimentLabel = Literal["positive", "neutral", "negative", "mixed"]
SENTIMENT_LABELS: tuple[SentimentLabel, ...] = get_args(SentimentLabel)

MAX_POSTS = 20


@dataclass(frozen=True, kw_only=True)
class Sentiment:
    """How many posts express each sentiment."""

    positive: int = 0
    neutral: int = 0
    negative: int = 0
    mixed: int = 0

    @property
    def total(self) -> int:
        """The number of posts counted."""
        return sum(self.counts().values())

    def counts(self) -> dict[SentimentLabel, int]:
        """Return the number of posts by sentiment."""
        return {"positive": self.positive, "neutral": self.neutral, "negative": self.negative, "mixed": self.mixed}


@dataclass(frozen=True, kw_only=True)
class PostSummary:
    """A summary of what people say. `text` has markers that refer to `posts`, whose addresses were validated.

    `sentiment` counts posts; it never repeats figures from the model. `unreliable` is None, or a sentence that says
    why the summary is not reliable: it rests on no posts, on posts that the service does not confirm, or on more posts
    than the service read. The sentiment of such posts is not counted. `incomplete` says why the model stopped early,
    None if it finished. `posts_read` is how many posts the service read, None if it does not say.
    """

    text: str
    posts: tuple[Source, ...] = ()
    sentiment: Sentiment = Sentiment()
    posts_read: int | None = None
    unreliable: str | None = None
    incomplete: str | None = None
    provider: str = ""
    model: str | None = None
    seconds: float = 0.0
    cost_usd: float | None = None


class PostSource(Protocol):
    """A service that reads public posts."""

    @property
    def name(self) -> str:
        """The display name, such as "Grok" or "Grok at OpenRouter"."""
        ...

    async def summarize(self, topic: str, *, since: date, until: date, seconds: float) -> PostSummary:
        """Summarize posts from `since` to `until`, both included. Raises only PerplexityError."""
        ...
