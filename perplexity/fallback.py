"""The chain: one provider after another until one answers. It is itself a provider."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import OrderedDict
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeVar

from perplexity.attempts import Attempt, RequestKind, cost_with_failures
from perplexity.circuit_breaker import Breaker, BreakerPolicy, Permit
from perplexity.errors import (
    AllProvidersFailed,
    InvalidRequest,
    MissingExtra,
    NothingFound,
    NotPermitted,
    PerplexityError,
    RequestCancelled,
    RunFailed,
    StreamTruncated,
    TimedOut,
)
from perplexity.filters import NO_FILTERS
from perplexity.models import Effort, FallbackTimeouts, resolve
from perplexity.own_keys import current_own_keys
from perplexity.providers.base import Provider, generates_text, log_attempt, resumes_runs
from perplexity.retry import CHAIN_PAUSE_SECONDS, Retries
from perplexity.types import Answer, Done, Event, Query, Question, Restarted, SearchResults, TextDelta

log = logging.getLogger(__name__)


Reply = TypeVar("Reply", SearchResults, Answer)

MAX_OWNERS = 1_000
"""For how many owners of keys the failures are counted; those that asked last."""

CIRCUIT_OPEN = "Resting"
"""The error class of an attempt that was not made, since the provider had failed again and again."""


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """A provider whose turn it is: its breaker's permit, the seconds it may use, and when it began.

    After the `last` one there is no other to ask.
    """

    provider: Provider
    permit: Permit
    seconds: float
    started: float
    last: bool = False


@dataclass(frozen=True, kw_only=True)
class FallbackRun:
    """One request. `failed` grows by the attempts that failed; `on_attempt` is called after every attempt.

    `resumes` says that it is for a run that is paid for already: providers that can resume it come first, and none of
    these is skipped, since another one would be paid again. `short_deadline` says that the caller gave less time than
    usual, `has_options` that something was chosen that a service may refuse: then its refusal ends the round. `retries`
    are those at all providers together.
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
    failed: list[Attempt] = field(default_factory=list)
    retries: Retries = field(default_factory=lambda: Retries(seconds=CHAIN_PAUSE_SECONDS))

    def candidates(self) -> Iterator[Candidate]:
        """Yield each provider in its turn while there is time; one that rests after failures is noted and passed over.

        A run that is paid for is asked for where it runs, resting or not.
        """
        end = self.clock() + self.total
        offering = self._offering()
        for place, provider in enumerate(offering, start=1):
            now = self.clock()
            if now >= end:
                return
            breaker = self.breakers[provider.name]
            seconds = self.timeouts.share(end - now, behind=len(offering) - place)
            resumes = self.resumes and resumes_runs(provider)
            permit = breaker.force() if resumes else breaker.try_acquire(seconds=seconds)
            if permit is None:
                self._record_skipped(provider)
                continue
            self.retries.may_retry = partial(self._may_retry, permit, self.retries.made)
            yield Candidate(provider=provider, permit=permit, seconds=seconds, started=now, last=place == len(offering))

    def record_success(self, candidate: Candidate, reply: Reply) -> Reply:
        """Return the reply with what came before it."""
        candidate.permit.succeeded()
        cost = reply.usage.cost_usd if isinstance(reply, Answer) else reply.cost_usd
        self.on_attempt(
            Attempt(provider=candidate.provider.name, seconds=self._elapsed(candidate), kind=self.kind, cost_usd=cost)
        )
        return replace(reply, failed=(*self.failed, *reply.failed))

    def record_failure(self, candidate: Candidate, error: Exception) -> PerplexityError:
        """Note a failure and return it as callers may see it; raise it if no other provider may be asked.

        What is raised costs what all that failed cost. A call that was not permitted is no attempt.
        """
        failure = _as_perplexity_error(error, candidate.provider)
        if isinstance(failure, NotPermitted):
            candidate.permit.release()
            raise self.with_total_cost(failure)
        attempt = Attempt(
            provider=candidate.provider.name,
            seconds=self._elapsed(candidate),
            kind=self.kind,
            error_class=type(failure).__name__,
            summary=_summary(failure),
            cost_usd=failure.cost_usd,
            search_only=not generates_text(candidate.provider),
        )
        before = bool(self.failed)
        self.failed.append(attempt)
        self.on_attempt(attempt)
        if isinstance(failure, RequestCancelled):
            candidate.permit.release()
            raise self.with_total_cost(failure)
        if isinstance(failure, InvalidRequest):
            candidate.permit.release()
            refused_by_service = failure.status is not None
            # The service refuses what only it refuses: nothing that the caller has chosen can be wrong.
            if refused_by_service and not self.has_options and not candidate.last:
                return failure
            if not before:
                raise self.with_total_cost(failure)
            # What a stand-in cannot do by its own rules, the next one may; what its service refuses is wrong.
            if refused_by_service:
                raise AllProvidersFailed(self.failed)
            return failure
        if self._counts_against_provider(failure, candidate):
            self.breakers[candidate.provider.name].reason = failure.summary
            candidate.permit.failed()
        else:
            candidate.permit.release()
        return failure

    def with_total_cost(self, error: PerplexityError) -> PerplexityError:
        """Return the error that ends the round, with the sum of the costs of all failures in it."""
        error.cost_usd = cost_with_failures(None, self.failed)
        return error

    def _counts_against_provider(self, error: PerplexityError, candidate: Candidate) -> bool:
        """Return whether a failure is the provider's: an empty web is not, nor a time-out for want of time."""
        if isinstance(error, TimedOut):
            return not self.short_deadline and candidate.seconds > self.timeouts.minimum
        return not isinstance(error, NothingFound)

    def all_failed(self) -> AllProvidersFailed:
        """Return the error of a round without a reply; its `retry_after` is when the first provider is asked again."""
        error = AllProvidersFailed(self.failed)
        waits = [self.breakers[provider.name].seconds_left for provider in self._offering()]
        error.retry_after = min(waits, default=0.0) or None
        return error

    def _offering(self) -> list[Provider]:
        offering = [provider for provider in self.providers if self.kind in provider.capabilities]
        return sorted(offering, key=resumes_runs, reverse=True) if self.resumes else offering

    def _may_retry(self, permit: Permit, made_before: int) -> bool:
        return permit.may_retry(retried=self.retries.made > made_before)

    def _record_skipped(self, provider: Provider) -> None:
        attempt = Attempt(
            provider=provider.name,
            seconds=0.0,
            kind=self.kind,
            error_class=CIRCUIT_OPEN,
            summary=f"is left alone for a moment: it {self.breakers[provider.name].reason}",
            search_only=not generates_text(provider),
        )
        self.failed.append(attempt)
        self.on_attempt(attempt)

    def _elapsed(self, candidate: Candidate) -> float:
        return self.clock() - candidate.started


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

OnEvent = Callable[[Event], None]

OnCandidate = Callable[[str, Sequence[Attempt]], None]
"""Called with the name of a provider before its request, and the attempts that failed before."""

MAX_GRACE_SECONDS = 0.5


class Fallback:
    """The providers in order. The first that answers is taken; the failures before it are in `failed`.

    If the first provider refuses a request with a filter, a schema, tools, a length or a `vendor/model`, that is the
    caller's fault: InvalidRequest is raised, and no other provider is asked. Without any of those the next one is
    asked. If the service of a later provider refuses such a request, or all fail, AllProvidersFailed is raised; if a
    later provider cannot do it by its own rules, the next one is asked. A provider that failed `breaker.failures`
    times in a row is skipped for `breaker.seconds`. `on_attempt` is called after every attempt, the successful one
    too; without it each is a line of the log. `on_candidate` is called before each request for a stream.
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
        self._policy = breaker or BreakerPolicy()
        self._breakers: OrderedDict[str, Mapping[str, Breaker]] = OrderedDict()
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
        run = self._new_run("search", query, self._timeouts.search, has_options=query.filters != NO_FILTERS)
        found = await _first_reply(
            run, lambda candidate, _: candidate.provider.search(_request_for(run, candidate, query))
        )
        # Whatever a provider returns, no one gets more than was asked for.
        return replace(found, results=found.results[: int(query.max_results)])

    async def answer(self, question: Question) -> Answer:
        """Return the first answer that comes. Raises InvalidRequest or AllProvidersFailed.

        After its text was shown to someone no other provider is asked: the provider's own PerplexityError is raised.
        """
        run, question = self._run_for(question), self._with_total(question)
        return await _first_reply(
            run,
            lambda candidate, on_event: candidate.provider.answer(
                replace(_request_for(run, candidate, question), on_event=on_event)
            ),
            total_seconds=question.total_seconds,
            check_cancelled=question.check_cancelled,
            on_event=question.on_event,
            text_shown=question.text_shown,
        )

    async def stream(self, question: Question) -> AsyncGenerator[Event, None]:
        """Yield the events of the first provider that brings text; after its first text no other is asked.

        Raises InvalidRequest, AllProvidersFailed or, after the first text, the provider's own PerplexityError.
        """
        run, question = self._run_for(question), self._with_total(question)
        for candidate in run.candidates():
            await _check_cancelled(run, candidate, question.check_cancelled)
            self._on_candidate(candidate.provider.name, tuple(run.failed))
            begun = False
            asked = candidate.provider.stream(_request_for(run, candidate, question))
            events = _with_timeout(_with_grace(candidate.seconds), asked, total=question.total_seconds or 0.0)
            try:
                async with aclosing(events):
                    async for event in events:
                        begun = begun or isinstance(event, TextDelta)
                        if isinstance(event, Done):
                            yield Done(answer=run.record_success(candidate, event.answer))
                            return
                        yield event
                raise StreamTruncated("the stream ended without its last event", provider=candidate.provider.name)
            except Exception as error:
                failure = run.record_failure(candidate, error)
                if begun:
                    raise run.with_total_cost(failure) from error
            except BaseException:
                candidate.permit.release()
                raise
        raise run.all_failed()

    def _with_total(self, question: Question) -> Question:
        total = self._timeouts.total if question.seconds is None else question.total_seconds
        return replace(question, total_seconds=total)

    def _run_for(self, question: Question) -> FallbackRun:
        return self._new_run(
            "answer",
            question,
            self._budget(question),
            has_options=_has_options(question),
            resumes=question.run_id is not None,
        )

    def _new_run(
        self, kind: RequestKind, request: Query | Question, usual: float, *, has_options: bool, resumes: bool = False
    ) -> FallbackRun:
        requested = request.seconds
        return FallbackRun(
            kind=kind,
            providers=self._providers,
            breakers=self._current_breakers(),
            timeouts=self._timeouts,
            total=_shorter(requested, usual),
            short_deadline=requested is not None and requested < usual,
            clock=self._clock,
            on_attempt=self._on_attempt,
            resumes=resumes,
            has_options=has_options,
        )

    def _current_breakers(self) -> Mapping[str, Breaker]:
        """Return the breakers of the configured keys, and of the owner of those that the task brings along instead."""
        shared, own = self._breakers_of(""), current_own_keys()
        if own is None:
            return shared
        owned = self._breakers_of(own.owner)
        return {name: (owned if name in own.names else shared)[name] for name in shared}

    def _breakers_of(self, owner: str) -> Mapping[str, Breaker]:
        breakers = self._breakers.get(owner)
        if breakers is None:
            breakers = {one.name: Breaker(self._policy, clock=self._clock) for one in self._providers}
            self._breakers[owner] = breakers
        self._breakers.move_to_end(owner)
        if len(self._breakers) > MAX_OWNERS:
            self._breakers.popitem(last=False)
        return breakers

    def _budget(self, question: Question) -> float:
        target = resolve(question.model, reasoning=question.reasoning, reasoning_effort=self._reasoning_effort)
        return self._timeouts.for_effort(target.effort)


def _has_options(question: Question) -> bool:
    """Return whether a question has an option that a service may refuse. Names of our own models are none."""
    chosen = (question.schema, question.max_tokens, question.context, question.tools, "/" in (question.model or ""))
    return any(chosen) or question.filters != NO_FILTERS


def _request_for(run: FallbackRun, candidate: Candidate, request: Request) -> Request:
    """Return what the provider of a candidate is asked: in its own time, with the retries that the round has left."""
    return replace(request, seconds=candidate.seconds, retries=run.retries)


async def _first_reply(
    run: FallbackRun,
    ask: Callable[[Candidate, OnEvent | None], Awaitable[Reply]],
    *,
    check_cancelled: Callable[[], Awaitable[None]] | None = None,
    on_event: OnEvent | None = None,
    total_seconds: float | None = None,
    text_shown: Callable[[], bool] = lambda: False,
) -> Reply:
    failure: PerplexityError | None = None
    for candidate in run.candidates():
        await _check_cancelled(run, candidate, check_cancelled)
        # Text that was held back may have been shown meanwhile.
        if failure is not None and text_shown():
            candidate.permit.release()
            raise run.with_total_cost(failure)
        try:
            if on_event is not None and failure is not None:
                on_event(Restarted())
            async with asyncio.timeout(_with_grace(candidate.seconds)) as limit:
                reply: Reply = await ask(candidate, _extending(limit, candidate, on_event, total_seconds or 0.0))
            return run.record_success(candidate, reply)
        except Exception as error:
            failure = run.record_failure(candidate, error)
            if text_shown():
                raise run.with_total_cost(failure) from error
        except BaseException:
            candidate.permit.release()
            raise
    raise run.all_failed()


async def _check_cancelled(
    run: FallbackRun, candidate: Candidate, check_cancelled: Callable[[], Awaitable[None]] | None
) -> None:
    """Do nothing before the first provider; later, call `check_cancelled`. Raises RequestCancelled."""
    if check_cancelled is None or not run.failed:
        return
    try:
        await check_cancelled()
    except RequestCancelled as error:
        candidate.permit.release()
        raise run.with_total_cost(error) from None
    except BaseException:
        candidate.permit.release()
        raise


def _with_grace(seconds: float) -> float:
    """Return when a provider is cut off: one whose time is over first clears up after itself, cancels what it began."""
    return seconds + min(MAX_GRACE_SECONDS, seconds / 50)


def _extending(limit: asyncio.Timeout, candidate: Candidate, on_event: OnEvent | None, total: float) -> OnEvent | None:
    """Return what takes events in place of `on_event`, and gives the candidate as long again after each text."""
    if on_event is None:
        return None
    clock = asyncio.get_running_loop().time
    end = clock() + total

    def take(event: Event) -> None:
        if isinstance(event, TextDelta) and not limit.expired():
            limit.reschedule(max(limit.when() or 0.0, min(clock() + _with_grace(candidate.seconds), end)))
        on_event(event)

    return take


async def _with_timeout(seconds: float, events: AsyncIterator[Event], *, total: float) -> AsyncGenerator[Event, None]:
    """Yield the events; raise TimeoutError when the seconds are over before they are.

    After each text it may be as long until the next one, up to `total` in all.
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


def _shorter(requested: float | None, allowed: float) -> float:
    return allowed if requested is None else min(requested, allowed)
