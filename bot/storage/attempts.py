"""The attempts table: every request to a provider, written in batches and read as statistics."""

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
from bot.model.provider_stats import ProviderStats
from bot.storage.database import DATABASE_UNAVAILABLE
from bot.storage.questions import Pool
from perplexity import scope
from perplexity.errors import Attempt, InvalidRequest, NothingFound, RequestCancelled
from perplexity.fallback import CIRCUIT_OPEN

log = logging.getLogger(__name__)


KEPT_DAYS = 30

NOT_COUNTED = (CIRCUIT_OPEN, InvalidRequest.__name__, RequestCancelled.__name__, "Withdrawn")
"""The error classes of skipped attempts and of invalid or cancelled requests; statistics leave these attempts out.

Earlier versions stored a cancelled request as `Withdrawn`.
"""

_WRITE = """
    INSERT INTO attempts (at, provider, kind, seconds, error_class, cost_usd)
    VALUES (%(at)s, %(provider)s, %(kind)s, %(seconds)s, %(error_class)s, %(cost_usd)s)
"""
_DELETE_OLD = "DELETE FROM attempts WHERE at < now() - %(days)s * interval '1 day'"
_STATS = """
    SELECT provider,
        count(*) AS asked,
        count(*) FILTER (WHERE error_class IS NULL) AS answered,
        percentile_cont(0.5) WITHIN GROUP (ORDER BY seconds) FILTER (WHERE error_class IS NULL) AS p50,
        percentile_cont(0.95) WITHIN GROUP (ORDER BY seconds) FILTER (WHERE error_class IS NULL) AS p95
    FROM attempts
    WHERE at > now() - %(hours)s * interval '1 hour' AND (error_class IS NULL OR error_class <> ALL(%(apart)s))
    GROUP BY provider
    ORDER BY asked DESC, provider
"""
LAST_CALLS = 3
"""A provider is reported as failing after this many calls in a row without an answer."""

_SILENT = """
    SELECT asked.provider FROM unnest(%(providers)s::text[]) AS asked (provider) CROSS JOIN LATERAL (
        SELECT a.error_class FROM attempts a
        WHERE a.provider = asked.provider AND a.at > now() - interval '1 day'
            AND (a.error_class IS NULL OR a.error_class <> ALL(%(apart)s))
        ORDER BY a.at DESC, a.id DESC LIMIT %(last)s) AS last
    GROUP BY asked.provider HAVING count(last.error_class) = %(last)s
    ORDER BY asked.provider
"""
ADMIN_ISSUES = """
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
"""Read the providers whose last attempt failed because of the key or the bill.

Attempts that failed for another reason are skipped. The query jumps from provider to provider, so that it reads only a
few rows of the index `attempts_last`. `DISTINCT ON` would read every row of the index
(https://wiki.postgresql.org/wiki/Loose_indexscan). The index is partial, and Postgres uses it only because the query
repeats the condition of the index.
"""


@dataclass(frozen=True, kw_only=True)
class TimedAttempt:
    """An attempt with the time of its end."""

    at: datetime
    attempt: Attempt


class AttemptStore:
    """Writes and reads the table of attempts."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def write(self, attempts: Sequence[TimedAttempt]) -> None:
        """Write attempts, either all of them or none."""
        rows = [{"at": one.at, **vars(one.attempt)} for one in attempts]
        async with self._pool.transaction() as connection, connection.cursor() as cursor:
            await cursor.executemany(_WRITE, rows)

    async def delete_old(self, *, days: int = KEPT_DAYS) -> None:
        """Delete attempts that are older than `days`."""
        await self._pool.execute(_DELETE_OLD, {"days": days})

    async def stats(self, *, hours: float = 24) -> tuple[ProviderStats, ...]:
        """Return the statistics of the providers asked in the last `hours`, the most asked first."""
        rows = await self._pool.fetch_all(_STATS, {"hours": hours, "apart": list(NOT_COUNTED)})
        return tuple(ProviderStats(**row) for row in rows)

    async def silent(self, providers: Sequence[str]) -> list[str]:
        """Return those `providers` whose last `LAST_CALLS` calls, all within the last day, were not answered."""
        values = {"providers": list(providers), "apart": [*NOT_COUNTED, NothingFound.__name__], "last": LAST_CALLS}
        return [row["provider"] for row in await self._pool.fetch_all(_SILENT, values)]

    async def admin_issues(self, *, hours: float = 24) -> dict[str, str]:
        """Return, by provider, the error class of the last attempt in `hours` if only an admin can fix the cause."""
        async with self._pool.connection() as connection:
            return await read_admin_issues(connection, hours=hours)


async def read_admin_issues(connection: AsyncConnection[DictRow], *, hours: float = 24) -> dict[str, str]:
    """Return the result of `AttemptStore.admin_issues`, read on this connection."""
    rows = await (await connection.execute(ADMIN_ISSUES, {"hours": hours})).fetchall()
    return {row["provider"]: row["error_class"] for row in rows}


MAX_PENDING = 1_000
"""The most attempts in the queue. If the database is unavailable for long, the oldest ones are dropped."""

CLEANUP_SECONDS = 3_600.0

FINAL_FLUSH_SECONDS = 3.0
"""How long a stopping process waits for an unavailable database. The host soon kills the process."""

_RETRY_SECONDS = 0.2


@dataclass(frozen=True, kw_only=True)
class AttemptLog:
    """Queues attempts and writes them every `seconds`; the final write may take `final_seconds`.

    `on_attempt` is called with each attempt.
    """

    attempts: AttemptStore
    seconds: float = 1.0
    final_seconds: float = FINAL_FLUSH_SECONDS
    on_attempt: Callable[[Attempt], None] = lambda attempt: None
    now: Callable[[], datetime] = utc_now
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    pending: deque[TimedAttempt] = field(default_factory=lambda: deque(maxlen=MAX_PENDING))
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    def record(self, attempt: Attempt) -> None:
        """Queue one attempt. Returns at once.

        A failure with a workspace's own key is left out, since the app's admin cannot fix it.
        """
        self.on_attempt(attempt)
        own = scope.current().keys
        if attempt.error_class is not None and own is not None and attempt.provider in own.names:
            return
        self.pending.append(TimedAttempt(at=self.now(), attempt=attempt))

    async def run(self) -> None:
        """Write repeatedly until cancelled, then one last time. A second cancellation does not stop the last write."""
        since = CLEANUP_SECONDS
        try:
            while True:
                if since >= CLEANUP_SECONDS:
                    since = 0.0 if await self._try(self.attempts.delete_old()) else since
                await self.flush()
                await self.sleep(self.seconds)
                since += self.seconds
        finally:
            last = asyncio.create_task(self._final_flush())
            while not last.done():
                with suppress(asyncio.CancelledError):
                    await asyncio.wait({last})

    async def flush(self) -> bool:
        """Write the queued attempts; return False if the database is unavailable and they remain queued.

        A write that has begun continues if the caller is cancelled, since its result would be unknown otherwise.
        """
        batch = [self.pending.popleft() for _ in range(len(self.pending))]
        return not batch or await asyncio.shield(asyncio.create_task(self._write(batch)))

    async def _final_flush(self) -> None:
        try:
            async with asyncio.timeout(self.final_seconds):
                while not await self._flush_all():
                    await self.sleep(_RETRY_SECONDS)
        except TimeoutError as error:
            log.error("attempts.lost", extra={"error": type(error).__name__})

    async def _flush_all(self) -> bool:
        async with self._lock:  # Waits for a running write, which queues its attempts again if it fails.
            pass
        return await self.flush()

    async def _write(self, batch: Sequence[TimedAttempt]) -> bool:
        written = False
        try:
            async with self._lock:
                written = await self._try(self.attempts.write(batch))
        finally:
            if not written:
                room = MAX_PENDING - len(self.pending)
                self.pending.extendleft(reversed(batch[max(0, len(batch) - room) :]))
        return written

    async def _try(self, work: Awaitable[None]) -> bool:
        """Await `work`; return False if the database is unavailable.

        Any other database error is logged, and the attempts are dropped.
        """
        try:
            await work
        except DATABASE_UNAVAILABLE as error:
            log.warning("attempts.away", extra={"error": type(error).__name__})
            return False
        except Error as error:
            log.error("attempts.lost", extra={"error": type(error).__name__})
        return True
