"""Asks one provider after another until one answers; this chain of providers is itself a provider.

A circuit breaker skips a provider for a while after several failures, then tries it with one request:
https://learn.microsoft.com/azure/architecture/patterns/circuit-breaker
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from typing import TypeVar

from perplexity import scope
from perplexity.errors import (
    AllProvidersFailed,
    Attempt,
    InvalidRequest,
    MissingExtra,
    NothingFound,
    NotPermitted,
    PerplexityError,
    RateLimitError,
    RequestCancelled,
    RequestKind,
    RunFailed,
    StreamTruncated,
    TimedOut,
    cost_with_failures,
)
from perplexity.filters import NO_FILTERS
from perplexity.limiter import CallKind, Limiter
from perplexity.models import Effort, FallbackTimeouts, resolve
from perplexity.providers.base import Provider, log_attempt
from perplexity.retry import CHAIN_PAUSE_SECONDS, Retries
from perplexity.scope import say
from perplexity.types import Answer, Done, Event, Query, Question, Restarted, SearchResults, TextDelta

log = logging.getLogger(__name__)


Reply = TypeVar("Reply", SearchResults, Answer)

MAX_OWNERS = 1_000
"""The most owners of keys whose failures are counted separately; the owners that asked most recently are kept."""

MAX_REFUSALS = 2
"""The most calls of one request, at all providers together, that are sent again after a rate limit refused them.

Each further call that a rate limit refuses is recorded as a failed attempt.
"""

CIRCUIT_OPEN = "Resting"
"""The error class of an attempt that was skipped because the provider had failed repeatedly."""


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """A provider whose turn it is.

    `permit` is the permit of its breaker, and `seconds` is the time that it may use. `started` is the time at which its
    turn began, after any wait for the limiter. `last` is True if no provider follows.
    """

    provider: Provider
    permit: Permit
    seconds: float
    started: float
    last: bool = False


@dataclass(kw_only=True)
class FallbackRun:
    """The state of one request. `failed` collects the failed attempts; `on_attempt` is called after every attempt.

    `resumes` is True for a run that is already paid for: providers that can resume it come first, and none of them is
    skipped, since any other provider would have to be paid, too. `short_deadline` is True if the caller gave less time
    than usual. `has_options` is True if the request has an option that a service may refuse; after such a refusal, no
    further provider is asked. `retries` are shared by all providers. With a `limiter`, each call first waits for its
    turn, and `total`, the time limit in seconds, does not include this time. `busy` holds the names of the providers
    whose rate limit is reached.
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
    has_options: bool = False
    limiter: Limiter | None = None
    counted_as: CallKind = "answer"
    failed: list[Attempt] = field(default_factory=list)
    retries: Retries = field(default_factory=lambda: Retries(seconds=CHAIN_PAUSE_SECONDS))
    refusals: int = 0
    busy: set[str] = field(default_factory=set)
    waited: float = 0.0

    async def candidates(self) -> AsyncGenerator[Candidate, None]:
        """Yield the providers in order while there is time.

        A provider whose breaker is open is recorded as a failed attempt and skipped, unless it can resume a run that is
        paid for. A provider whose rate limit refuses a call is yielded again, within `MAX_REFUSALS`. If the limiter
        would delay a call for too long, the providers that may stand in for its provider are asked first. If none of
        them is left, the call waits, because a rate limit is no reason to answer with passages.
        """
        begun, left = self.clock(), self._offering()
        while left and (now := self.clock()) < (end := begun + self.total + self.waited):
            provider, refusals = left.pop(0), self.refusals
            if self.busy and not self._may_stand_in(provider):
                continue
            breaker, resumes = self.breakers[provider.name], self.resumes and provider.resumes
            seconds = self.timeouts.share(end - now, behind=len(left))
            standing_in = [one for one in left if self._may_stand_in(one)]
            permit, waited = None, 0.0
            if resumes:
                permit = breaker.force()
            elif not breaker.seconds_left:
                try:
                    waited = await self._take_turn(provider, patient=provider.name in self.busy or not standing_in)
                except RateLimitError as error:
                    self._note_failure(provider, type(error).__name__, error.summary)
                    self.busy.add(provider.name)
                    left = [*standing_in, provider, *(one for one in left if one not in standing_in)]
                    continue
                # Other requests may have opened the breaker in the meantime.
                permit = breaker.try_acquire(seconds=seconds)
            if permit is None:
                self._note_failure(
                    provider,
                    CIRCUIT_OPEN,
                    say("is left alone for a moment: it {reason}").format(reason=say(breaker.reason)),
                )
                continue
            self.waited += waited
            self.retries.may_retry = partial(self._may_retry, permit, self.retries.made)
            try:
                yield Candidate(provider=provider, permit=permit, seconds=seconds, started=now + waited, last=not left)
            finally:
                # A permit ends only once. So this has an effect only if the request neither succeeded nor failed.
                permit.release()
            if self.refusals > refusals:
                left.insert(0, provider)

    async def _take_turn(self, provider: Provider, *, patient: bool) -> float:
        """Wait until the limiter allows a call to the provider, and return the seconds waited.

        Retries of the call will wait for the limiter, too. Raises RateLimitError if the call is not `patient` and would
        have to wait too long.
        """
        if self.limiter is None:
            return 0.0
        self.retries.turn = partial(self.limiter.turn, provider.name, self.counted_as)
        began = self.clock()
        await self.limiter.turn(provider.name, self.counted_as, patient=patient)
        return self.clock() - began

    def _may_stand_in(self, provider: Provider) -> bool:
        """Return whether a provider may be asked in place of one whose rate limit is reached.

        For an answer, the provider must have a model that writes it.
        """
        return self.kind == "search" or not provider.search_only

    async def record_success(self, candidate: Candidate, reply: Reply) -> Reply:
        """Record a success, and return the reply with the attempts that failed before it."""
        candidate.permit.succeeded()
        if self.limiter is not None:
            await self.limiter.replied(candidate.provider.name, self.counted_as)
        seconds, name = self.clock() - candidate.started, candidate.provider.name
        self.on_attempt(Attempt(provider=name, seconds=seconds, kind=self.kind, cost_usd=reply.cost_usd))
        return replace(reply, failed=(*self.failed, *reply.failed))

    async def record_failure(self, candidate: Candidate, error: Exception) -> PerplexityError:
        """Record a failure and return it as a PerplexityError.

        Raises the failure if no other provider may be asked; raises AllProvidersFailed instead if a service found the
        request invalid after other failures. A raised error has the cost of all failures. A call that was not
        permitted, or that hit a rate limit and will be sent again, is not recorded as an attempt.
        """
        failure = _as_perplexity_error(error, candidate.provider)
        if self.limiter is not None and _is_rate(failure):
            await self.limiter.refused(candidate.provider.name, self.counted_as, retry_after=failure.retry_after)
            if self.refusals < MAX_REFUSALS:
                self.refusals += 1
                return failure
            self.busy.add(candidate.provider.name)
        else:
            self.busy.discard(candidate.provider.name)
        if isinstance(failure, NotPermitted):
            raise self.with_total_cost(failure)
        before = bool(self.failed)
        self._note_failure(
            candidate.provider,
            type(failure).__name__,
            _summary(failure),
            seconds=self.clock() - candidate.started,
            cost_usd=failure.cost_usd,
        )
        if isinstance(failure, RequestCancelled):
            raise self.with_total_cost(failure)
        if isinstance(failure, InvalidRequest):
            refused_by_service = failure.status is not None
            # If the request has no option that could be wrong, another service may accept it.
            if refused_by_service and not self.has_options and not candidate.last:
                return failure
            if not before:
                raise self.with_total_cost(failure)
            # Other providers failed before. If this one rejected the request without sending it, its own rules may be
            # the reason, and the next provider may accept the request. If a service refused it, the request is wrong.
            if refused_by_service:
                raise AllProvidersFailed(self.failed)
            return failure
        if self._counts_against_provider(failure, candidate):
            self.breakers[candidate.provider.name].reason = failure.summary
            candidate.permit.failed()
        return failure

    def with_total_cost(self, error: PerplexityError) -> PerplexityError:
        """Set the total cost of all failures on the error that ends the run, and return the error."""
        error.cost_usd = cost_with_failures(None, self.failed)
        return error

    def _counts_against_provider(self, error: PerplexityError, candidate: Candidate) -> bool:
        """Return whether a failure counts against the provider.

        A failure does not count if the provider found nothing or had too little time, or if a rate limit refused the
        call and a limiter is used.
        """
        if isinstance(error, TimedOut):
            return not self.short_deadline and candidate.seconds > self.timeouts.minimum
        return not isinstance(error, NothingFound) and not (self.limiter is not None and _is_rate(error))

    def all_failed(self) -> AllProvidersFailed:
        """Return the error of a run without a reply.

        `retry_after` is the seconds until one of the providers may be asked again, None if one may be asked now.
        """
        error = AllProvidersFailed(self.failed)
        waits = [self.breakers[provider.name].seconds_left for provider in self._offering()]
        error.retry_after = min(waits, default=0.0) or None
        return error

    def _offering(self) -> list[Provider]:
        offering = [provider for provider in self.providers if self.kind in provider.capabilities]
        return sorted(offering, key=lambda one: one.resumes, reverse=True) if self.resumes else offering

    def _may_retry(self, permit: Permit, made_before: int) -> bool:
        return permit.may_retry(retried=self.retries.made > made_before)

    def _note_failure(
        self,
        provider: Provider,
        error_class: str,
        summary: str,
        *,
        seconds: float = 0.0,
        cost_usd: float | None = None,
    ) -> None:
        attempt = Attempt(
            provider=provider.name,
            seconds=seconds,
            kind=self.kind,
            error_class=error_class,
            summary=summary,
            cost_usd=cost_usd,
            search_only=provider.search_only,
        )
        self.failed.append(attempt)
        self.on_attempt(attempt)


def _is_rate(error: PerplexityError) -> bool:
    """Return whether only a rate limit refused a call, so that the service neither started nor charged anything."""
    return isinstance(error, RateLimitError) and error.status != 402 and not error.began and not error.cost_usd


def _as_perplexity_error(error: Exception, provider: Provider) -> PerplexityError:
    """Return the error as a PerplexityError.

    TimeoutError becomes TimedOut. Any other error becomes RunFailed, and only its class is logged.
    """
    if isinstance(error, PerplexityError):
        return error
    if isinstance(error, TimeoutError):
        return TimedOut("the deadline passed", provider=provider.name)
    log.error("provider.broke", extra={"provider": provider.name, "error": type(error).__name__})
    return RunFailed("the provider broke", provider=provider.name)


def _summary(error: PerplexityError) -> str:
    """Return the rest of a sentence that begins with the provider's name, such as "could not be reached"."""
    if isinstance(error, InvalidRequest) and error.field and error.value:
        return say("does not take {field} {value}").format(field=error.field, value=error.value)
    if isinstance(error, MissingExtra) and error.command:
        return f"{say(error.summary)} ({error.command})"
    return error.summary


Request = TypeVar("Request", Query, Question)

OnEvent = Callable[[Event], None]

OnCandidate = Callable[[str, Sequence[Attempt]], None]
"""A function that is called before each request for a stream, with the provider's name and the failed attempts."""

MAX_GRACE_SECONDS = 0.5


class Fallback(Provider):
    """Asks the providers in order. The first answer is returned, with the failures before it in `failed`.

    If all providers fail, AllProvidersFailed is raised. An invalid request may end the chain earlier:

    - A service refuses a request with a filter, a schema, tools, `max_tokens`, `context` or a `vendor/model`: no other
      provider is asked. InvalidRequest is raised or, if other providers failed before, AllProvidersFailed.
    - A service refuses a request without any of those options: the next provider, if there is one, is asked.
    - A provider rejects a request without sending it: InvalidRequest is raised or, if other providers failed before,
      the next provider is asked.

    A provider that failed `breaker.failures` times in a row is skipped for `breaker.seconds`. `on_attempt` is called
    after every attempt, also after the successful one; without it, each attempt is logged. `on_candidate` is called
    before each request for a stream. With a `limiter`, each call waits for its turn before its time begins, and a call
    that hits a rate limit does not count towards `breaker.failures`.
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
        limiter: Limiter | None = None,
    ) -> None:
        self._providers = tuple(providers)
        self._timeouts = timeouts or FallbackTimeouts()
        self._reasoning_effort = reasoning_effort
        self._policy = breaker or BreakerPolicy()
        self._clock = clock
        self._on_attempt = on_attempt or log_attempt
        self._on_candidate = on_candidate or (lambda name, failed: None)
        self._limiter = limiter
        self._breakers_of = lru_cache(MAX_OWNERS)(self._new_breakers)

    @property
    def name(self) -> str:
        """The display names of the providers, in order."""
        return ", ".join(provider.name for provider in self._providers)

    @property
    def capabilities(self) -> frozenset[RequestKind]:
        """The kinds of requests that at least one of the providers answers."""
        return frozenset().union(*(provider.capabilities for provider in self._providers))

    async def search(self, query: Query) -> SearchResults:
        """Return the pages of the first provider that finds some.

        Raises InvalidRequest, NotPermitted, RequestCancelled or AllProvidersFailed.
        """
        has_options = query.filters != NO_FILTERS
        run = self._new_run("search", query, self._timeouts.search, counted_as="search", has_options=has_options)
        found = await _first_reply(
            run, lambda candidate, _: candidate.provider.search(_request_for(run, candidate, query))
        )
        # A provider may return more pages than were requested.
        return replace(found, results=found.results[: int(query.max_results)])

    async def answer(self, question: Question) -> Answer:
        """Return the answer of the first provider that has one.

        Raises InvalidRequest, NotPermitted, RequestCancelled or AllProvidersFailed. Once text of an answer was shown to
        someone, no other provider is asked: the PerplexityError of the provider that wrote the text is raised.
        """
        run, question = self._run_for(question), self._with_total(question)
        return await _first_reply(
            run,
            lambda candidate, on_event: candidate.provider.answer(
                replace(_request_for(run, candidate, question), on_event=on_event)
            ),
            question,
        )

    async def stream(self, question: Question) -> AsyncGenerator[Event, None]:
        """Yield the events of one provider after another until one answers; after the first text, no other is asked.

        Raises InvalidRequest, NotPermitted, RequestCancelled or AllProvidersFailed. After the first text, the
        PerplexityError of the provider that wrote the text is raised.
        """
        run, question = self._run_for(question), self._with_total(question)
        async with aclosing(run.candidates()) as candidates:
            async for candidate in candidates:
                await _check_cancelled(run, question)
                self._on_candidate(candidate.provider.name, tuple(run.failed))
                begun = False
                asked = candidate.provider.stream(_request_for(run, candidate, question))
                events = _with_timeout(_with_grace(candidate.seconds), asked, total=question.total_seconds or 0.0)
                try:
                    async with aclosing(events):
                        async for event in events:
                            begun = begun or isinstance(event, TextDelta)
                            if isinstance(event, Done):
                                yield Done(answer=await run.record_success(candidate, event.answer))
                                return
                            yield event
                    raise StreamTruncated("the stream ended without its last event", provider=candidate.provider.name)
                except Exception as error:
                    failure = await run.record_failure(candidate, error)
                    if begun:
                        raise run.with_total_cost(failure) from error
        raise run.all_failed()

    def _with_total(self, question: Question) -> Question:
        total = self._timeouts.total if question.seconds is None else question.total_seconds
        return replace(question, total_seconds=total)

    def _run_for(self, question: Question) -> FallbackRun:
        target = resolve(question.model, reasoning=question.reasoning, reasoning_effort=self._reasoning_effort)
        return self._new_run(
            "answer",
            question,
            self._timeouts.for_effort(target.effort),
            counted_as="background" if target.background else "answer",
            has_options=_has_options(question),
            resumes=question.run_id is not None,
        )

    def _new_run(
        self,
        kind: RequestKind,
        request: Query | Question,
        usual: float,
        *,
        counted_as: CallKind,
        has_options: bool,
        resumes: bool = False,
    ) -> FallbackRun:
        requested = request.seconds
        return FallbackRun(
            kind=kind,
            providers=self._providers,
            breakers=self._current_breakers(),
            timeouts=self._timeouts,
            total=usual if requested is None else min(requested, usual),
            short_deadline=requested is not None and requested < usual,
            clock=self._clock,
            on_attempt=self._on_attempt,
            resumes=resumes,
            has_options=has_options,
            limiter=self._limiter,
            counted_as=counted_as,
        )

    def _current_breakers(self) -> Mapping[str, Breaker]:
        """Return the breakers by provider.

        If the task has keys of its own, the providers of these keys have separate breakers, which only the tasks of the
        same owner share.
        """
        shared, own = self._breakers_of(""), scope.current().keys
        if own is None:
            return shared
        owned = self._breakers_of(own.owner)
        return {name: (owned if name in own.names else shared)[name] for name in shared}

    def _new_breakers(self, owner: str) -> Mapping[str, Breaker]:
        return {one.name: Breaker(self._policy, clock=self._clock) for one in self._providers}


def _has_options(question: Question) -> bool:
    """Return whether a question has an option that a service may refuse.

    A `vendor/model` is such an option; a Sonar name and an effort are not.
    """
    chosen = (question.schema, question.max_tokens, question.context, question.tools, "/" in (question.model or ""))
    return any(chosen) or question.filters != NO_FILTERS


def _request_for(run: FallbackRun, candidate: Candidate, request: Request) -> Request:
    """Return the request with the candidate's time limit and the retries that all providers of the run share."""
    return replace(request, seconds=candidate.seconds, retries=run.retries)


_SEARCH = Question(messages=())
"""The `question` that `_first_reply` gets for a search: an empty one, without callbacks."""


async def _first_reply(
    run: FallbackRun, ask: Callable[[Candidate, OnEvent | None], Awaitable[Reply]], question: Question = _SEARCH
) -> Reply:
    """Return the first reply to the question. Raises as `Fallback.answer` does."""
    failure: PerplexityError | None = None
    async with aclosing(run.candidates()) as candidates:
        async for candidate in candidates:
            await _check_cancelled(run, question)
            # Text that was held back may have been shown in the meantime.
            if failure is not None and question.text_shown():
                raise run.with_total_cost(failure)
            try:
                if question.on_event is not None and failure is not None:
                    question.on_event(Restarted())
                async with asyncio.timeout(_with_grace(candidate.seconds)) as limit:
                    reply: Reply = await ask(candidate, _extending(limit, candidate, question))
                return await run.record_success(candidate, reply)
            except Exception as error:
                failure = await run.record_failure(candidate, error)
                if question.text_shown():
                    raise run.with_total_cost(failure) from error
    raise run.all_failed()


async def _check_cancelled(run: FallbackRun, question: Question) -> None:
    """Call `question.check_cancelled` if a provider has already failed. Raises RequestCancelled."""
    if question.check_cancelled is None or not run.failed:
        return
    try:
        await question.check_cancelled()
    except RequestCancelled as error:
        raise run.with_total_cost(error) from None


def _with_grace(seconds: float) -> float:
    """Return the seconds after which a provider is cut off: its time limit, and a moment in which it can clean up."""
    return seconds + min(MAX_GRACE_SECONDS, seconds / 50)


def _extending(limit: asyncio.Timeout, candidate: Candidate, question: Question) -> OnEvent | None:
    """Return a replacement for `on_event` that also extends the candidate's time limit after each text."""
    on_event = question.on_event
    if on_event is None:
        return None
    clock = asyncio.get_running_loop().time
    end = clock() + (question.total_seconds or 0.0)

    def take(event: Event) -> None:
        if isinstance(event, TextDelta) and not limit.expired():
            limit.reschedule(max(limit.when() or 0.0, min(clock() + _with_grace(candidate.seconds), end)))
        on_event(event)

    return take


async def _with_timeout(seconds: float, events: AsyncIterator[Event], *, total: float) -> AsyncGenerator[Event, None]:
    """Yield the events; raise TimeoutError if they take longer than `seconds`.

    After each text, the next one may take as long again, up to `total` in all.
    """
    clock = asyncio.get_running_loop().time
    at, end = clock() + seconds, clock() + total
    try:
        while True:
            async with asyncio.timeout_at(at):
                event = await anext(events, None)
            if event is None:
                return
            if isinstance(event, TextDelta):
                at = max(at, min(clock() + seconds, end))
            yield event
    finally:
        if isinstance(events, AsyncGenerator):
            await events.aclose()


@dataclass(frozen=True, kw_only=True)
class BreakerPolicy:
    """The breaker opens after `failures` in a row, and lets one request through every `seconds` until one succeeds."""

    failures: int = 5
    seconds: float = 30.0


class Breaker:
    """The breaker of one provider. `clock` is monotonic; `reason` says how the last request failed."""

    reason = "failed"

    def __init__(self, policy: BreakerPolicy, *, clock: Callable[[], float]) -> None:
        self._policy = policy
        self._clock = clock
        self._failures = 0
        self._open_until = 0.0
        self._probe: Permit | None = None
        self._probe_ends = 0.0
        self.retrying: set[Permit] = set()
        """The permits of requests that failed and may be sent again."""

    @property
    def is_open(self) -> bool:
        """Whether requests are held back, except for a probe now and then."""
        return self._failures >= self._policy.failures

    @property
    def seconds_left(self) -> float:
        """The seconds until the next request is let through; 0 if one may go now."""
        ends = max(self._open_until, self._probe_ends if self._probe else 0.0)
        return max(0.0, ends - self._clock()) if self.is_open else 0.0

    def try_acquire(self, *, seconds: float) -> Permit | None:
        """Return a permit for a request that takes at most `seconds`, or None if the request must not be sent.

        A request that is sent while the breaker is open is a probe, and there is one probe at a time. After the probe's
        `seconds`, or the policy's `seconds` if these are fewer, another request may become the probe, because the
        caller may never report the end of the first one.
        """
        if not self.is_open:
            return self.force()
        if self.seconds_left:
            return None
        self._probe, self._probe_ends = self.force(), self._clock() + min(seconds, self._policy.seconds)
        return self._probe

    def force(self) -> Permit:
        """Return a permit even while the breaker is open; its result counts as usual."""
        return Permit(self)

    def end(self, permit: Permit, well: bool | None) -> None:
        """Record that a request ended. `well` is True for a success, False for a failure, and None for neither."""
        self.retrying.discard(permit)
        if self._probe is permit:
            self._probe = None
        if well:
            self._failures, self._probe = 0, None
        elif well is False:
            self._failures += 1
            if self.is_open:
                self._open_until = self._clock() + self._policy.seconds


@dataclass(eq=False)
class Permit:
    """The permit of a breaker for one request.

    The request ends with a call of `succeeded`, `failed` or `release`. Only the first of these calls counts.
    """

    breaker: Breaker
    ended: bool = False

    def may_retry(self, *, retried: bool) -> bool:
        """Record that the request failed, and return whether it may be sent again: not while the breaker is open.

        A request that was `retried` before may be sent again only if no other failed request is being retried. So if
        many simultaneous requests fail, each is sent at most twice.
        """
        self.breaker.retrying.add(self)
        return not self.breaker.is_open and (not retried or len(self.breaker.retrying) == 1)

    def succeeded(self) -> None:
        """Close the breaker: the provider works."""
        self._end(True)

    def failed(self) -> None:
        """Count a failure; enough of them in a row open the breaker, and a failed probe keeps it open."""
        self._end(False)

    def release(self) -> None:
        """Ignore a request that says nothing about the provider: it was cancelled, or the caller made a mistake."""
        self._end(None)

    def _end(self, well: bool | None) -> None:
        if not self.ended:
            self.ended = True
            self.breaker.end(self, well)
