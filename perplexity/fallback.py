"""The chain: one provider after another until one answers. It is itself a provider."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import TypeVar

from perplexity.attempts import log_attempt
from perplexity.breaker import Breaker, BreakerPolicy
from perplexity.deadlines import Deadlines
from perplexity.errors import AllProvidersFailed, StreamTruncated, Withdrawn
from perplexity.models import Effort, resolve
from perplexity.providers.base import Provider
from perplexity.rounds import Reply, Round, Tier
from perplexity.types import Answer, Attempt, Done, Event, Kind, Query, Question, SearchResults, TextDelta

Asked = TypeVar("Asked", Query, Question)

OnTurn = Callable[[str, Sequence[Attempt]], None]
"""Takes the name of a provider that is about to be asked, and the attempts that failed before."""

LONGEST_GRACE_SECONDS = 0.5


class Fallback:
    """The providers in order. The first that answers is taken; what came before stands in `failed`.

    A request that is refused by the first provider asked is the caller's fault: InvalidRequest is raised and nobody
    else is asked. Where a stand-in's service refuses it, or all fail, it is AllProvidersFailed; what a stand-in cannot
    do by its own rules, the next one is asked for. A provider that failed
    `breaker.failures` times in a row is left alone for `breaker.seconds`. `on_attempt` hears of every attempt, the
    successful one too; without it each is a line of the log. `on_turn` hears who is asked for a stream before its first
    event.
    """

    def __init__(
        self,
        providers: Sequence[Provider],
        *,
        deadlines: Deadlines | None = None,
        reasoning_effort: Effort = "medium",
        breaker: BreakerPolicy | None = None,
        clock: Callable[[], float] = time.monotonic,
        on_attempt: Callable[[Attempt], None] | None = None,
        on_turn: OnTurn | None = None,
    ) -> None:
        self._providers = tuple(providers)
        self._deadlines = deadlines or Deadlines()
        self._reasoning_effort = reasoning_effort
        policy = breaker or BreakerPolicy()
        self._breakers = {provider.name: Breaker(policy, clock=clock) for provider in self._providers}
        self._clock = clock
        self._on_attempt = on_attempt or log_attempt
        self._on_turn = on_turn or (lambda name, failed: None)

    @property
    def name(self) -> str:
        """The display names of the providers, in order."""
        return ", ".join(provider.name for provider in self._providers)

    @property
    def offers(self) -> frozenset[Kind]:
        """What any of the providers offers."""
        return frozenset().union(*(provider.offers for provider in self._providers))

    async def search(self, query: Query) -> SearchResults:
        """Return the first provider's pages that come. Raises InvalidRequest or AllProvidersFailed."""
        this = self._round("search", query.seconds, self._deadlines.search)
        found = await _first(this, lambda tier: tier.provider.search(_for(tier, query)))
        # Whatever a provider returns, nobody gets more than was asked for.
        return replace(found, results=found.results[: int(query.max_results)])

    async def answer(self, question: Question) -> Answer:
        """Return the first answer that comes. Raises InvalidRequest or AllProvidersFailed."""
        this = self._round_for(question)
        return await _first(this, lambda tier: tier.provider.answer(_for(tier, question)), wanted=question.wanted)

    async def stream(self, question: Question) -> AsyncGenerator[Event, None]:
        """Yield the events of the first provider that brings text; after its first text nobody else is asked.

        Raises InvalidRequest, AllProvidersFailed or, after the first text, the provider's own PerplexityError.
        """
        this = self._round_for(question)
        for tier in this.tiers():
            await _still(this, tier, question.wanted)
            self._on_turn(tier.provider.name, tuple(this.failed))
            begun = False
            events = _within(_with_grace(tier.seconds), tier.provider.stream(_for(tier, question)))
            try:
                async with aclosing(events):
                    async for event in events:
                        begun = begun or isinstance(event, TextDelta)
                        if isinstance(event, Done):
                            yield Done(answer=this.took(tier, event.answer))
                            return
                        yield event
                raise StreamTruncated("the stream ended without its last event", provider=tier.provider.name)
            except Exception as error:
                told = this.gave_up(tier, error)
                if begun:
                    raise this.summed(told) from error
            except BaseException:
                tier.permit.abandoned()
                raise
        raise AllProvidersFailed(this.failed)

    def _round_for(self, question: Question) -> Round:
        return self._round("answer", question.seconds, self._budget(question), resumes=question.run_id is not None)

    def _round(self, kind: Kind, asked: float | None, usual: float, *, resumes: bool = False) -> Round:
        return Round(
            kind=kind,
            providers=self._providers,
            breakers=self._breakers,
            deadlines=self._deadlines,
            total=_least(asked, usual),
            hasty=asked is not None and asked < usual,
            clock=self._clock,
            on_attempt=self._on_attempt,
            resumes=resumes,
        )

    def _budget(self, question: Question) -> float:
        target = resolve(question.model, reasoning=question.reasoning, reasoning_effort=self._reasoning_effort)
        return self._deadlines.of(target.effort)


def _for(tier: Tier, asked: Asked) -> Asked:
    """Return what the provider of a tier is asked: in its own time, and the last one until that is over."""
    return replace(asked, seconds=tier.seconds, persist=tier.last)


async def _first(
    this: Round, ask: Callable[[Tier], Awaitable[Reply]], *, wanted: Callable[[], Awaitable[None]] | None = None
) -> Reply:
    for tier in this.tiers():
        await _still(this, tier, wanted)
        try:
            async with asyncio.timeout(_with_grace(tier.seconds)):
                reply: Reply = await ask(tier)
            return this.took(tier, reply)
        except Exception as error:  # noqa: BLE001 - a provider's bug must not take the others with it
            this.gave_up(tier, error)
        except BaseException:
            tier.permit.abandoned()
            raise
    raise AllProvidersFailed(this.failed)


async def _still(this: Round, tier: Tier, wanted: Callable[[], Awaitable[None]] | None) -> None:
    """Do nothing before the first provider, else make sure that the answer is wanted still. Raises Withdrawn."""
    if wanted is None or not this.failed:
        return
    try:
        await wanted()
    except Withdrawn as error:
        tier.permit.abandoned()
        raise this.summed(error) from None
    except BaseException:
        tier.permit.abandoned()
        raise


def _with_grace(seconds: float) -> float:
    """Return when a provider is cut off: one whose time is over first clears up after itself, cancels what it began."""
    return seconds + min(LONGEST_GRACE_SECONDS, seconds / 50)


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


def _least(asked: float | None, allowed: float) -> float:
    return allowed if asked is None else min(asked, allowed)
