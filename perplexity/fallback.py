"""The chain: one provider after another until one answers. It is itself a provider."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import TypeVar

from perplexity.attempts import Attempt, RequestKind, cost_with_failures
from perplexity.circuit_breaker import Breaker, BreakerPolicy, Permit
from perplexity.errors import (
    AllProvidersFailed,
    InvalidRequest,
    MissingExtra,
    NothingFound,
    PerplexityError,
    RequestCancelled,
    RunFailed,
    StreamTruncated,
    TimedOut,
)
from perplexity.models import Effort, FallbackTimeouts, resolve
from perplexity.providers.base import Provider, generates_text, log_attempt, resumes_runs
from perplexity.retry import is_transient
from perplexity.types import Answer, Done, Event, Query, Question, SearchResults, TextDelta

log = logging.getLogger(__name__)


Reply = TypeVar("Reply", SearchResults, Answer)

CIRCUIT_OPEN = "Resting"
"""The error class of an attempt that was not made, since the provider had failed again and again."""


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """A provider whose turn it is: its breaker's permit, the seconds it may use, and when it began.

    After the `last` one there is no other to ask, so it may use its time for more attempts. One that is asked `retried`
    failed earlier in the same round.
    """

    provider: Provider
    permit: Permit
    seconds: float
    started: float
    last: bool = False
    retried: bool = False


@dataclass(frozen=True, kw_only=True)
class FallbackRun:
    """One request. `failed` grows by those that did not answer; `on_attempt` hears of every attempt.

    `resumes` says that it is for a run that is paid for already: who can take it up is asked first, and no one rests,
    since another provider would be paid anew. `short_deadline` says that the caller gave less time than is usual.
    """

    kind: RequestKind
    providers: Sequence[Provider]
    breakers: Mapping[str, Breaker]
    timeouts: FallbackTimeouts
    total: float
    clock: Callable[[], float]
    on_attempt: Callable[[Attempt], None]
    resumes: bool = False
    short_deadline: bool = False
    failed: list[Attempt] = field(default_factory=list)
    recoverable: list[Provider] = field(default_factory=list)

    def candidates(self) -> Iterator[Candidate]:
        """Yield each provider in its turn while there is time, and, if all rest after failures, all of them anyway.

        If every one failed and time is left, the first whose failure may pass is asked again for the rest of the time.
        """
        end = self.clock() + self.total
        yield from self._available(end)
        left = end - self.clock() if self.recoverable else 0.0
        if left > 0:
            provider = self.recoverable[0]
            permit = self.breakers[provider.name].force()
            yield Candidate(provider=provider, permit=permit, seconds=left, started=end - left, last=True, retried=True)

    def _available(self, end: float) -> Iterator[Candidate]:
        resting: list[Provider] = []
        asked = False
        for tier in self._in_order(end):
            breaker = self.breakers[tier.provider.name]
            permit = tier.permit if self.resumes else breaker.try_acquire(seconds=tier.seconds)
            if permit is None:
                resting.append(tier.provider)
                continue
            self._record_skipped(resting)
            resting, asked = [], True
            yield replace(tier, permit=permit)
        if asked:
            self._record_skipped(resting)
        else:
            yield from self._in_order(end)

    def record_success(self, tier: Candidate, reply: Reply) -> Reply:
        """Return the reply with what came before it."""
        tier.permit.succeeded()
        cost = reply.usage.cost_usd if isinstance(reply, Answer) else reply.cost_usd
        self.on_attempt(
            Attempt(provider=tier.provider.name, seconds=self._elapsed(tier), kind=self.kind, cost_usd=cost)
        )
        return replace(reply, failed=(*self._failed_before(tier), *reply.failed))

    def record_failure(self, tier: Candidate, error: Exception) -> PerplexityError:
        """Note a failure and return it as callers may see it; raise it if no other provider may be asked.

        What is raised costs what all that failed cost.
        """
        told = _as_perplexity_error(error, tier.provider)
        attempt = Attempt(
            provider=tier.provider.name,
            seconds=self._elapsed(tier),
            kind=self.kind,
            error_class=type(told).__name__,
            summary=_summary(told),
            cost_usd=told.cost_usd,
            search_only=not generates_text(tier.provider),
        )
        before = bool(self.failed)
        if not tier.retried or attempt.cost_usd or attempt.error_class not in self._error_classes(tier.provider):
            self.failed.append(attempt)
        self.on_attempt(attempt)
        if not tier.last and is_transient(told) and not told.retry_after:
            self.recoverable.append(tier.provider)
        if isinstance(told, RequestCancelled):
            tier.permit.release()
            raise self.with_total_cost(told)
        if isinstance(told, InvalidRequest):
            tier.permit.release()
            if not before:
                raise self.with_total_cost(told)
            # What a stand-in cannot do by its own rules, the next one may; what its service refuses is wrong.
            if told.status is not None:
                raise AllProvidersFailed(self.failed)
            return told
        (tier.permit.failed if self._counts_against_provider(told, tier) else tier.permit.release)()
        return told

    def with_total_cost(self, error: PerplexityError) -> PerplexityError:
        """Return the error that ends the round, with the sum of the costs of all failures in it."""
        error.cost_usd = cost_with_failures(None, self.failed)
        return error

    def _failed_before(self, tier: Candidate) -> list[Attempt]:
        """Return the failed attempts that explain why this tier was asked; of one asked again, also what was paid."""
        if not tier.retried:
            return self.failed
        names = [provider.name for provider in self.providers]
        earlier = names[: names.index(tier.provider.name)]
        return [attempt for attempt in self.failed if attempt.provider in earlier or attempt.cost_usd]

    def _error_classes(self, provider: Provider) -> set[str | None]:
        return {attempt.error_class for attempt in self.failed if attempt.provider == provider.name}

    def _counts_against_provider(self, error: PerplexityError, tier: Candidate) -> bool:
        """Return whether a failure is the provider's: an empty web is not, nor a time-out for want of time."""
        if isinstance(error, TimedOut):
            return not self.short_deadline and tier.seconds > self.timeouts.minimum
        return not isinstance(error, NothingFound)

    def _in_order(self, end: float) -> Iterator[Candidate]:
        offering = [provider for provider in self.providers if self.kind in provider.capabilities]
        if self.resumes:
            offering.sort(key=resumes_runs, reverse=True)
        for place, provider in enumerate(offering, start=1):
            now = self.clock()
            if now < end:
                seconds = self.timeouts.share(end - now, behind=len(offering) - place)
                permit = self.breakers[provider.name].force()
                yield Candidate(
                    provider=provider, permit=permit, seconds=seconds, started=now, last=place == len(offering)
                )

    def _record_skipped(self, resting: Sequence[Provider]) -> None:
        """Note those that were passed over, once it is clear that another one is asked."""
        for provider in resting:
            attempt = Attempt(
                provider=provider.name,
                seconds=0.0,
                kind=self.kind,
                error_class=CIRCUIT_OPEN,
                summary="is left alone for a moment after several failures",
                search_only=not generates_text(provider),
            )
            self.failed.append(attempt)
            self.on_attempt(attempt)

    def _elapsed(self, tier: Candidate) -> float:
        return self.clock() - tier.started


def _as_perplexity_error(error: Exception, provider: Provider) -> PerplexityError:
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


Request = TypeVar("Request", Query, Question)

OnCandidate = Callable[[str, Sequence[Attempt]], None]
"""Takes the name of a provider that is about to be asked, and the attempts that failed before."""

MAX_GRACE_SECONDS = 0.5


class Fallback:
    """The providers in order. The first that answers is taken; the failures before it are in `failed`.

    A request that is refused by the first provider asked is the caller's fault: InvalidRequest is raised and no one
    else is asked. If a stand-in's service refuses it, or all fail, it is AllProvidersFailed; what a stand-in cannot
    do by its own rules, the next one is asked for. A provider that failed
    `breaker.failures` times in a row is left alone for `breaker.seconds`. `on_attempt` hears of every attempt, the
    successful one too; without it each is a line of the log. `on_candidate` hears who is asked for a stream before its
    first event.
    """

    def __init__(
        self,
        providers: Sequence[Provider],
        *,
        timeouts: FallbackTimeouts | None = None,
        reasoning_effort: Effort = "medium",
        breaker: BreakerPolicy | None = None,
        clock: Callable[[], float] = time.monotonic,
        on_attempt: Callable[[Attempt], None] | None = None,
        on_candidate: OnCandidate | None = None,
    ) -> None:
        self._providers = tuple(providers)
        self._timeouts = timeouts or FallbackTimeouts()
        self._reasoning_effort = reasoning_effort
        policy = breaker or BreakerPolicy()
        self._breakers = {provider.name: Breaker(policy, clock=clock) for provider in self._providers}
        self._clock = clock
        self._on_attempt = on_attempt or log_attempt
        self._on_candidate = on_candidate or (lambda name, failed: None)

    @property
    def name(self) -> str:
        """The display names of the providers, in order."""
        return ", ".join(provider.name for provider in self._providers)

    @property
    def capabilities(self) -> frozenset[RequestKind]:
        """What any of the providers offers."""
        return frozenset().union(*(provider.capabilities for provider in self._providers))

    async def search(self, query: Query) -> SearchResults:
        """Return the first provider's pages that come. Raises InvalidRequest or AllProvidersFailed."""
        this = self._new_run("search", query.seconds, self._timeouts.search)
        found = await _first_reply(this, lambda tier: tier.provider.search(_request_for(tier, query)))
        # Whatever a provider returns, no one gets more than was asked for.
        return replace(found, results=found.results[: int(query.max_results)])

    async def answer(self, question: Question) -> Answer:
        """Return the first answer that comes. Raises InvalidRequest or AllProvidersFailed."""
        this = self._run_for(question)
        return await _first_reply(
            this, lambda tier: tier.provider.answer(_request_for(tier, question)), wanted=question.wanted
        )

    async def stream(self, question: Question) -> AsyncGenerator[Event, None]:
        """Yield the events of the first provider that brings text; after its first text no one else is asked.

        Raises InvalidRequest, AllProvidersFailed or, after the first text, the provider's own PerplexityError.
        """
        this = self._run_for(question)
        for tier in this.candidates():
            await _ensure_wanted(this, tier, question.wanted)
            self._on_candidate(tier.provider.name, tuple(this.failed))
            begun = False
            events = _with_timeout(_with_grace(tier.seconds), tier.provider.stream(_request_for(tier, question)))
            try:
                async with aclosing(events):
                    async for event in events:
                        begun = begun or isinstance(event, TextDelta)
                        if isinstance(event, Done):
                            yield Done(answer=this.record_success(tier, event.answer))
                            return
                        yield event
                raise StreamTruncated("the stream ended without its last event", provider=tier.provider.name)
            except Exception as error:
                told = this.record_failure(tier, error)
                if begun:
                    raise this.with_total_cost(told) from error
            except BaseException:
                tier.permit.release()
                raise
        raise AllProvidersFailed(this.failed)

    def _run_for(self, question: Question) -> FallbackRun:
        return self._new_run("answer", question.seconds, self._budget(question), resumes=question.run_id is not None)

    def _new_run(self, kind: RequestKind, asked: float | None, usual: float, *, resumes: bool = False) -> FallbackRun:
        return FallbackRun(
            kind=kind,
            providers=self._providers,
            breakers=self._breakers,
            timeouts=self._timeouts,
            total=_shorter(asked, usual),
            short_deadline=asked is not None and asked < usual,
            clock=self._clock,
            on_attempt=self._on_attempt,
            resumes=resumes,
        )

    def _budget(self, question: Question) -> float:
        target = resolve(question.model, reasoning=question.reasoning, reasoning_effort=self._reasoning_effort)
        return self._timeouts.of(target.effort)


def _request_for(tier: Candidate, asked: Request) -> Request:
    """Return what the provider of a tier is asked: in its own time, and the last one until that is over."""
    return replace(asked, seconds=tier.seconds, persist=tier.last)


async def _first_reply(
    this: FallbackRun,
    ask: Callable[[Candidate], Awaitable[Reply]],
    *,
    wanted: Callable[[], Awaitable[None]] | None = None,
) -> Reply:
    for tier in this.candidates():
        await _ensure_wanted(this, tier, wanted)
        try:
            async with asyncio.timeout(_with_grace(tier.seconds)):
                reply: Reply = await ask(tier)
            return this.record_success(tier, reply)
        except Exception as error:  # noqa: BLE001 - a provider's bug must not take the others with it
            this.record_failure(tier, error)
        except BaseException:
            tier.permit.release()
            raise
    raise AllProvidersFailed(this.failed)


async def _ensure_wanted(this: FallbackRun, tier: Candidate, wanted: Callable[[], Awaitable[None]] | None) -> None:
    """Do nothing before the first provider, else make sure that the answer is wanted still. Raises RequestCancelled."""
    if wanted is None or not this.failed:
        return
    try:
        await wanted()
    except RequestCancelled as error:
        tier.permit.release()
        raise this.with_total_cost(error) from None
    except BaseException:
        tier.permit.release()
        raise


def _with_grace(seconds: float) -> float:
    """Return when a provider is cut off: one whose time is over first clears up after itself, cancels what it began."""
    return seconds + min(MAX_GRACE_SECONDS, seconds / 50)


async def _with_timeout(seconds: float, events: AsyncIterator[Event]) -> AsyncGenerator[Event, None]:
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


def _shorter(asked: float | None, allowed: float) -> float:
    return allowed if asked is None else min(asked, allowed)
