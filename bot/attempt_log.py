"""Writes down what the providers did, behind the answers' backs: nobody waits for it, and a lost row loses a figure."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime

from psycopg import Error

from bot.clock import utc_now
from bot.storage.attempts import Attempts, TimedAttempt
from bot.storage.patience import AWAY
from perplexity.types import Attempt

log = logging.getLogger(__name__)

MOST_WAITING = 1_000
"""While the database is away for long the oldest are dropped."""

FORGET_SECONDS = 3_600.0


@dataclass(frozen=True, kw_only=True)
class AttemptLog:
    """Takes attempts at once and writes them every `seconds`. `now` and `sleep` are the clock and the pause."""

    attempts: Attempts
    seconds: float = 1.0
    now: Callable[[], datetime] = utc_now
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    waiting: deque[TimedAttempt] = field(default_factory=lambda: deque(maxlen=MOST_WAITING))

    def note(self, attempt: Attempt) -> None:
        """Take one attempt. Returns at once."""
        self.waiting.append(TimedAttempt(at=self.now(), attempt=attempt))

    async def run(self) -> None:
        """Write, again and again, until cancelled; then once more."""
        since = FORGET_SECONDS
        try:
            while True:
                if since >= FORGET_SECONDS:
                    since = 0.0 if await self._kept(self.attempts.forget()) else since
                await self.flush()
                await self.sleep(self.seconds)
                since += self.seconds
        finally:
            await self.flush()

    async def flush(self) -> None:
        """Write what waits; it goes on waiting while the database is away."""
        batch = [self.waiting.popleft() for _ in range(len(self.waiting))]
        if batch and not await self._kept(self.attempts.write(batch)):
            room = MOST_WAITING - len(self.waiting)
            self.waiting.extendleft(reversed(batch[max(0, len(batch) - room) :]))

    async def _kept(self, work: Awaitable[None]) -> bool:
        """Tell whether it was done, or can never be: figures are not worth more than a warning."""
        try:
            await work
        except AWAY as error:
            log.warning("attempts.away", extra={"error": type(error).__name__})
            return False
        except Error as error:
            log.error("attempts.lost", extra={"error": type(error).__name__})
        return True
