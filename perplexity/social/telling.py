"""Readers of posts are not in the chain of providers: how one did is told to the same hook all the same."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date

from perplexity.errors import PerplexityError
from perplexity.social.pulse import Pulse, PulseSource
from perplexity.types import Attempt


@dataclass(frozen=True, kw_only=True)
class Telling:
    """Asks `source`; `on_attempt` hears of every attempt, the successful one too. `clock` only goes forward."""

    source: PulseSource
    on_attempt: Callable[[Attempt], None]
    clock: Callable[[], float] = time.monotonic

    @property
    def name(self) -> str:
        """The source's name."""
        return self.source.name

    async def feel(self, topic: str, *, since: date, until: date, seconds: float) -> Pulse:
        """Return what the source says. Raises what it raises."""
        started = self.clock()
        try:
            felt = await self.source.feel(topic, since=since, until=until, seconds=seconds)
        except PerplexityError as error:
            self.on_attempt(
                Attempt(
                    provider=self.name,
                    seconds=self.clock() - started,
                    error_class=type(error).__name__,
                    summary=error.summary,
                    cost_usd=error.cost_usd,
                )
            )
            raise
        self.on_attempt(Attempt(provider=self.name, seconds=self.clock() - started, cost_usd=felt.cost_usd))
        return felt
