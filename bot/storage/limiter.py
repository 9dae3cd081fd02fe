"""Gives calls to services their turns: all processes share the limits, and the database's clock decides.

A lane is a row of `provider_limits`: one kind of call to one service with one key.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import LiteralString, get_args
from uuid import UUID, uuid4

from psycopg import AsyncConnection
from psycopg.rows import DictRow

from bot.model.admin import LaneUse
from bot.storage import queries
from bot.storage.database import DATABASE_UNAVAILABLE, DatabaseRetry
from bot.storage.questions import Pool
from perplexity import scope
from perplexity.errors import RateLimitError
from perplexity.limiter import DEFAULT_LIMITS, WAIT_SECONDS, CallKind, Limits

LOOK_SECONDS = 2.0
"""How often a waiting call checks whether it may be sent earlier, since the service may have raised its limit."""

FULL = 0.95
"""The share of its calls per minute at which a lane counts as full.

It is less than 1, since turns are spread over a little more than a minute, and so a lane may never use its whole limit.
"""

AWAY_SECONDS = 5.0
"""The longest time that a turn waits for an unavailable database."""


@dataclass(kw_only=True)
class HeldTurn:
    """The turn that a question got together with its job; the question's first call uses it.

    `id` is None if the turn was used, if the question asks no service, or if it would have waited too long.
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


def lane_name(provider: str, kind: CallKind, key: str) -> str:
    """Return the name of the lane for calls of a kind with a key; the name does not reveal the key."""
    return f"{provider.lower()}.{kind}:{hashlib.sha256(key.encode()).hexdigest()[:12]}"


async def read_uses(connection: AsyncConnection[DictRow], lanes: Sequence[str]) -> list[LaneUse]:
    """Return the usage of `lanes`, without the lanes that have no limit per minute."""
    rows = await (await connection.execute(_USES, {"lanes": list(lanes)})).fetchall()
    return [LaneUse(**row) for row in rows]


@dataclass(frozen=True, kw_only=True)
class PostgresLimiter:
    """The limiter of all processes on one database.

    `keys` are the configured API keys, and `addresses` the addresses of the services, both by the service's display
    name; calls to services without a key are not paced. `limits` are the configured limits. `stand_ins` are the
    services whose answers another service can write instead.
    """

    pool: Pool
    keys: Mapping[str, str] = field(repr=False)
    addresses: Mapping[str, str]
    limits: Mapping[tuple[str, CallKind], Limits] = field(default_factory=dict)
    stand_ins: Sequence[str] = ()
    wait_seconds: float = WAIT_SECONDS
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    on_refused: Callable[[str], None] = lambda provider: None
    database_retry: DatabaseRetry = field(default_factory=lambda: DatabaseRetry(seconds=AWAY_SECONDS))
    _added: set[str] = field(default_factory=set)

    def lane(self, provider: str, kind: CallKind) -> str | None:
        """Return the name of the lane for a call by the current task; None if it needs no turn."""
        own, key = scope.current().keys, self.keys.get(provider)
        if own is not None:
            key = own.keys.get(self.addresses.get(provider, "").rstrip("/"), key)
        if key is None:
            return None
        return lane_name(provider, kind, key)

    async def turn(self, provider: str, kind: CallKind, *, patient: bool = True) -> None:
        """Wait until a call may be sent. Raises RateLimitError, and database errors.

        The first call of a question uses the turn that the question got with its job. A call with `patient` false that
        would have to wait longer than `wait_seconds` raises RateLimitError.
        """
        lane, held = self.lane(provider, kind), _held.get()
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
            await self.add_lane(lane)
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
        """Let waiting calls go on after a reply, at the rate `per_minute` that the reply names.

        `used` is the number of calls that the service counted; it is recorded if clearly fewer calls were made here.
        """
        learns = per_minute if _default(provider, kind).per_minute is not None else None
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

    async def add_lane(self, lane: str) -> None:
        """Save a lane with its configured limits, or else the defaults. Configured limits apply to all processes."""
        if lane in self._added:
            return
        name, kind = lane.partition(":")[0].split(".", 1)
        found = next((one for one in self.limits if one == (name, kind)), None)
        limits = self.limits[found] if found else _default(name, kind)
        values = {
            "lane": lane,
            "per_second": limits.per_second,
            "per_minute": limits.per_minute,
            "source": "set" if found else "tier",
            "stands_in": kind != "search" and name in {one.lower() for one in self.stand_ins},
        }
        await self.pool.execute(_ADD_LANE, values)
        self._added.add(lane)

    async def uses(self) -> list[LaneUse]:
        """Return the usage of the lanes with the current workspace's keys."""
        kinds = get_args(CallKind)
        lanes = [lane for provider in self.keys for kind in kinds if (lane := self.lane(provider, kind)) is not None]
        async with self.pool.connection() as connection:
            return await read_uses(connection, lanes)

    async def waiting(self) -> dict[str, int]:
        """Return the number of questions waiting for a turn, by service and kind of call."""
        rows = await self.pool.fetch_all(_WAITING)
        return {row["lane"]: row["waiting"] for row in rows}

    async def newly_full(self) -> list[tuple[str, LaneUse]]:
        """Return the lanes that were full for ten minutes, each with the id of the workspace to inform.

        A lane is returned once, and again only after an hour in which it was not full.
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
        async def ask() -> float:
            row = await self.pool.fetch_one(_TURN, {"lane": lane, "turn": turn, "most": most}, prepare=True)
            return float(row["seconds"]) if row else 0.0

        return await self.database_retry(ask)

    async def _note(self, provider: str, kind: CallKind, query: LiteralString, values: dict[str, float | None]) -> None:
        lane = self.lane(provider, kind)
        if lane is not None:
            with suppress(*DATABASE_UNAVAILABLE):  # An error here must not lose an answer that is paid for.
                await self.pool.execute(query, {"lane": lane, "turn": _left.get(), **values})

    def _too_long(self, provider: str, wait: float) -> RateLimitError:
        return RateLimitError("it would have to wait too long", provider=provider, retry_after=wait)


def _default(provider: str, kind: str) -> Limits:
    return next((limits for lane, limits in DEFAULT_LIMITS.items() if lane == (provider.lower(), kind)), Limits())


_GIVE_BACK = "DELETE FROM provider_turns WHERE id = %(turn)s AND left_at IS NULL"
_TURN = "SELECT provider_turn_v1(%(lane)s, %(turn)s, %(most)s::float8) AS seconds"
_REPLIED = "SELECT provider_replied_v1(%(lane)s, %(turn)s, %(per_minute)s::integer, %(per_second)s::integer)"
_REFUSED = "SELECT provider_refused_v1(%(lane)s, %(turn)s, %(seconds)s::float8)"
_ADD_LANE = """
    INSERT INTO provider_limits AS l (lane, per_second, per_minute, source, stands_in)
    VALUES (%(lane)s, %(per_second)s, %(per_minute)s, %(source)s, %(stands_in)s)
    ON CONFLICT (lane) DO UPDATE
    SET per_second = excluded.per_second, per_minute = excluded.per_minute, source = excluded.source,
        stands_in = excluded.stands_in
    WHERE l.stands_in <> excluded.stands_in
        OR 'set' IN (l.source, excluded.source) AND (l.per_second, l.per_minute, l.source)
            IS DISTINCT FROM (excluded.per_second, excluded.per_minute, excluded.source)
"""
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
