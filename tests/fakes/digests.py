"""Digests as someone asks for them, and a wall clock that only a test moves."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, time, timedelta
from typing import Any
from uuid import UUID

from psycopg import AsyncConnection, OperationalError
from psycopg.rows import DictRow

from bot.features.digests.jobs import StopNotice, parse_notice
from bot.features.digests.model import Digest, DigestLimits, DigestSpec, Owner
from bot.features.digests.store import DigestStore
from bot.model.schedule import DAILY, Schedule, next_slot
from bot.storage.questions import Pool

OWNER = Owner(team_id="T1", user_id="U1")
OTHER_OWNER = Owner(team_id="T1", user_id="U9")
SATURDAY = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


class WallClock:
    """Shows `now`; sleeping moves it."""

    def __init__(self, now: datetime = SATURDAY) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


class FlakyPool:
    """A pool whose database fails once: at this one of its connections, or, if `late`, when its work is done."""

    def __init__(self, pool: Pool, *, at: int, late: bool) -> None:
        self._pool = pool
        self._left = at
        self._late = late

    def __getattr__(self, name: str) -> Any:
        return getattr(self._pool, name)

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[AsyncConnection[DictRow]]:
        self._left -= 1
        away = self._left == 0
        if away and not self._late:
            raise OperationalError
        async with self._pool.connection() as connection:
            yield connection
        if away:
            raise OperationalError

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[AsyncConnection[DictRow]]:
        async with self.connection() as connection, connection.transaction():
            yield connection


async def read_notices(pool: Pool) -> list[StopNotice]:
    """Return what is said, or is going to be, of digests that cannot be posted."""
    async with pool.connection() as connection:
        query = "SELECT text FROM questions WHERE command = 'digest_notice'"
        return [parse_notice(found["text"]) for found in await (await connection.execute(query)).fetchall()]


def make_spec(
    at: str = "9:00",
    *,
    zone: str = "Europe/Berlin",
    days: Iterable[int] = DAILY,
    topic: str = "databases",
    silence: Iterable[int] = (),
) -> DigestSpec:
    hour, minute = map(int, at.split(":"))
    schedule = Schedule(days=frozenset(days), at=time(hour, minute), zone=zone)
    return DigestSpec(category="technology", topic=topic, schedule=schedule, report_empty_on=frozenset(silence))


async def create_digest(digests: DigestStore, id: UUID, spec: DigestSpec, *, now: datetime = SATURDAY) -> Digest:
    """Keep a digest of the owner in the channel C1, due from `now` on."""
    await digests.create(
        spec,
        id=id,
        owner=OWNER,
        channel_id="C1",
        next_at=next_slot(spec.schedule, now),
        limits=DigestLimits(per_user=100, per_channel=100),
    )
    digest = await digests.get(id, now=now)
    assert digest is not None
    return digest
