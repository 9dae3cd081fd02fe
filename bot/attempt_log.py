"""Writes down what the providers did, behind the answers' backs: nobody waits for it, and a lost row loses a figure."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
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

LAST_SECONDS = 3.0
"""How long a stopping process waits for an unavailable database; its host kills it soon."""

_PAUSE = 0.2


@dataclass(frozen=True, kw_only=True)
class AttemptLog:
    """Takes attempts at once and writes them every `seconds`; at the end it tries for at most `last_seconds`.

    `now` and `sleep` are the clock and the pause.
    """

    attempts: Attempts
    seconds: float = 1.0
    last_seconds: float = LAST_SECONDS
    now: Callable[[], datetime] = utc_now
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    waiting: deque[TimedAttempt] = field(default_factory=lambda: deque(maxlen=MOST_WAITING))
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    def note(self, attempt: Attempt) -> None:
        """Take one attempt. Returns at once."""
        self.waiting.append(TimedAttempt(at=self.now(), attempt=attempt))

    async def run(self) -> None:
        """Write repeatedly until cancelled, then one last time, even if it is cancelled again meanwhile."""
        since = FORGET_SECONDS
        try:
            while True:
                if since >= FORGET_SECONDS:
                    since = 0.0 if await self._kept(self.attempts.forget()) else since
                await self.flush()
                await self.sleep(self.seconds)
                since += self.seconds
        finally:
            last = asyncio.create_task(self._flush_at_last())
            while not last.done():
                with suppress(asyncio.CancelledError):
                    await asyncio.wait({last})

    async def flush(self) -> bool:
        """Write the waiting attempts; return False if the database is unavailable and they still wait.

        A write that has begun goes on if the caller is cancelled: otherwise its result would be unknown.
        """
        batch = [self.waiting.popleft() for _ in range(len(self.waiting))]
        return not batch or await asyncio.shield(asyncio.create_task(self._write(batch)))

    async def _flush_at_last(self) -> None:
        try:
            async with asyncio.timeout(self.last_seconds):
                while not await self._everything_is_written():
                    await self.sleep(_PAUSE)
        except TimeoutError as error:
            log.error("attempts.lost", extra={"error": type(error).__name__})

    async def _everything_is_written(self) -> bool:
        async with self._turn:  # a write that had begun: what it could not write waits again
            pass
        return await self.flush()

    async def _write(self, batch: Sequence[TimedAttempt]) -> bool:
        written = False
        try:
            async with self._turn:
                written = await self._kept(self.attempts.write(batch))
        finally:
            if not written:
                room = MOST_WAITING - len(self.waiting)
                self.waiting.extendleft(reversed(batch[max(0, len(batch) - room) :]))
        return written

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
