"""A provider whose attempts are reported; a chain of providers reports its own."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass

from perplexity.attempts import OnAttempt, attempted, log_attempt
from perplexity.fallback import Fallback
from perplexity.providers.base import Provider
from perplexity.types import Answer, Done, Event, Kind, Query, Question, SearchResults


def reported(provider: Provider, on_attempt: OnAttempt | None) -> Provider:
    """Return the provider, which reports its attempts to the hook.

    Without a hook each is a line of the log, which a `Fallback` writes itself unless it has a hook of its own.
    """
    if on_attempt is None and isinstance(provider, Fallback):
        return provider
    return Reporting(provider=provider, on_attempt=on_attempt or log_attempt)


@dataclass(frozen=True, kw_only=True)
class Reporting:
    """Asks `provider`, in its name; `on_attempt` hears of every attempt. `clock` only goes forward."""

    provider: Provider
    on_attempt: OnAttempt
    clock: Callable[[], float] = time.monotonic

    @property
    def name(self) -> str:
        """The provider's name."""
        return self.provider.name

    @property
    def offers(self) -> frozenset[Kind]:
        """What the provider offers."""
        return self.provider.offers

    async def search(self, query: Query) -> SearchResults:
        """Return what the provider finds. Raises what it raises."""
        with attempted(self.name, "search", on_attempt=self.on_attempt, clock=self.clock) as attempt:
            return attempt.took(await self.provider.search(query))

    async def answer(self, question: Question) -> Answer:
        """Return what the provider answers. Raises what it raises."""
        with attempted(self.name, "answer", on_attempt=self.on_attempt, clock=self.clock) as attempt:
            return attempt.took(await self.provider.answer(question))

    async def stream(self, question: Question) -> AsyncGenerator[Event, None]:
        """Yield what the provider yields. Raises what it raises."""
        with attempted(self.name, "answer", on_attempt=self.on_attempt, clock=self.clock) as attempt:
            async for event in self.provider.stream(question):
                if isinstance(event, Done):
                    attempt.took(event.answer)
                yield event
