"""What travels: questions and queries in, answers, results and events out; frozen values."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal

from perplexity.attempts import Attempt
from perplexity.errors import PerplexityError
from perplexity.filters import NO_FILTERS, Filters

Context = Literal["low", "medium", "high"]

API = Literal["agent", "sonar"]
"""Perplexity's interfaces to answers: the present one, and its predecessor, which is retired for new keys."""

JSON = Any
"""A decoded JSON value from outside; narrowed by the code that reads it."""

BeforeRetry = Callable[[PerplexityError], Awaitable[None]]
"""Awaited before a request is sent again, with the error that ended the one before."""


@dataclass(frozen=True, kw_only=True)
class Message:
    """One turn of a conversation."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, kw_only=True)
class Query:
    """A raw web search: at most `max_results` (1–20) pages of at most `max_tokens_per_page` tokens each.

    `news` asks for news only, and `fast` for the cheaper and quicker search, if a provider has one.
    `seconds` is the time that may be spent on it, retries included; None takes the provider's own limit. `persist`
    repeats it after a 5xx or a limit until that time is over, as a chain has its last provider do. `before_retry` is
    awaited before a request is sent again, with the error that ended the one before; what it raises is raised.
    """

    text: str
    filters: Filters = NO_FILTERS
    max_results: int = 5
    max_tokens_per_page: int = 1024
    news: bool = False
    fast: bool = False
    seconds: float | None = None
    persist: bool = field(default=False, compare=False)
    before_retry: BeforeRetry | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, kw_only=True)
class Question:
    """A question for an answer model.

    `standalone` is the last turn with what it refers to, for a provider that can only search; empty if that is the turn
    itself. `model` is a Sonar name, an effort or `vendor/model`; None takes the default of the mode. `schema` asks for
    JSON, `news` for an answer from news, `offline` for one from the messages alone, by a provider that can leave its
    search out; if its service searched anyway, that is a failure. `max_tokens` is the most that the model may write,
    `context` how much of the pages Perplexity gives it to read.
    `tools` are further ones that the service runs, such as `{"type": "fetch_url"}`; Sonar models take none. `run_id`
    resumes a background run that was paid for already; `on_run` is awaited with the id of a new one, before its
    result is waited for. A run that is given up, because its time is over or `on_run` raised (such as
    `RequestCancelled`), is cancelled at the service; one whose task is cancelled goes on and can be resumed. If the
    question is not `resumable`, its run is cancelled in that case, too, also a quick answer's. `check_cancelled` is
    awaited before a chain asks a second provider; it raises RequestCancelled if the answer is no longer wanted, so that
    no other provider is paid for it. `persist` and `before_retry` are as in a `Query`. `on_event` is called with the
    events of an answer that is not streamed to the caller, `Done` left out; unlike a stream, such an answer may begin
    anew (`Restarted`). `text_shown` returns whether someone sees text of the answer already: then nothing is asked
    again, neither of the same service nor of the next one, and the failure is raised.
    """

    messages: tuple[Message, ...]
    standalone: str = ""
    reasoning: bool = False
    model: str | None = None
    filters: Filters = NO_FILTERS
    schema: Mapping[str, JSON] | None = None
    max_tokens: int | None = None
    context: Context | None = None
    tools: tuple[Mapping[str, JSON], ...] = ()
    news: bool = False
    offline: bool = False
    seconds: float | None = None
    run_id: str | None = None
    resumable: bool = True
    persist: bool = field(default=False, compare=False)
    on_run: Callable[[str], Awaitable[None]] | None = field(default=None, compare=False, repr=False)
    on_event: Callable[[Event], None] | None = field(default=None, compare=False, repr=False)
    check_cancelled: Callable[[], Awaitable[None]] | None = field(default=None, compare=False, repr=False)
    before_retry: BeforeRetry | None = field(default=None, compare=False, repr=False)
    text_shown: Callable[[], bool] = field(default=lambda: False, compare=False, repr=False)

    @property
    def text(self) -> str:
        """The last user turn."""
        return next((m.content for m in reversed(self.messages) if m.role == "user"), "")

    @property
    def search_text(self) -> str:
        """What a provider that can only search looks for."""
        return self.standalone or self.text


@dataclass(frozen=True, kw_only=True, init=False)
class Source:
    """One retrieved page; dates are ISO.

    `number` is the service's own, which the markers in the text refer to; `aliases` are further numbers that it gave
    the same page.
    """

    number: int
    title: str
    url: str
    snippet: str = ""
    date: str | None = None
    last_updated: str | None = None
    aliases: tuple[int, ...] = ()

    def __init__(
        self,
        *,
        number: int,
        title: str,
        url: str,
        snippet: str = "",
        date: str | None = None,
        last_updated: str | None = None,
        aliases: tuple[int, ...] = (),
    ) -> None:
        # An answer has many: a frozen dataclass's own constructor, which sets field after field, takes twice as long.
        self.__dict__.update(
            number=number,
            title=title,
            url=url,
            snippet=snippet,
            date=date,
            last_updated=last_updated,
            aliases=aliases,
        )


@dataclass(frozen=True, kw_only=True)
class Usage:
    """Tokens and dollars of one answer; None if the provider does not say."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None
    searches: int | None = None
    cost_usd: float | None = None


@dataclass(frozen=True, kw_only=True)
class SearchResults:
    """Ranked pages. `notes` are sentences for the user, such as a filter the provider could not apply."""

    results: tuple[Source, ...]
    provider: str
    seconds: float = 0.0
    cost_usd: float | None = None
    notes: tuple[str, ...] = ()
    failed: tuple[Attempt, ...] = ()


class AnswerKind(StrEnum):
    """Who wrote the text: a model, or no one, because it is passages word for word."""

    MODEL = "model"
    PASSAGES = "passages"


@dataclass(frozen=True, kw_only=True)
class Passage:
    """A piece of a page, word for word, and the number of the source it is from."""

    text: str
    source: int


@dataclass(frozen=True, kw_only=True)
class Answer:
    """A sourced answer.

    A `MODEL` answer has `text` with markers such as `[1]` or `[web:4]` that refer to `Source.number`; a `PASSAGES`
    answer has `passages` and its `text` holds the same, marked. `incomplete` says why a model stopped early
    (None: it finished). `failed` lists the providers that were tried before this one. `provider` is the display name.
    `as_of` is the line to be shown first if the question asked for something newer than what the answer cites,
    `stand_in` the line above it if what the answer was made from is by another provider than the first choice.
    """

    text: str
    sources: tuple[Source, ...]
    provider: str
    kind: AnswerKind = AnswerKind.MODEL
    passages: tuple[Passage, ...] = ()
    model: str | None = None
    effort: str | None = None
    reasoning: str | None = None
    queries: tuple[str, ...] = ()
    incomplete: str | None = None
    usage: Usage = Usage()
    seconds: float = 0.0
    id: str | None = None
    notes: tuple[str, ...] = ()
    failed: tuple[Attempt, ...] = ()
    as_of: str = ""
    stand_in: str = ""


@dataclass(frozen=True, kw_only=True)
class RunStarted:
    """The service accepted the question; `id` is the argument of `cancel`."""

    id: str


@dataclass(frozen=True, kw_only=True)
class SearchQueries:
    """The searches that the model really runs."""

    queries: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Sources:
    """All sources known so far, merged and numbered."""

    sources: tuple[Source, ...]


@dataclass(frozen=True, kw_only=True)
class TextDelta:
    """The next piece of the answer's text."""

    text: str


@dataclass(frozen=True, kw_only=True)
class Done:
    """The terminal event; `answer.text` equals the deltas joined, unless the service corrected itself at the end."""

    answer: Answer


@dataclass(frozen=True, kw_only=True)
class Restarted:
    """The text so far is void: the question is asked again, of the same service or of the next one."""


Event = RunStarted | SearchQueries | Sources | TextDelta | Restarted | Done
