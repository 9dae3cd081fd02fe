"""One request's way through the chain: who is asked next and for how long, and what came of each."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from perplexity.breaker import Breaker, Permit
from perplexity.costs import charged
from perplexity.deadlines import Deadlines
from perplexity.errors import (
    AllProvidersFailed,
    InvalidRequest,
    MissingExtra,
    NothingFound,
    PerplexityError,
    RunFailed,
    TimedOut,
    Withdrawn,
)
from perplexity.providers.base import Provider, takes_up_runs, writes
from perplexity.retry import worth_persisting
from perplexity.types import Answer, Attempt, Kind, SearchResults

log: logging.Logger = logging.getLogger(__name__)

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
