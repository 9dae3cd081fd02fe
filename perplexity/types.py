"""Frozen values for questions, queries, answers, results and events, and their limits."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Literal

from perplexity.errors import Attempt, InvalidRequest, PerplexityError
from perplexity.filters import NO_FILTERS, Filters, validate
from perplexity.retry import Retries
from perplexity.scope import BeforeSending, say

Context = Literal["low", "medium", "high"]

API = Literal["agent", "sonar"]
"""Perplexity's APIs for answers: the current one, and its predecessor, which is retired for new keys."""

JSON = Any
"""A decoded JSON value from outside, whose type the code that reads it has to check."""

BeforeRetry = Callable[[PerplexityError], Awaitable[None]]
"""A function that is awaited before a request is sent again, with the error that ended the previous request."""


@dataclass(frozen=True, kw_only=True)
class Message:
    """One turn of a conversation."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, kw_only=True)
class Attachment:
    """A file for a model: an image (PNG, JPEG, GIF, WebP) or a PDF, by its `media_type`; `name` is sent with a PDF."""

    name: str
    media_type: str
    data: bytes = field(repr=False)


@dataclass(frozen=True, kw_only=True)
class Query:
    """A web search for pages."""

    text: str
    filters: Filters = NO_FILTERS
    max_results: int = 5
    """The most pages, 1 to 20."""

    max_tokens_per_page: int = 1024
    news: bool = False
    """Whether to search news only."""

    fast: bool = False
    """Whether to use the cheaper and quicker search, if the provider has one."""

    seconds: float | None = None
    """The time limit in seconds, including retries; None for the provider's own limit."""

    retries: Retries | None = field(default=None, compare=False, repr=False)
    """The retries so far, which the providers of a chain share."""

    before_retry: BeforeRetry | None = field(default=None, compare=False, repr=False)
    """A function that is awaited before a request is sent again, with the error that ended the previous request.

    Errors of the function itself are raised.
    """

    before_sending: BeforeSending | None = field(default=None, compare=False, repr=False)
    """A function that a provider with `announces_requests` awaits with each request before it is sent.

    If it raises, nothing is sent.
    """


@dataclass(frozen=True, kw_only=True)
class Question:
    """A question for an answer model."""

    messages: tuple[Message, ...]
    standalone: str = ""
    """The last turn, worded so that it needs no other turn, for a provider that can only search.

    Empty if the turn needs no other wording.
    """

    reasoning: bool = False
    model: str | None = None
    """A Sonar name, an effort or `vendor/model`; None for the default, which depends on `reasoning`."""

    filters: Filters = NO_FILTERS
    schema: Mapping[str, JSON] | None = None
    """A JSON Schema of the answer's text; None for prose."""

    max_tokens: int | None = None
    """The most tokens that the model may write."""

    context: Context | None = None
    """The amount of page text that Perplexity gives its model."""

    tools: tuple[Mapping[str, JSON], ...] = ()
    """Further tools that the service runs, such as `{"type": "fetch_url"}`; Sonar models accept none."""

    attachments: tuple[Attachment, ...] = ()
    """Files that belong to the last turn; a service that takes none ignores them, and `Answer.attachments` is 0."""

    news: bool = False
    """Whether to answer from news."""

    offline: bool = False
    """Whether a provider that can answer without a search uses the messages alone.

    If its service searches anyway, the answer fails.
    """

    seconds: float | None = None
    """The time limit in seconds, including retries; None for the provider's own limit."""

    total_seconds: float | None = None
    """The time limit in seconds for an answer whose text is passed on while it is written; None for `seconds`.

    `seconds` is then the limit up to the first text, and between two texts.
    """

    run_id: str | None = None
    """A background run to resume; it has been paid for."""

    resumable: bool = True
    """Whether a background run continues, and can be resumed, after the task that waits for it was cancelled.

    If False, the run is cancelled at the service together with the task. After a time-out or an error of `on_run`, the
    run is cancelled in any case.
    """

    retries: Retries | None = field(default=None, compare=False, repr=False)
    """As in a `Query`."""

    on_run: Callable[[str], Awaitable[None]] | None = field(default=None, compare=False, repr=False)
    """A function that is awaited with the id of a new background run, before the wait for its result."""

    on_event: Callable[[Event], None] | None = field(default=None, compare=False, repr=False)
    """A function that is called with the events, except `Done`, of an answer that is not streamed to the caller.

    Unlike a stream, such an answer may start again from its beginning (`Restarted`).
    """

    check_cancelled: Callable[[], Awaitable[None]] | None = field(default=None, compare=False, repr=False)
    """A function that is awaited before a chain asks again after a provider failed.

    It raises RequestCancelled if the answer is no longer wanted.
    """

    before_retry: BeforeRetry | None = field(default=None, compare=False, repr=False)
    """As in a `Query`."""

    before_sending: BeforeSending | None = field(default=None, compare=False, repr=False)
    """As in a `Query`."""

    text_shown: Callable[[], bool] = field(default=lambda: False, compare=False, repr=False)
    """A function that returns whether someone already sees text of the answer.

    A failure is then raised at once, and no service is asked again.
    """

    @property
    def text(self) -> str:
        """The last user turn."""
        return next((m.content for m in reversed(self.messages) if m.role == "user"), "")

    @property
    def search_text(self) -> str:
        """The text that a provider searches for if it can only search."""
        return self.standalone or self.text


@dataclass(frozen=True, kw_only=True)
class Source:
    """One retrieved page; dates are ISO.

    `number` is the service's number, to which the markers in the text refer; `aliases` are further numbers that the
    service gave the same page.
    """

    number: int
    title: str
    url: str
    snippet: str = ""
    date: str | None = None
    last_updated: str | None = None
    aliases: tuple[int, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Usage:
    """The tokens, searches and dollars of one answer; each is None if the provider does not report it."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None
    searches: int | None = None
    cost_usd: float | None = None


@dataclass(frozen=True, kw_only=True)
class SearchResults:
    """Ranked pages. `notes` are sentences for the user, such as on a filter that the provider could not apply."""

    results: tuple[Source, ...]
    provider: str
    seconds: float = 0.0
    cost_usd: float | None = None
    notes: tuple[str, ...] = ()
    failed: tuple[Attempt, ...] = ()
    shape: tuple[str, ...] | None = field(default=None, compare=False, repr=False)
    """The names and types of the response's fields, such as "usage.cost: object"; None if they are not known."""


class AnswerKind(StrEnum):
    """The kind of an answer's text: written by a model, or made of passages that are quoted word for word."""

    MODEL = "model"
    PASSAGES = "passages"


@dataclass(frozen=True, kw_only=True)
class Passage:
    """A piece of a page, word for word, and the number of its source."""

    text: str
    source: int


@dataclass(frozen=True, kw_only=True)
class Answer:
    """A sourced answer."""

    text: str
    """Text with markers such as `[1]` or `[web:4]`, which refer to `Source.number`."""

    sources: tuple[Source, ...]
    provider: str
    """The display name of the provider."""

    kind: AnswerKind = AnswerKind.MODEL
    passages: tuple[Passage, ...] = ()
    """The passages of a `PASSAGES` answer; its `text` has the same passages, with markers."""

    model: str | None = None
    effort: str | None = None
    reasoning: str | None = None
    queries: tuple[str, ...] = ()
    incomplete: str | None = None
    """Why the model stopped early; None if it finished."""

    usage: Usage = Usage()
    seconds: float = 0.0
    id: str | None = None
    notes: tuple[str, ...] = ()
    failed: tuple[Attempt, ...] = ()
    """The attempts that failed before this answer."""

    as_of: str = ""
    """A line to show first if the cited sources are older than the question asked for."""

    attachments: int = 0
    """The number of files that the model was given."""

    stand_in: str = ""
    """A line to show above the answer if another provider wrote it, or if less effort was used."""

    shape: tuple[str, ...] | None = field(default=None, compare=False, repr=False)
    """As in `SearchResults`."""

    @property
    def cost_usd(self) -> float | None:
        """The cost in dollars, None if the service does not report it."""
        return self.usage.cost_usd


@dataclass(frozen=True, kw_only=True)
class RunStarted:
    """The service accepted the question; `id` is the argument of `cancel`."""

    id: str


@dataclass(frozen=True, kw_only=True)
class SearchQueries:
    """The searches that the model actually makes."""

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
    """The last event; `answer.text` equals the joined deltas, unless the service corrected itself at the end."""

    answer: Answer


@dataclass(frozen=True, kw_only=True)
class Restarted:
    """The text so far is void: the question is asked again, of the same service or of the next one."""


Event = RunStarted | SearchQueries | Sources | TextDelta | Restarted | Done


def as_events(answer: Answer) -> Iterator[Event]:
    """Yield a complete answer as a stream: its searches, its sources, its text, its end."""
    if answer.queries:
        yield SearchQueries(queries=answer.queries)
    if answer.sources:
        yield Sources(sources=answer.sources)
    yield TextDelta(text=answer.text)
    yield Done(answer=answer)


MAX_ANSWER_LENGTH = 200_000
"""The most characters of an answer, about 50,000 tokens: several times the longest research report of any service."""
_NEAR = 1_000
"""A long text is cut at most this many characters before the limit, at the end of a line or else of a word."""


def shorten_text(text: str) -> tuple[str, tuple[str, ...]]:
    """Return at most `MAX_ANSWER_LENGTH` characters of a text, and a note for the reader if the rest was left out."""
    if len(text) <= MAX_ANSWER_LENGTH:
        return text, ()
    ends = (text.rfind(sign, MAX_ANSWER_LENGTH - _NEAR, MAX_ANSWER_LENGTH) for sign in ("\n", " "))
    kept = text[: next((end for end in ends if end > 0), MAX_ANSWER_LENGTH)]
    note = say("This text has {all} characters. Only the first {shown} are shown.")
    return kept, (note.format(all=f"{len(text):,}", shown=f"{len(kept):,}"),)


def shorten_answer(answer: Answer) -> Answer:
    """Return an answer with its text shortened to the limit, with a note if it was longer."""
    text, notes = shorten_text(answer.text)
    return replace(answer, text=text, notes=(*notes, *answer.notes)) if notes else answer


MAX_QUERY_LENGTH = 4_000
"""The most characters of a query: more than anybody searches for, and fewer than a pasted document has."""

MAX_PROMPT_LENGTH = 100_000
"""The most characters of all messages of a question: about 25,000 tokens."""

MAX_RESULTS = 20
MAX_TOKENS_PER_PAGE = 1_000_000

_BREAKS = re.compile(r"[\t\n\v\f\r\x85\u2028\u2029]+")


def parse_query(text: str) -> str:
    """Return a query on one line, without control characters. Raises InvalidRequest if it is empty or too long."""
    return _validate_text("query", _BREAKS.sub(" ", text), MAX_QUERY_LENGTH)


def parse_max_results(value: int | str, *, name: str = "max_results") -> int:
    """Return the number of requested results, 1 to 20. Raises InvalidRequest, with `name` as the name of the field."""
    return _parse_int(name, value, MAX_RESULTS)


def validate_query(query: Query) -> Query:
    """Return the query as it is sent. Raises InvalidRequest for the first invalid part."""
    text, filters, most = parse_query(query.text), validate(query.filters), parse_max_results(query.max_results)
    tokens = _parse_int("max_tokens_per_page", query.max_tokens_per_page, MAX_TOKENS_PER_PAGE)
    return replace(query, text=text, filters=filters, max_results=most, max_tokens_per_page=tokens)


def validate_messages(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Return a conversation as it is sent: without control characters other than tabs and line breaks.

    Raises InvalidRequest if a turn is empty, the last turn is not the user's, or the turns have more than
    `MAX_PROMPT_LENGTH` characters altogether.
    """
    checked = tuple(
        replace(message, content=_validate_text("prompt", message.content, MAX_PROMPT_LENGTH)) for message in messages
    )
    if not checked or checked[-1].role != "user":
        raise InvalidRequest.for_field("prompt", "", say("the last message must be the user's"))
    length = sum(len(message.content) for message in checked)
    if length > MAX_PROMPT_LENGTH:
        raise InvalidRequest.for_field(
            "prompt", f"{length} characters", say("it takes at most {most}").format(most=f"{MAX_PROMPT_LENGTH:,}")
        )
    return checked


def _validate_text(field: str, text: str, longest: int) -> str:
    text = "".join(c for c in text if c in "\t\n" or unicodedata.category(c) not in {"Cc", "Cs"}).strip()
    if all(unicodedata.category(c) in {"Cf", "Zs", "Cc"} for c in text):
        raise InvalidRequest.for_field(field, "", say("it must hold some text"))
    if len(text) > longest:
        raise InvalidRequest.for_field(
            field, f"{len(text)} characters", say("it takes at most {most}").format(most=f"{longest:,}")
        )
    return text


def _parse_int(field: str, value: int | str, most: int) -> int:
    typed = str(value).strip()
    # `isdecimal` alone accepts the digits of every script, and `int` fails for thousands of digits.
    if not (typed.isascii() and typed.isdecimal() and len(typed) < 10 and 1 <= int(typed) <= most):
        allowed = say("it takes a whole number from 1 to {most}").format(most=f"{most:,}")
        raise InvalidRequest.for_field(field, value, allowed)
    return int(typed)
