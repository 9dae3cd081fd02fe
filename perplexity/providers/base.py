"""Defines `Provider`, the protocol of everything that can search or answer, such as a service or the fallback chain.

Also defines the settings and the descriptions of providers, and reports how their calls ended.
"""

from __future__ import annotations

import logging
from abc import abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeVar

from perplexity.errors import AllProvidersFailed, Attempt, PerplexityError, RequestKind
from perplexity.limiter import Limiter
from perplexity.models import Effort, Timeouts
from perplexity.passages import passages_answer
from perplexity.retry import RetryPolicy
from perplexity.threads import run_in_thread
from perplexity.transport import OPEN_SECONDS, ProxyFor, Session, proxy_for
from perplexity.types import API, MAX_QUERY_LENGTH, Answer, Event, Query, Question, SearchResults, as_events

log = logging.getLogger(__name__)


OnAttempt = Callable[[Attempt], None]
Reply = TypeVar("Reply", bound=SearchResults | Answer)


def log_attempt(attempt: Attempt) -> None:
    """Write one log line about the attempt. This is the default `on_attempt`."""
    error, cost = attempt.error_class or "none", "unknown" if attempt.cost_usd is None else f"{attempt.cost_usd:g}"
    log.info(
        "provider.attempted provider=%s kind=%s seconds=%.3f error=%s cost_usd=%s",
        *(attempt.provider, attempt.kind, attempt.seconds, error, cost),
        extra={
            "provider": attempt.provider,
            "kind": attempt.kind,
            "seconds": attempt.seconds,
            "error": attempt.error_class,
            "cost_usd": attempt.cost_usd,
        },
    )


@dataclass(kw_only=True)
class AttemptResult:
    """The provider and the cost of a reply, and the attempts that failed before it.

    Until `record` is called, `provider` is the provider that was asked, and the other fields are empty.
    """

    provider: str
    failed: tuple[Attempt, ...] = ()
    cost_usd: float | None = None

    def record(self, reply: Reply) -> Reply:
        """Record the provider, the failed attempts and the cost of the reply, and return the reply."""
        self.provider, self.failed = reply.provider, reply.failed
        self.cost_usd = reply.cost_usd
        return reply


@contextmanager
def report_attempts(
    provider: str, kind: RequestKind, *, on_attempt: OnAttempt, clock: Callable[[], float]
) -> Iterator[AttemptResult]:
    """Call `on_attempt` for each attempt that the block made, in order, when the block ends.

    The block calls `record` of the yielded `AttemptResult` with its reply. If the block is cancelled, nothing is
    reported.
    """
    started, taken = clock(), AttemptResult(provider=provider)
    try:
        yield taken
    except AllProvidersFailed as error:
        for attempt in error.attempts:
            on_attempt(attempt)
        raise
    except Exception as error:
        ours = error if isinstance(error, PerplexityError) else None
        on_attempt(
            Attempt(
                provider=provider,
                kind=kind,
                seconds=clock() - started,
                error_class=type(error).__name__,
                summary=(ours or PerplexityError).summary,
                cost_usd=taken.cost_usd if ours is None or ours.cost_usd is None else ours.cost_usd,
            )
        )
        raise
    last = Attempt(provider=taken.provider, kind=kind, seconds=clock() - started, cost_usd=taken.cost_usd)
    for attempt in (*taken.failed, last):
        on_attempt(attempt)


SEARCH_AND_ANSWER: frozenset[RequestKind] = frozenset({"search", "answer"})


class Provider(Protocol):
    """A source of search results and answers.

    If a method fails, it raises a `PerplexityError` and nothing else. A provider that can only search answers with
    passages of pages, word for word; the answer's kind is then `AnswerKind.PASSAGES`, so that nobody takes it for the
    text of a model. `search_only`, `resumes` and `announces_requests` are False unless a subclass overrides them.
    """

    @property
    def name(self) -> str:
        """The display name, such as "Perplexity"."""
        ...

    @property
    def capabilities(self) -> frozenset[RequestKind]:
        """The kinds of requests that the provider accepts; for other kinds, the fallback chain skips the provider."""
        ...

    @property
    def search_only(self) -> bool:
        """Whether the provider's answers are passages, because no model writes them."""
        return False

    @property
    def resumes(self) -> bool:
        """Whether the provider can resume a background run by its id."""
        return False

    @property
    def announces_requests(self) -> bool:
        """Whether the provider awaits `before_sending` before each request."""
        return False

    async def search(self, query: Query) -> SearchResults:
        """Return ranked pages, best first, numbered from 1."""
        ...

    async def answer(self, question: Question) -> Answer:
        """Return one sourced answer."""
        ...

    def stream(self, question: Question) -> AsyncIterator[Event]:
        """Yield events while the answer is made; the last one is `Done`."""
        ...


_PASSAGE_PAGES, _NEWS_PAGES = 10, 20


class PassageProvider(Provider):
    """A provider that can only search, and answers a question with passages of the pages that `find` returns."""

    capabilities = SEARCH_AND_ANSWER
    search_only = True

    @abstractmethod
    async def find(self, query: Query) -> SearchResults:
        """Return the pages whose passages answer a question. Raises any PerplexityError."""

    async def answer(self, question: Question) -> Answer:
        """Return the passages that fit the question best, word for word. Raises as `find` does."""
        query = Query(
            text=question.search_text[:MAX_QUERY_LENGTH],
            filters=question.filters,
            max_results=_NEWS_PAGES if question.news else _PASSAGE_PAGES,
            news=question.news,
            seconds=question.seconds,
            retries=question.retries,
            before_retry=question.before_retry,
            before_sending=question.before_sending,
        )
        found = await self.find(query)
        return await run_in_thread(passages_answer, found, question.search_text, joined=bool(question.standalone))

    async def stream(self, question: Question) -> AsyncGenerator[Event, None]:
        """Yield the passages once they are all there. Raises as `find` does."""
        for event in as_events(await self.answer(question)):
            yield event


@dataclass(frozen=True, kw_only=True)
class ProviderConfig:
    """The settings from which all providers are built; a provider that needs a key is built only if `keys` has it.

    `keys` and `base_urls` map the names of providers in lower case to their keys and base URLs. `api` is the API of
    Perplexity that answers. `limiter` is told the rate limits that Perplexity's replies state. The other fields are as
    in `PerplexityClient`, whose `limits` are the `timeouts` here.
    """

    keys: Mapping[str, str] = field(default_factory=dict, repr=False)
    base_urls: Mapping[str, str] = field(default_factory=dict)
    api: API = "agent"
    reasoning_effort: Effort = "medium"
    timeouts: Timeouts = field(default_factory=Timeouts)
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    session: Session | None = None
    proxy: ProxyFor = proxy_for
    ca_bundle: str = ""
    open_timeout: float = OPEN_SECONDS
    limiter: Limiter | None = None

    def address(self, name: str, default: str) -> str:
        """Return the base URL that is set for the provider `name`, or `default` if none is."""
        return self.base_urls.get(name) or default


@dataclass(frozen=True, kw_only=True)
class Diagnosis:
    """One result of checking a provider: its severity, the finding, and a fix.

    `key_refused` is True if the service refuses the key, or if the key's account has no credit.
    """

    severity: Literal["ok", "warning", "error"]
    text: str
    fix: str = ""
    key_refused: bool = False


Check = Callable[[ProviderConfig], Awaitable[Sequence[Diagnosis]]]
"""A function that checks a provider's key or models without cost; it is called only if the key is set."""


@dataclass(frozen=True, kw_only=True)
class ProviderSpec:
    """Describes a provider that is not built yet, for settings, the command line, tools and the command `doctor`."""

    title: str
    """The display name."""

    build: Callable[[ProviderConfig], Provider | None]
    """A function that returns the provider, or None if the configuration lacks the provider's key."""

    key_variables: tuple[str, ...] = ()
    """The environment variables that may hold the key; the first one that is set counts. Empty if no key is needed."""

    base_url_variable: str = ""
    """The environment variable that sets the base URL of the service."""

    base_url: str = ""
    """The default base URL of the service."""

    check: Check | None = None
    """Checks the key or the models; None if the command `doctor` can only report that a key is set."""

    perplexity_models: bool = False
    """Whether Perplexity's own models write the provider's answers."""
