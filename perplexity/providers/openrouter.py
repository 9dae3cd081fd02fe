"""OpenRouter: answers by Perplexity's Sonar models, bought from somebody else than Perplexity."""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping
from contextlib import aclosing, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from types import TracebackType
from typing import Self

from perplexity.answers import Answers
from perplexity.calls import Calls
from perplexity.errors import APIError, AuthenticationError, BillingError, PerplexityError, RateLimitError
from perplexity.filters import validate
from perplexity.models import SONAR, Effort, Limits, Target, resolve
from perplexity.providers.setup import Setup
from perplexity.queries import checked_messages
from perplexity.retry import Deadline, Retries, RetryPolicy
from perplexity.runs import Runs
from perplexity.transport import Session, Transport
from perplexity.types import JSON, Answer, Done, Event, Kind, Query, Question, SearchResults
from perplexity.ways import Way
from perplexity.wire.errors import Dialect
from perplexity.wire.reading import mappings, text
from perplexity.wire.sonar import Sonar

log = logging.getLogger(__name__)

DIALECT = Dialect(
    statuses={
        401: AuthenticationError,
        402: BillingError,
        # The text was held back by moderation, which says nothing of the key.
        403: APIError,
        429: RateLimitError,
    }
)
"""https://openrouter.ai/docs/api-reference/errors"""

BASE_URL = "https://openrouter.ai/api/v1"

DEFAULT = "perplexity/sonar"
FOR_NEWS = "perplexity/sonar-pro"
FOR_REASONING = "perplexity/sonar-reasoning-pro"
FOR_RESEARCH = "perplexity/sonar-deep-research"

_BY_EFFORT: Mapping[Effort, str] = {
    "fast": DEFAULT,
    "low": DEFAULT,
    "medium": FOR_REASONING,
    "high": FOR_RESEARCH,
    "xhigh": FOR_RESEARCH,
}


class OpenRouter:
    """OpenRouter as a provider; it answers and does not search.

    `reasoning_effort`, `session`, `retry`, `limits` and the clocks are as for `PerplexityClient`.
    """

    name = "OpenRouter"
    offers: frozenset[Kind] = frozenset({"answer"})

    def __init__(
        self,
        api_key: str,
        *,
        base_url: str = BASE_URL,
        reasoning_effort: Effort = "medium",
        session: Session | None = None,
        retry: RetryPolicy | None = None,
        limits: Limits | None = None,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], float] = time.time,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        random: Callable[[], float] = random.random,
    ) -> None:
        self._transport = Transport(api_key, base_url=base_url, session=session)
        retries = Retries(policy=retry or RetryPolicy(), sleep=sleep, random=random)
        self._calls = Calls(transport=self._transport, retries=retries, now=now, dialect=DIALECT)
        self._way = Way(
            answers=Answers(
                calls=self._calls,
                runs=Runs(calls=self._calls, path="", sleep=sleep),
                wire=Sonar(provider=self.name, model=self._model, dialect=DIALECT),
                clock=clock,
            )
        )
        self._limits = limits or Limits()
        self._reasoning_effort = reasoning_effort
        self._clock, self._now = clock, now
        self._retired: frozenset[str] = frozenset()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._way.answers.finish()
        await self._transport.close()

    async def check_models(self, *, seconds: float = 10.0) -> tuple[str, ...]:
        """Ask which models are served, use Sonar in place of those that are not, and return the names of these.

        Each is logged. Raises any PerplexityError; nothing is known then, and every model is used.
        https://openrouter.ai/docs/api-reference/list-available-models
        """
        with self._named():
            body = await self._calls.json("GET", "/models", deadline=Deadline.after(seconds, self._clock))
        today = datetime.fromtimestamp(self._now(), UTC).date().isoformat()
        served = {text(model.get("id")) for model in mappings(body.get("data")) if not _expired(model, today)}
        used = dict.fromkeys([*_BY_EFFORT.values(), FOR_NEWS])
        self._retired = frozenset(model for model in used if served and model not in served and model != DEFAULT)
        for model in sorted(self._retired):
            log.warning("openrouter.model_retired", extra={"model": model, "instead": DEFAULT})
        return tuple(sorted(self._retired))

    async def search(self, query: Query) -> SearchResults:
        """Raise: OpenRouter sells answers. The chain does not ask, since `offers` says so."""
        raise PerplexityError("OpenRouter does not search", provider=self.name)

    async def answer(self, question: Question) -> Answer:
        """Return one sourced answer. Raises any PerplexityError."""
        started = self._clock()
        with self._named():
            question, target, deadline = self._checked(question)
            answer = await self._way.answer(question, target, deadline=deadline)
        return replace(answer, seconds=self._clock() - started)

    async def stream(self, question: Question) -> AsyncGenerator[Event, None]:
        """Yield events while the answer is made; the last one is `Done`. Raises any PerplexityError."""
        started = self._clock()
        with self._named():
            question, target, deadline = self._checked(question)
            async with aclosing(self._way.stream(question, target, deadline=deadline)) as events:
                async for event in events:
                    yield self._last(event, started=started) if isinstance(event, Done) else event

    def _checked(self, question: Question) -> tuple[Question, Target, Deadline]:
        target = resolve(question.model, reasoning=question.reasoning, reasoning_effort=self._reasoning_effort)
        limit = self._limits.of(target.effort)
        seconds = limit if question.seconds is None else min(question.seconds, limit)
        checked = replace(
            question,
            messages=checked_messages(question.messages),
            filters=validate(question.filters),
            # A run is another service's, so here the question is asked anew.
            run_id=None,
        )
        return checked, target, Deadline.after(seconds, self._clock)

    def _last(self, done: Done, *, started: float) -> Done:
        return Done(answer=replace(done.answer, seconds=self._clock() - started))

    def _model(self, question: Question, target: Target) -> str:
        wanted = _wanted(question, target)
        return DEFAULT if wanted in self._retired else wanted

    @contextmanager
    def _named(self) -> Iterator[None]:
        try:
            yield
        except PerplexityError as error:
            error.provider = self.name
            raise


def build(setup: Setup) -> OpenRouter | None:
    """Return the provider where there is a key for it."""
    if "openrouter" not in setup.keys:
        return None
    return OpenRouter(
        setup.keys["openrouter"],
        base_url=setup.address("openrouter", BASE_URL),
        reasoning_effort=setup.reasoning_effort,
        session=setup.session,
        retry=setup.retry,
        limits=setup.limits,
    )


def _wanted(question: Question, target: Target) -> str:
    """Return the model for a question: the Sonar model that is named, or what suits it best of those that there are.

    A pinned model of another vendor, and one that is long gone, such as `llama-3.1-sonar-small-128k-online`, is
    answered for by Sonar.
    """
    name = target.name.removeprefix("perplexity/")
    if name == "sonar-reasoning":
        return FOR_REASONING
    if name in SONAR:
        return f"perplexity/{name}"
    if question.news or question.schema is not None:
        return FOR_NEWS
    return DEFAULT if target.model else _BY_EFFORT[target.effort]


def _expired(model: Mapping[str, JSON], today: str) -> bool:
    """Tell whether a model's last day, or moment, is over."""
    last = text(model.get("expiration_date"))[:10]
    return bool(last) and last < today
