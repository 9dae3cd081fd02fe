"""The chain: one provider after another until one answers. It is itself a provider."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import TypeVar

from perplexity.errors import (
    AllProvidersFailed,
    InvalidRequest,
    PerplexityError,
    RunFailed,
    StreamTruncated,
    TimedOut,
    Withdrawn,
)
from perplexity.models import Effort, Limits, resolve
from perplexity.providers.base import Provider
from perplexity.types import Answer, Attempt, Done, Event, Query, Question, SearchResults, TextDelta

log = logging.getLogger(__name__)

LONGEST_GRACE_SECONDS = 0.5

Reply = TypeVar("Reply", SearchResults, Answer)


@dataclass(frozen=True, kw_only=True)
class Deadlines(Limits):
    """Seconds for the whole chain, by what is asked; a provider keeps `reserve` free for each one behind it.

    `least` is what a provider is given all the same while there is time.
    """

    search: float = 20.0
    answer: float = 45.0
    reasoning: float = 90.0
    deep: float = 660.0
    reserve: float = 8.0
    least: float = 2.0

    def share(self, left: float, *, behind: int) -> float:
        """Return the seconds that a provider with `behind` others behind it may use of those that are left."""
        return max(left - self.reserve * behind, min(left, self.least))


class Fallback:
    """The providers in order. The first that answers is taken; what came before stands in `failed`.

    A request that is refused by the first provider asked is the caller's fault: InvalidRequest is raised and nobody
    else is asked. Where a stand-in refuses it, or all fail, it is AllProvidersFailed. `on_attempt` hears of every
    attempt, the successful one too.
    """

    def __init__(
        self,
        providers: Sequence[Provider],
        *,
        deadlines: Deadlines = Deadlines(),
        reasoning_effort: Effort = "medium",
        clock: Callable[[], float] = time.monotonic,
        on_attempt: Callable[[Attempt], None] | None = None,
    ) -> None:
        self._providers = tuple(providers)
        self._deadlines = deadlines
        self._reasoning_effort = reasoning_effort
        self._clock = clock
        self._on_attempt = on_attempt or (lambda attempt: None)

    @property
    def name(self) -> str:
        """The display names of the providers, in order."""
        return ", ".join(provider.name for provider in self._providers)

    async def search(self, query: Query) -> SearchResults:
        """Return the first provider's pages that come. Raises InvalidRequest or AllProvidersFailed."""
        total = _least(query.seconds, self._deadlines.search)
        return await self._first(total, lambda one, seconds: one.search(replace(query, seconds=seconds)))

    async def answer(self, question: Question) -> Answer:
        """Return the first answer that comes. Raises InvalidRequest or AllProvidersFailed."""
        total = _least(question.seconds, self._budget(question))
        return await self._first(total, lambda one, seconds: one.answer(replace(question, seconds=seconds)))

    async def stream(self, question: Question) -> AsyncGenerator[Event, None]:
        """Yield the events of the first provider that brings text; after its first text nobody else is asked.

        Raises InvalidRequest, AllProvidersFailed or, after the first text, the provider's own PerplexityError.
        """
        failed: list[Attempt] = []
        for provider, seconds, started in self._tiers(_least(question.seconds, self._budget(question))):
            begun = False
            try:
                asked = provider.stream(replace(question, seconds=seconds))
                async with aclosing(_within(_with_grace(seconds), asked)) as events:
                    async for event in events:
                        begun = begun or isinstance(event, TextDelta)
                        if isinstance(event, Done):
                            self._report(provider, started)
                            yield Done(answer=replace(event.answer, failed=(*failed, *event.answer.failed)))
                            return
                        yield event
                raise StreamTruncated("the stream ended without its last event", provider=provider.name)
            except Exception as error:
                attempt, told = self._failed(provider, started, error, failed)
                if begun:
                    raise told from error
                failed.append(attempt)
        raise AllProvidersFailed(failed)

    async def _first(self, total: float, ask: Callable[[Provider, float], Awaitable[Reply]]) -> Reply:
        failed: list[Attempt] = []
        for provider, seconds, started in self._tiers(total):
            try:
                async with asyncio.timeout(_with_grace(seconds)):
                    reply: Reply = await ask(provider, seconds)
                self._report(provider, started)
                return replace(reply, failed=(*failed, *reply.failed))
            except Exception as error:  # noqa: BLE001 - a provider's bug must not take the others with it
                failed.append(self._failed(provider, started, error, failed)[0])
        raise AllProvidersFailed(failed)

    def _tiers(self, total: float) -> Iterator[tuple[Provider, float, float]]:
        """Yield each provider with the seconds it may use and the time it starts, while there is time."""
        end = self._clock() + total
        for place, provider in enumerate(self._providers, start=1):
            now = self._clock()
            if now < end:
                yield provider, self._deadlines.share(end - now, behind=len(self._providers) - place), now

    def _budget(self, question: Question) -> float:
        target = resolve(question.model, reasoning=question.reasoning, reasoning_effort=self._reasoning_effort)
        return self._deadlines.of(target.effort)

    def _failed(
        self, provider: Provider, started: float, error: Exception, before: Sequence[Attempt]
    ) -> tuple[Attempt, PerplexityError]:
        """Return the failed attempt and its error; raise where no other provider may be asked."""
        told = _told(error, provider)
        attempt = self._report(provider, started, error=type(told).__name__, summary=_summary(told))
        if isinstance(error, Withdrawn):
            raise error
        if isinstance(error, InvalidRequest):
            raise AllProvidersFailed([*before, attempt]) if before else error
        return attempt, told

    def _report(
        self, provider: Provider, started: float, *, error: str | None = None, summary: str | None = None
    ) -> Attempt:
        seconds = self._clock() - started
        attempt = Attempt(provider=provider.name, seconds=seconds, error_class=error, summary=summary)
        self._on_attempt(attempt)
        return attempt


async def _within(seconds: float, events: AsyncIterator[Event]) -> AsyncGenerator[Event, None]:
    """Yield the events; raise TimeoutError when the seconds are over before they are."""
    end = asyncio.get_running_loop().time() + seconds
    try:
        while True:
            async with asyncio.timeout_at(end):
                event = await anext(events, None)
            if event is None:
                return
            yield event
    finally:
        if isinstance(events, AsyncGenerator):
            await events.aclose()


def _with_grace(seconds: float) -> float:
    """Return when a provider is cut off: one whose time is over first clears up after itself, cancels what it began."""
    return seconds + min(LONGEST_GRACE_SECONDS, seconds / 50)


def _least(asked: float | None, allowed: float) -> float:
    return allowed if asked is None else min(asked, allowed)


def _told(error: Exception, provider: Provider) -> PerplexityError:
    """Return the error as callers may see it. Of an error that no provider should raise only the class is logged."""
    if isinstance(error, PerplexityError):
        return error
    if isinstance(error, TimeoutError):
        return TimedOut("the deadline passed", provider=provider.name)
    log.error("provider.broke", extra={"provider": provider.name, "error": type(error).__name__})
    return RunFailed("the provider broke", provider=provider.name)


def _summary(error: PerplexityError) -> str:
    """Finish the sentence that begins with the provider's name."""
    if isinstance(error, InvalidRequest) and error.field and error.value:
        return f"does not take {error.field} {error.value}"
    return error.summary
