"""The tables of the digests: rows in, frozen values out, each change one short transaction."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, LiteralString
from uuid import UUID

from psycopg import AsyncConnection
from psycopg.rows import DictRow

from bot.digests.base import Digest, Full, Owner, State, Wish
from bot.digests.schedule import Schedule
from bot.storage import digest_queries as sql
from bot.storage import queries
from bot.storage.questions import Defer, NewQuestion, Pool, storable
from bot.storage.seen_stories import SeenStories


@dataclass(frozen=True, kw_only=True)
class Limits:
    """How many digests one person, and one channel, may have; with none of either, digests are switched `off`."""

    per_user: int
    per_channel: int

    @property
    def off(self) -> bool:
        """Whether there may be no digest at all: those that there are do not run."""
        return not (self.per_user and self.per_channel)

    def reached(self, *, of_owner: int, in_channel: int, of_owner_in_channel: int, direct: bool) -> Full | None:
        """Return the limit that these numbers of digests have reached, if any.

        In a channel one person has at most half of the places, rounded up, so that the others keep some; a `direct`
        message is that person's alone.
        """
        share = (self.per_channel + 1) // 2
        if of_owner >= self.per_user:
            return Full(limit=self.per_user, channel=False)
        if in_channel >= self.per_channel:
            return Full(limit=self.per_channel, channel=True)
        if of_owner_in_channel >= share and not direct:
            return Full(limit=share, channel=True, share=True)
        return None


@dataclass(frozen=True, kw_only=True)
class Planned:
    """A run that is to begin: its slot, its question, and when the digest is due again."""

    slot: datetime
    question: NewQuestion
    next_at: datetime


class Digests:
    """The tables' operations. `defer` puts a question's job into the transaction that begins a run.

    `seen` are the stories that were posted.
    """

    def __init__(self, pool: Pool, defer: Defer) -> None:
        self.seen = SeenStories(pool)
        self._pool = pool
        self._defer = defer

    async def add(
        self, wish: Wish, *, id: UUID, owner: Owner, channel_id: str, next_at: datetime, limits: Limits
    ) -> Full | None:
        """Keep a new digest, unless a limit is reached; the same `id` once more changes nothing."""
        values = vars(owner) | {"id": id, "channel_id": channel_id, "next_at": next_at, "most": limits.per_user}
        async with self._pool.connection() as connection:
            await connection.execute(sql.ALONE, values)
            if await _one(connection, sql.LOCK, values):
                return None
            counts = await _one(connection, sql.COUNTS, values) or {}
            if full := limits.reached(**counts, direct=channel_id.startswith("D")):
                return full
            await connection.execute(sql.ADD, values | _columns(wish))
        return None

    async def get(self, id: UUID, *, now: datetime) -> Digest | None:
        """Read a digest; None when there is none any more."""
        async with self._pool.connection() as connection:
            row = await _one(connection, sql.GET, {"id": id, "now": now})
        return _digest(row) if row else None

    async def of_owner(self, owner: Owner, *, now: datetime) -> tuple[Digest, ...]:
        """Read what somebody has, by number."""
        async with self._pool.connection() as connection:
            rows = await (await connection.execute(sql.OF_OWNER, vars(owner) | {"now": now})).fetchall()
        return tuple(map(_digest, rows))

    async def set_state(self, id: UUID, state: State, *, next_at: datetime | None) -> None:
        """Pause a digest, or let it run from `next_at` on."""
        await self._execute(sql.SET_STATE, {"id": id, "state": state, "next_at": next_at})

    async def stop(self, id: UUID, notice: NewQuestion) -> bool:
        """Stop a digest, and ask the question that says why, in one transaction; False when it does not run anyway."""
        async with self._pool.connection() as connection:
            stopped = await _one(connection, sql.STOP, {"id": id}) is not None
            await self._ask(connection, notice)
        return stopped

    async def delete(self, id: UUID) -> None:
        """Forget a digest."""
        await self._execute(sql.DELETE, {"id": id})

    async def end(self, id: UUID, notice: NewQuestion) -> bool:
        """Forget a digest, and ask the question that says why, in one transaction; False when there is none."""
        async with self._pool.connection() as connection:
            ended = await _one(connection, sql.DELETE, {"id": id}) is not None
            if ended:
                await self._ask(connection, notice)
        return ended

    async def run_due(self, plan: Callable[[Digest], Planned], *, now: datetime) -> UUID | None:
        """Begin one run that is due, in one transaction with its question; None when nothing is.

        However many processes ask at once, a slot has one run; and where a run still waits for a worker, it stands for
        all that came due since. Returns the digest's id.
        """
        async with self._pool.connection() as connection:
            row = await _one(connection, sql.DUE, {"now": now})
            if row is None:
                return None
            planned = plan(_digest(row))
            if await _one(connection, sql.WAITING, {"id": row["id"]}) is None:
                await self._begin(connection, row["id"], planned.slot, planned.question)
            await connection.execute(sql.ADVANCE, {"id": row["id"], "next_at": planned.next_at})
        return UUID(str(row["id"]))

    async def set_right(self, next_at: Callable[[Digest], datetime], *, now: datetime) -> UUID | None:
        """Say anew when one digest is due that was put off too far, as by a process whose clock is ahead.

        Returns the digest's id, None when there is none.
        """
        async with self._pool.connection() as connection:
            row = await _one(connection, sql.ASTRAY, {"now": now})
            if row is None:
                return None
            await connection.execute(sql.ADVANCE, {"id": row["id"], "next_at": next_at(_digest(row))})
        return UUID(str(row["id"]))

    async def run_now(self, id: UUID, question: NewQuestion, *, now: datetime) -> bool:
        """Begin a run that its owner asked for, or has so already; False while another one goes on."""
        async with self._pool.connection() as connection:
            there = await _one(connection, sql.LOCK, {"id": id}) is not None
            if there and await _one(connection, sql.ASKED, vars(question)):
                return True
            running = await _one(connection, sql.RUNNING, {"id": id}) is not None
            return there and not running and await self._begin(connection, id, now, question)

    async def _begin(
        self, connection: AsyncConnection[DictRow], id: UUID, slot: datetime, question: NewQuestion
    ) -> bool:
        values = {"id": id, "slot": slot, "question_id": question.id}
        return await _one(connection, sql.RUN, values) is not None and await self._ask(connection, question)

    async def _ask(self, connection: AsyncConnection[DictRow], question: NewQuestion) -> bool:
        received = vars(question) | {"text": storable(question.text), "waiting": False}
        if await _one(connection, queries.RECEIVE, received) is None:
            return False
        await self._defer(connection, question.id)
        return True

    async def _execute(self, query: LiteralString, values: Mapping[str, Any]) -> None:
        async with self._pool.connection() as connection:
            await connection.execute(query, values)


async def _one(connection: AsyncConnection[DictRow], query: LiteralString, values: Mapping[str, Any]) -> DictRow | None:
    return await (await connection.execute(query, values)).fetchone()


def _columns(wish: Wish) -> dict[str, Any]:
    schedule = wish.schedule
    return {
        "category": wish.category,
        "topic": storable(wish.topic),
        "days": sorted(schedule.days),
        "at": schedule.at,
        "zone": schedule.zone,
        "silence": sorted(wish.silence),
    }


def _digest(row: Mapping[str, Any]) -> Digest:
    schedule = Schedule(days=frozenset(row["days"]), at=row["at"], zone=row["zone"])
    return Digest(
        id=row["id"],
        number=row["number"],
        owner=Owner(team_id=row["team_id"], user_id=row["user_id"]),
        channel_id=row["channel_id"],
        wish=Wish(category=row["category"], topic=row["topic"], schedule=schedule, silence=frozenset(row["silence"])),
        state=State(row["state"]),
        next_at=row["next_at"],
        runs=row["runs"],
        cost_usd=row["cost_usd"],
        unpriced=row["unpriced"],
    )
