"""The attempts table: what each provider did, written in batches, read as figures."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime

from psycopg import AsyncConnection, Error
from psycopg.rows import DictRow

from bot.clock import utc_now
from bot.model.provider_stats import ProviderFigures
from bot.storage.database import AWAY
from bot.storage.questions import Pool
from perplexity.attempts import Attempt
from perplexity.errors import AuthenticationError, BillingError, InvalidRequest, Withdrawn
from perplexity.fallback import RESTING

log = logging.getLogger(__name__)


KEPT_DAYS = 30

ADMINS_OWN = (AuthenticationError.__name__, BillingError.__name__)
"""Failures that stay until an admin does something: another key, more credit. The index `attempts_last` names them."""

NOT_ITS_OWN = (RESTING, InvalidRequest.__name__, Withdrawn.__name__)
"""Attempts that were not made, or say nothing of the provider: the request was wrong, or nobody wanted it any more."""

_WRITE = """
    INSERT INTO attempts (at, provider, kind, seconds, error_class, cost_usd)
    VALUES (%(at)s, %(provider)s, %(kind)s, %(seconds)s, %(error_class)s, %(cost_usd)s)
"""
_FORGET = "DELETE FROM attempts WHERE at < now() - %(days)s * interval '1 day'"
_FIGURES = """
    SELECT provider,
        count(*) AS asked,
        count(*) FILTER (WHERE error_class IS NULL) AS answered,
        percentile_cont(0.5) WITHIN GROUP (ORDER BY seconds) FILTER (WHERE error_class IS NULL) AS p50,
        percentile_cont(0.95) WITHIN GROUP (ORDER BY seconds) FILTER (WHERE error_class IS NULL) AS p95,
        sum(cost_usd) AS cost_usd
    FROM attempts
    WHERE at > now() - %(hours)s * interval '1 hour' AND (error_class IS NULL OR error_class <> ALL(%(apart)s))
    GROUP BY provider
    ORDER BY asked DESC, provider
"""
TROUBLES = """
    WITH RECURSIVE asked AS (
        (SELECT provider FROM attempts
            WHERE error_class IS NULL OR error_class IN ('AuthenticationError', 'BillingError')
            ORDER BY provider LIMIT 1)
        UNION ALL
        SELECT (SELECT a.provider FROM attempts a
            WHERE (a.error_class IS NULL OR a.error_class IN ('AuthenticationError', 'BillingError'))
                AND a.provider > asked.provider
            ORDER BY a.provider LIMIT 1)
        FROM asked WHERE asked.provider IS NOT NULL)
    SELECT asked.provider, last.error_class
    FROM asked CROSS JOIN LATERAL (
        SELECT a.error_class FROM attempts a
        WHERE a.provider = asked.provider AND a.at > now() - %(hours)s * interval '1 hour'
            AND (a.error_class IS NULL OR a.error_class IN ('AuthenticationError', 'BillingError'))
        ORDER BY a.at DESC, a.id DESC LIMIT 1) last
    WHERE last.error_class IS NOT NULL
"""
"""One provider after the other, and of each the last attempt: a few rows of the index `attempts_last`.

Postgres walks through every row of an index for `DISTINCT ON` (https://wiki.postgresql.org/wiki/Loose_indexscan), and
uses a partial index only if the query spells out the failures as the index does.
"""


@dataclass(frozen=True, kw_only=True)
class TimedAttempt:
    """An attempt and when it ended."""

    at: datetime
    attempt: Attempt


class Attempts:
    """The table's operations."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def write(self, attempts: Sequence[TimedAttempt]) -> None:
        """Write attempts down, all or none."""
        rows = [{"at": one.at, **vars(one.attempt)} for one in attempts]
        async with self._pool.connection() as connection, connection.cursor() as cursor:
            await cursor.executemany(_WRITE, rows)

    async def forget(self, *, days: int = KEPT_DAYS) -> None:
        """Delete what is older."""
        async with self._pool.connection() as connection:
            await connection.execute(_FORGET, {"days": days})

    async def figures(self, *, hours: float = 24) -> tuple[ProviderFigures, ...]:
        """Return the figures of every provider that was asked in the last hours, the most asked first."""
        troubles = await self.troubles(hours=hours)
        async with self._pool.connection() as connection:
            rows = await (await connection.execute(_FIGURES, {"hours": hours, "apart": list(NOT_ITS_OWN)})).fetchall()
        return tuple(ProviderFigures(**row, trouble=troubles.get(row["provider"])) for row in rows)

    async def troubles(self, *, hours: float = 24) -> dict[str, str]:
        """Return the providers whose last word in these hours was that an admin must do something, and what it was."""
        async with self._pool.connection() as connection:
            return await troubles(connection, hours=hours)


async def troubles(connection: AsyncConnection[DictRow], *, hours: float = 24) -> dict[str, str]:
    """Read what `Attempts.troubles` returns on a connection."""
    rows = await (await connection.execute(TROUBLES, {"hours": hours})).fetchall()
    return {row["provider"]: row["error_class"] for row in rows}


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
