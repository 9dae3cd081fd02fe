"""The chain: one provider after another until one answers. It is itself a provider."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import TypeVar

from perplexity.attempts import Attempt, Kind, charged
from perplexity.circuit_breaker import Breaker, BreakerPolicy, Permit
from perplexity.errors import (
    AllProvidersFailed,
    InvalidRequest,
    MissingExtra,
    NothingFound,
    PerplexityError,
    RunFailed,
    StreamTruncated,
    TimedOut,
    Withdrawn,
)
from perplexity.models import Deadlines, Effort, resolve
from perplexity.providers.base import Provider, log_attempt, takes_up_runs, writes
from perplexity.retry import worth_persisting
from perplexity.types import Answer, Done, Event, Query, Question, SearchResults, TextDelta

log = logging.getLogger(__name__)


Reply = TypeVar("Reply", SearchResults, Answer)

RESTING = "Resting"
"""The error class of an attempt that was not made, since the provider had failed again and again."""


@dataclass(frozen=True, kw_only=True)
class Tier:
    """A provider whose turn it is: its breaker's permit, the seconds it may use, and when it began.

    After the `last` one there is no other to ask, so it may use its time for more attempts. One that is asked `again`
    failed earlier in the same round.
    """

    provider: Provider
    permit: Permit
    seconds: float
    started: float
    last: bool = False
    again: bool = False


@dataclass(frozen=True, kw_only=True)
class Round:
    """One request. `failed` grows by those that did not answer; `on_attempt` hears of every attempt.

    `resumes` says that it is for a run that is paid for already: who can take it up is asked first, and nobody rests,
    since another provider would be paid anew. `hasty` says that the caller gave less time than is usual.
    """

    kind: Kind
    providers: Sequence[Provider]
    breakers: Mapping[str, Breaker]
    deadlines: Deadlines
    total: float
    clock: Callable[[], float]
    on_attempt: Callable[[Attempt], None]
    resumes: bool = False
    hasty: bool = False
    failed: list[Attempt] = field(default_factory=list)
    recoverable: list[Provider] = field(default_factory=list)

    def tiers(self) -> Iterator[Tier]:
        """Yield each provider in its turn while there is time, and, if all rest after failures, all of them anyway.

        If every one failed and time is left, the first whose failure may pass is asked again for the rest of the time.
        """
        end = self.clock() + self.total
        yield from self._in_turn(end)
        left = end - self.clock() if self.recoverable else 0.0
        if left > 0:
            provider = self.recoverable[0]
            permit = self.breakers[provider.name].insist()
            yield Tier(provider=provider, permit=permit, seconds=left, started=end - left, last=True, again=True)

    def _in_turn(self, end: float) -> Iterator[Tier]:
        resting: list[Provider] = []
        asked = False
        for tier in self._turns(end):
            breaker = self.breakers[tier.provider.name]
            permit = tier.permit if self.resumes else breaker.admit(seconds=tier.seconds)
            if permit is None:
                resting.append(tier.provider)
                continue
            self._note(resting)
            resting, asked = [], True
            yield replace(tier, permit=permit)
        if asked:
            self._note(resting)
        else:
            yield from self._turns(end)

    def took(self, tier: Tier, reply: Reply) -> Reply:
        """Return the reply with what came before it."""
        tier.permit.succeeded()
        cost = reply.usage.cost_usd if isinstance(reply, Answer) else reply.cost_usd
        self.on_attempt(Attempt(provider=tier.provider.name, seconds=self._took(tier), kind=self.kind, cost_usd=cost))
        return replace(reply, failed=(*self._failed_before(tier), *reply.failed))

    def gave_up(self, tier: Tier, error: Exception) -> PerplexityError:
        """Note a failure and return it as callers may see it; raise it if no other provider may be asked.

        What is raised costs what all that failed cost.
        """
        told = _told(error, tier.provider)
        attempt = Attempt(
            provider=tier.provider.name,
            seconds=self._took(tier),
            kind=self.kind,
            error_class=type(told).__name__,
            summary=_summary(told),
            cost_usd=told.cost_usd,
            search_only=not writes(tier.provider),
        )
        before = bool(self.failed)
        if not tier.again or attempt.cost_usd or attempt.error_class not in self._classes(tier.provider):
            self.failed.append(attempt)
        self.on_attempt(attempt)
        if not tier.last and worth_persisting(told) and not told.retry_after:
            self.recoverable.append(tier.provider)
        if isinstance(told, Withdrawn):
            tier.permit.abandoned()
            raise self.summed(told)
        if isinstance(told, InvalidRequest):
            tier.permit.abandoned()
            if not before:
                raise self.summed(told)
            # What a stand-in cannot do by its own rules, the next one may; what its service refuses is wrong.
            if told.status is not None:
                raise AllProvidersFailed(self.failed)
            return told
        (tier.permit.failed if self._tells_of_the_provider(told, tier) else tier.permit.abandoned)()
        return told

    def summed(self, error: PerplexityError) -> PerplexityError:
        """Return the error that ends the round, with the sum of the costs of all failures in it."""
        error.cost_usd = charged(None, self.failed)
        return error

    def _failed_before(self, tier: Tier) -> list[Attempt]:
        """Return the failed attempts that explain why this tier was asked; of one asked again, also what was paid."""
        if not tier.again:
            return self.failed
        names = [provider.name for provider in self.providers]
        earlier = names[: names.index(tier.provider.name)]
        return [attempt for attempt in self.failed if attempt.provider in earlier or attempt.cost_usd]

    def _classes(self, provider: Provider) -> set[str | None]:
        return {attempt.error_class for attempt in self.failed if attempt.provider == provider.name}

    def _tells_of_the_provider(self, error: PerplexityError, tier: Tier) -> bool:
        """Return whether a failure is the provider's: an empty web is not, nor a time-out for want of time."""
        if isinstance(error, TimedOut):
            return not self.hasty and tier.seconds > self.deadlines.least
        return not isinstance(error, NothingFound)

    def _turns(self, end: float) -> Iterator[Tier]:
        offering = [provider for provider in self.providers if self.kind in provider.offers]
        if self.resumes:
            offering.sort(key=takes_up_runs, reverse=True)
        for place, provider in enumerate(offering, start=1):
            now = self.clock()
            if now < end:
                seconds = self.deadlines.share(end - now, behind=len(offering) - place)
                permit = self.breakers[provider.name].insist()
                yield Tier(provider=provider, permit=permit, seconds=seconds, started=now, last=place == len(offering))

    def _note(self, resting: Sequence[Provider]) -> None:
        """Note those that were passed over, once it is clear that another one is asked."""
        for provider in resting:
            attempt = Attempt(
                provider=provider.name,
                seconds=0.0,
                kind=self.kind,
                error_class=RESTING,
                summary="is left alone for a moment after several failures",
                search_only=not writes(provider),
            )
            self.failed.append(attempt)
            self.on_attempt(attempt)

    def _took(self, tier: Tier) -> float:
        return self.clock() - tier.started


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
    if isinstance(error, MissingExtra) and error.command:
        return f"{error.summary} ({error.command})"
    return error.summary


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
