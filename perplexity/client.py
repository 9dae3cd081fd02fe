"""The front door: `async with PerplexityClient(key) as client`."""

from __future__ import annotations

import asyncio
import os
import random as randomness
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping
from contextlib import aclosing, contextmanager
from dataclasses import replace
from types import TracebackType
from typing import Any, Self, Unpack, get_args

from perplexity.answers import Answers
from perplexity.calls import Calls
from perplexity.domains import keep_results
from perplexity.environment import DEFAULT_BASE_URL, Access
from perplexity.errors import InvalidRequest, PerplexityError
from perplexity.filters import Filters, validate
from perplexity.models import Effort, Limits, Target, check_schema, resolve
from perplexity.prompts import Options, Prompt, question_of
from perplexity.proxies import ProxyFor, proxy_for
from perplexity.queries import checked_messages, checked_query
from perplexity.retry import Deadline, Retries, RetryPolicy, worth_retrying_unpaid
from perplexity.runs import Runs
from perplexity.succession import Succession
from perplexity.transport import OPEN_SECONDS, Session, Transport
from perplexity.types import API, Answer, Done, Event, Query, Question, SearchResults
from perplexity.ways import Way
from perplexity.wire import search
from perplexity.wire.agent import Agent
from perplexity.wire.base import Wire
from perplexity.wire.reading import mappings, texts
from perplexity.wire.sonar import Sonar

_CANCEL_SECONDS = 10.0
_MODELS_SECONDS = 10.0


class PerplexityClient:
    """Searches and answers by Perplexity.

    `base_url` must be https, except on loopback. A `session` that is handed in is used and not closed. `open_timeout`
    is the seconds for opening a connection. `retry` holds for every call, inside the call's own time: `limits`, in
    seconds, by what is asked. `reasoning_effort` is what `reasoning=True` means. `proxy` returns the proxy for an
    address, by default the one that the environment names; a `session` has its own. With `api="sonar"` answers come
    from Sonar until the service says that it has retired it for this key; from then on, and for background runs always,
    from the Agent API. `clock` only goes forward, `now` gives seconds since 1970. Raises InvalidRequest for a key, an
    address, an `api` or an `open_timeout` that cannot be right.
    """

    def __init__(
        self,
        api_key: str,
        *,
        api: API = "agent",
        base_url: str = DEFAULT_BASE_URL,
        session: Session | None = None,
        open_timeout: float = OPEN_SECONDS,
        retry: RetryPolicy | None = None,
        limits: Limits | None = None,
        reasoning_effort: Effort = "medium",
        proxy: ProxyFor = proxy_for,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], float] = time.time,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        random: Callable[[], float] = randomness.random,
    ) -> None:
        self._transport = Transport(api_key, base_url=base_url, session=session, open_timeout=open_timeout, proxy=proxy)
        self._limits = limits or Limits()
        self._reasoning_effort = reasoning_effort
        self._clock = clock
        retries = Retries(policy=retry or RetryPolicy(), sleep=sleep, random=random)
        self._calls = Calls(transport=self._transport, retries=retries, now=now)
        self._runs = Runs(calls=self._calls, path=Agent.path, sleep=sleep)
        self._ways = Succession(
            [Way(answers=Answers(calls=self._calls, runs=self._runs, wire=wire, clock=clock)) for wire in _wires(api)]
        )

    @classmethod
    def from_env(
        cls,
        environ: Mapping[str, str] | None = None,
        *,
        api_key: str | None = None,
        api: API | None = None,
        base_url: str | None = None,
        open_timeout: float | None = None,
        **options: Any,
    ) -> Self:
        """Return the client that the environment describes; what is handed in takes the place of its variables.

        `PERPLEXITY_API_KEY` (or `PPLX_API_KEY`), `PERPLEXITY_API`, `PERPLEXITY_BASE_URL` and `OPEN_TIMEOUT` are read
        from `environ`, by default the process's own. The other options are those of the class. Raises MissingKey
        without a key, InvalidRequest for a value that is not allowed.
        """
        access = Access.found(
            os.environ if environ is None else environ,
            api_key=api_key,
            api=api,
            base_url=base_url,
            open_timeout=open_timeout,
        )
        return cls(
            access.api_key, api=access.api, base_url=access.base_url, open_timeout=access.open_timeout, **options
        )

    def __repr__(self) -> str:
        return f"PerplexityClient(base_url={self._transport.base_url!r})"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            await self._ways.finish()
        finally:
            await self._transport.close()

    async def search(self, query: str | Query, filters: Filters | None = None) -> SearchResults:
        """Return ranked pages, for half a cent. `filters` take the place of the query's own.

        Pages outside their domains are left out, and a note counts them.

        Raises InvalidRequest before anything is sent, or any PerplexityError.
        """
        wanted = query if isinstance(query, Query) else Query(text=query)
        started = self._clock()
        with _named(search.PROVIDER):
            wanted = checked_query(wanted if filters is None else replace(wanted, filters=filters))
            deadline = self._deadline(wanted.seconds, self._limits.search)
            body = await self._calls.json(
                "POST",
                search.PATH,
                search.build(wanted),
                deadline=deadline,
                again=worth_retrying_unpaid,
                persist=wanted.persist,
            )
            found = keep_results(search.read(body, fast=wanted.fast), wanted.filters.domains)
            return replace(found, results=found.results[: wanted.max_results], seconds=self._clock() - started)

    async def answer(self, prompt: Prompt, **options: Unpack[Options]) -> Answer:
        """Return one sourced answer. Options take the place of a whole question's own; None changes nothing.

        Sources outside the domains of its filters are left out, with their markers and links, and a note counts them.

        Raises InvalidRequest before anything is sent, or any PerplexityError.
        """
        question = question_of(prompt, options)
        started = self._clock()
        with _named(Agent.provider):
            question, target = self._checked(question)
            deadline = self._deadline(question.seconds, self._limits.of(target.effort))
            answer = await self._ways.answer(question, target, deadline=deadline)
            return self._signed(answer, started=started)

    async def stream(self, prompt: Prompt, **options: Unpack[Options]) -> AsyncGenerator[Event, None]:
        """Yield events while the answer is made; the last one is `Done`. Takes and raises what `answer` does.

        A stream that is left early, which wants `contextlib.aclosing`, is cancelled at the service too.
        """
        question = question_of(prompt, options)
        started = self._clock()
        with _named(Agent.provider):
            question, target = self._checked(question)
            deadline = self._deadline(question.seconds, self._limits.of(target.effort))
            async with aclosing(self._ways.stream(question, target, deadline=deadline)) as events:
                async for event in events:
                    yield self._last(event, started=started) if isinstance(event, Done) else event

    async def cancel(self, run_id: str) -> None:
        """Stop a run, such as `RunStarted` names. One that has ended already is no error; raises PerplexityError."""
        with _named(Agent.provider):
            await self._runs.cancel(run_id, deadline=Deadline.after(_CANCEL_SECONDS, self._clock))

    async def models(self) -> tuple[str, ...]:
        """Return the names of the models that the key may use, for nothing: it tries a key. Raises PerplexityError."""
        with _named(Agent.provider):
            deadline = Deadline.after(_MODELS_SECONDS, self._clock)
            body = await self._calls.json("GET", "/v1/models", deadline=deadline, again=worth_retrying_unpaid)
            return texts([model.get("id") for model in mappings(body.get("data"))])

    def _deadline(self, asked: float | None, limit: float) -> Deadline:
        return Deadline.after(limit if asked is None else min(asked, limit), self._clock)

    def _checked(self, question: Question) -> tuple[Question, Target]:
        """Return the question as it is sent and who answers it. Raises InvalidRequest."""
        target = resolve(question.model, reasoning=question.reasoning, reasoning_effort=self._reasoning_effort)
        if question.schema is not None:
            check_schema(target)
        checked = replace(question, messages=checked_messages(question.messages), filters=validate(question.filters))
        return checked, target

    def _last(self, done: Done, *, started: float) -> Done:
        return Done(answer=self._signed(done.answer, started=started))

    def _signed(self, answer: Answer, *, started: float) -> Answer:
        """Add what only the asking side knows."""
        return replace(answer, seconds=self._clock() - started)


def _wires(api: str) -> list[Wire]:
    """Return the wires in the order of their succession. Raises InvalidRequest."""
    if api not in get_args(API):
        raise InvalidRequest.of("api", api, "it takes agent or sonar")
    return [Agent()] if api == "agent" else [Sonar(), Agent()]


@contextmanager
def _named(provider: str) -> Iterator[None]:
    """Put the provider's name on every error that passes."""
    try:
        yield
    except PerplexityError as error:
        error.provider = error.provider or provider
        raise
