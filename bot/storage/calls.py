"""Limits the rate of calls to services, and records their attempts.

All processes share the limits of a service. A lane is a row of `provider_limits`: one kind of call to one service with
one key. A turn is a row of `provider_turns`: the time in its lane, by the database's clock, at which one call may be
sent. Attempts are written in batches and read as statistics.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import datetime
from typing import LiteralString, get_args
from uuid import UUID, uuid4

from psycopg import AsyncConnection, Error
from psycopg.rows import DictRow

from bot.clock import utc_now
from bot.model.admin import LaneUse, ProviderStats
from bot.storage import queries
from bot.storage.database import DATABASE_UNAVAILABLE
from bot.storage.questions import DatabaseRetry, Lanes, Pool, default_limits
from perplexity import scope
from perplexity.errors import Attempt, InvalidRequest, NothingFound, RateLimitError, RequestCancelled
from perplexity.fallback import CIRCUIT_OPEN
from perplexity.limiter import WAIT_SECONDS, CallKind, Limits

log = logging.getLogger(__name__)

LOOK_SECONDS = 2.0
"""The longest pause before a waiting call checks again whether it may be sent; the limit may be raised meanwhile."""

FULL = 0.95
"""The share of its calls per minute at which a lane counts as full.

It is less than 1, since the limiter spreads calls over a little more than a minute: a lane may never reach its limit.
"""

AWAY_SECONDS = 5.0
"""The longest time that a turn waits for an unavailable database."""


@dataclass(kw_only=True)
class HeldTurn:
    """The turn that a question got together with its job; the question's first call uses it.

    `id` is None if the turn was used, if the question asks no service, or if its wait for a turn would be too long.
    """

    lane: str = queries.DEFAULT
    id: UUID | None = None

    def take(self) -> UUID | None:
        """Return the turn at the first call of this method, then None."""
        taken, self.id = self.id, None
        return taken


_held: ContextVar[HeldTurn | None] = ContextVar("held_turn", default=None)
_left: ContextVar[UUID | None] = ContextVar("left_turn", default=None)
"""The turn that the latest call of this task used."""


@asynccontextmanager
async def holding(pool: Pool, turn: HeldTurn) -> AsyncIterator[None]:
    """Let the first call use the turn; give the turn back if no call used it."""
    token = _held.set(turn)
    try:
        yield
    finally:
        _held.reset(token)
        await _give_back(pool, turn.take())


async def _give_back(pool: Pool, turn: UUID | None) -> None:
    if turn is not None:
        with suppress(*DATABASE_UNAVAILABLE):  # A turn that is not given back expires.
            await pool.execute(_GIVE_BACK, {"turn": turn})


async def read_uses(connection: AsyncConnection[DictRow], lanes: Sequence[str]) -> list[LaneUse]:
    """Return the usage of `lanes`, without the lanes that have no limit per minute."""
    rows = await (await connection.execute(_USES, {"lanes": list(lanes)})).fetchall()
    return [LaneUse(**row) for row in rows]


@dataclass(frozen=True, kw_only=True)
class PostgresLimiter:
    """Limits the calls of all processes that share one database."""

    pool: Pool
    lanes: Lanes
    wait_seconds: float = WAIT_SECONDS
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    on_refused: Callable[[str], None] = lambda provider: None
    database_retry: DatabaseRetry = field(default_factory=lambda: DatabaseRetry(seconds=AWAY_SECONDS))

    async def turn(self, provider: str, kind: CallKind, *, patient: bool = True) -> None:
        """Wait until a call may be sent. Raises database errors.

        The first call of a question uses the turn that the question got with its job, if this turn is in the call's
        lane. With `patient` false, raises RateLimitError if the wait would be longer than `wait_seconds`, or if the job
        came from `queries.OVERFLOW`.
        """
        lane, held = self.lanes.lane(provider, kind), _held.get()
        if lane is None:
            return
        if held is not None and held.lane == queries.OVERFLOW and not patient:
            raise self._too_long(provider, self.wait_seconds)
        turn = held.take() if held is not None else None
        if turn is not None and held is not None and held.lane != lane:
            await _give_back(self.pool, turn)
            turn = None
        if turn is None:
            turn = uuid4()
            await self.lanes.add(self.pool, lane)
        most = None if patient else self.wait_seconds
        try:
            while wait := await self._seconds(lane, turn, most):
                if most is not None and wait > most:
                    raise self._too_long(provider, wait)
                await self.sleep(min(wait, LOOK_SECONDS))
        except BaseException:
            await asyncio.shield(_give_back(self.pool, turn))
            raise
        _left.set(turn)

    async def replied(
        self, provider: str, kind: CallKind, *, per_minute: int | None = None, used: int | None = None
    ) -> None:
        """Record a reply. After a stop, one call is sent; the reply to this call lets the waiting calls go on.

        `per_minute` is the limit that the reply names; it replaces a default limit, but no configured one. `used` is
        the number of calls that the service counted. If clearly fewer calls were made here, the difference is recorded
        as calls of other programs.
        """
        learns = per_minute if default_limits(provider, kind).per_minute is not None else None
        limits = Limits.learned(learns) if learns else Limits()
        await self._note(provider, kind, _REPLIED, {"per_minute": limits.per_minute, "per_second": limits.per_second})
        if used is not None:
            await self._note(provider, kind, _OTHERS, {"used": used})

    async def refused(self, provider: str, kind: CallKind, *, retry_after: float | None = None) -> None:
        """Stop the lane after a refusal.

        The stop lasts for `retry_after` seconds, but at least one second. If the lane was already stopped while the
        refused call was on its way, that stop is kept, and is extended only if `retry_after` reaches beyond its end.
        """
        self.on_refused(provider)
        await self._note(provider, kind, _REFUSED, {"seconds": retry_after})

    async def uses(self) -> list[LaneUse]:
        """Return the usage of the lanes with the current workspace's keys."""
        kinds = get_args(CallKind)
        lanes = [lane for provider in self.lanes.keys for kind in kinds if (lane := self.lanes.lane(provider, kind))]
        async with self.pool.connection() as connection:
            return await read_uses(connection, lanes)

    async def waiting(self) -> dict[str, int]:
        """Return the number of questions waiting for a turn, by service and kind of call."""
        rows = await self.pool.fetch_all(_WAITING)
        return {row["lane"]: row["waiting"] for row in rows}

    async def newly_full(self) -> list[tuple[str, LaneUse]]:
        """Return the lanes that were full for ten minutes, and mark them as returned.

        Each comes with the id of the workspace that asked the most questions in the lane in the last hour. A lane is
        returned again only after an hour in which it was not full.
        """
        async with self.pool.connection() as connection:
            rows = await (await connection.execute(_FULL, {"full": FULL})).fetchall()
            due = await read_uses(connection, [row["lane"] for row in rows if row["due"]])
            teams = [await (await connection.execute(_ASKING, {"lane": one.lane})).fetchone() for one in due]
        return [(row["team_id"], use) for row, use in zip(teams, due, strict=True) if row is not None]

    async def not_told(self, lane: str) -> None:
        """Make `newly_full` return a lane once more."""
        await self.pool.execute(_NOT_TOLD, {"lane": lane})

    async def _seconds(self, lane: str, turn: UUID, most: float | None) -> float:
        values = {"lane": lane, "turn": turn, "most": most}
        row = await self.database_retry(lambda: self.pool.fetch_one(_TURN, values, prepare=True))
        return float(row["seconds"]) if row else 0.0

    async def _note(self, provider: str, kind: CallKind, query: LiteralString, values: dict[str, float | None]) -> None:
        lane = self.lanes.lane(provider, kind)
        if lane is not None:
            with suppress(*DATABASE_UNAVAILABLE):  # An error here must not lose an answer that is paid for.
                await self.pool.execute(query, {"lane": lane, "turn": _left.get(), **values})

    def _too_long(self, provider: str, wait: float) -> RateLimitError:
        return RateLimitError("it would have to wait too long", provider=provider, retry_after=wait)


_GIVE_BACK = "DELETE FROM provider_turns WHERE id = %(turn)s AND left_at IS NULL"
_TURN = "SELECT provider_turn_v1(%(lane)s, %(turn)s, %(most)s::float8) AS seconds"
_REPLIED = "SELECT provider_replied_v1(%(lane)s, %(turn)s, %(per_minute)s::integer, %(per_second)s::integer)"
_REFUSED = "SELECT provider_refused_v1(%(lane)s, %(turn)s, %(seconds)s::float8)"
_USES = """
    SELECT l.lane, l.per_minute, l.source,
        CASE WHEN l.others_at > now() - interval '1 hour' THEN l.others END AS others,
        coalesce((
            SELECT max(calls) FROM (
                SELECT count(*) OVER (ORDER BY p.left_at RANGE interval '59.9 seconds' PRECEDING) AS calls
                FROM provider_turns p
                WHERE p.lane = l.lane AND p.left_at > now() - interval '1 hour') AS minutes), 0) AS fullest
    FROM provider_limits l WHERE l.lane = ANY(%(lanes)s) AND l.per_minute IS NOT NULL ORDER BY l.lane
"""
_FULL = """
    UPDATE provider_limits l
    SET full_at = now(), told_at = CASE
        WHEN l.full_at > now() - interval '1 hour' AND l.told_at IS NOT NULL THEN l.told_at
        WHEN NOT EXISTS (
            SELECT FROM generate_series(1, 9) back WHERE %(full)s * l.per_minute > (
                SELECT count(*) FROM provider_turns p
                WHERE p.lane = l.lane AND p.left_at > now() - (back + 1) * interval '1 minute'
                    AND p.left_at <= now() - back * interval '1 minute')) THEN now() END
    WHERE %(full)s * l.per_minute <= (
        SELECT count(*) FROM provider_turns p WHERE p.lane = l.lane AND p.left_at > now() - interval '1 minute')
    RETURNING l.lane, coalesce(l.told_at = now(), false) AS due
"""
_ASKING = """
    SELECT team_id FROM questions WHERE queue = %(lane)s AND received_at > now() - interval '1 hour'
    GROUP BY team_id ORDER BY count(*) DESC LIMIT 1
"""
_WAITING = """
    SELECT split_part(l.lane, ':', 1) AS lane, count(j.id) AS waiting
    FROM provider_limits l LEFT JOIN procrastinate_jobs j ON j.queue_name = l.lane AND j.status = 'todo' GROUP BY 1
"""
_NOT_TOLD = "UPDATE provider_limits SET told_at = NULL WHERE lane = %(lane)s"
_OTHERS = """
    UPDATE provider_limits l SET others = %(used)s - own.calls, others_at = now()
    FROM (
        SELECT count(*) AS calls FROM provider_turns
        WHERE lane = %(lane)s AND left_at > now() - interval '61 seconds') own
    WHERE l.lane = %(lane)s AND %(used)s > own.calls * 1.2 + 5
"""


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
"""Read the providers whose last attempt failed with AuthenticationError or BillingError.

Attempts that failed with another error are skipped. The query jumps from provider to provider, so that it reads only a
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
"""How long a stopping process tries to write the queue; the host soon kills the process."""

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

        A failure with a workspace's own key is not queued, since the app's admin cannot fix it.
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
        return await asyncio.shield(asyncio.create_task(self._write()))

    async def _final_flush(self) -> None:
        try:
            async with asyncio.timeout(self.final_seconds):
                while not await self.flush():
                    await self.sleep(_RETRY_SECONDS)
        except TimeoutError as error:
            log.error("attempts.lost", extra={"error": type(error).__name__})

    async def _write(self) -> bool:
        async with self._lock:
            batch = [self.pending.popleft() for _ in range(len(self.pending))]
            written = not batch or await self._try(self.attempts.write(batch))
            if not written:
                room = MAX_PENDING - len(self.pending)
                self.pending.extendleft(reversed(batch[max(0, len(batch) - room) :]))
        return written

    async def _try(self, work: Awaitable[None]) -> bool:
        """Await `work`; return False if the database is unavailable.

        Any other database error is logged, and `work` counts as done.
        """
        try:
            await work
        except DATABASE_UNAVAILABLE as error:
            log.warning("attempts.away", extra={"error": type(error).__name__})
            return False
        except Error as error:
            log.error("attempts.lost", extra={"error": type(error).__name__})
        return True
