"""Two tickers on one real Postgres, by a clock that the test moves: every slot once, whatever the clocks do."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime, time, timedelta
from uuid import UUID, uuid4
from zoneinfo import ZoneInfo

import pytest

from bot.features.digests.model import DigestRun, Trigger, parse_run
from bot.features.digests.service import DigestScheduler, seconds_to_next_minute
from bot.features.digests.store import DigestStore
from bot.model.membership import Identity
from bot.model.schedule import DAILY, WEEKDAYS, next_slot
from bot.storage.installation import WorkspaceStore
from bot.storage.questions import Pool, connection_pool
from tests.fakes.time import SATURDAY, WallClock
from tests.features.digests.examples import create_digest, make_spec

ZONES = (
    "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Africa/Cairo", "America/Santiago", "Asia/Kolkata",
)  # fmt: skip
TIMES = ("0:00", "2:15", "9:00")
MINUTE = timedelta(minutes=1)
EARLIEST_MINUTES = 22 * 60
"""Within this time the same clock does not show the same time again, even if it is put forward meanwhile."""


@pytest.fixture
async def pool(database: str) -> AsyncIterator[Pool]:
    async with connection_pool(database) as pool:
        yield pool


@pytest.fixture
async def another_pool(database: str) -> AsyncIterator[Pool]:
    async with connection_pool(database) as pool:
        yield pool


async def runs_of(pool: Pool) -> list[DigestRun]:
    async with pool.connection() as connection:
        rows = await (await connection.execute("SELECT text FROM questions ORDER BY received_at")).fetchall()
    return [parse_run(row["text"]) for row in rows]


async def settle_all(pool: Pool) -> None:
    """Do what the workers do."""
    async with pool.connection() as connection:
        await connection.execute("UPDATE questions SET state = 'answered' WHERE state <> 'answered'")


def readings(zone: str, at: str, *, begin: datetime, days: int) -> Iterator[datetime]:
    """Yield the moments of a daily time as someone finds them who reads a clock on the wall every minute.

    A day's is the first minute in which the clock shows the time or a later one.
    """
    tz = ZoneInfo(zone)
    hour, minute = map(int, at.split(":"))
    wanted = datetime.combine(begin.astimezone(tz).date(), time(hour, minute))
    passed = 0
    while passed < days * 24 * 60:
        moment = begin + passed * MINUTE
        passed += 1
        if moment.astimezone(tz).replace(tzinfo=None) < wanted:
            continue
        wanted += timedelta(days=1)
        if moment > begin:
            yield moment
            passed += EARLIEST_MINUTES


@pytest.mark.parametrize(
    "begin",
    [
        datetime(2026, 3, 1, 12, tzinfo=UTC),
        pytest.param(datetime(2026, 9, 5, 12, tzinfo=UTC), marks=pytest.mark.rare),
    ],
)
async def test_in_sixty_days_with_two_processes_no_slot_is_missed_and_none_is_run_twice(
    pool: Pool, another_pool: Pool, begin: datetime
) -> None:
    clock = WallClock(begin)
    one, other = (DigestScheduler(digests=DigestStore(p), now=clock, sleep=clock.sleep) for p in (pool, another_pool))
    expected: dict[UUID, list[datetime]] = {}
    for zone in ZONES:
        for at in TIMES:
            digest = await create_digest(one.digests, uuid4(), make_spec(at, zone=zone), now=begin)
            expected[digest.id] = list(readings(zone, at, begin=begin, days=60))

    # In every other minute nothing is due, so that a tick there would find nothing.
    for moment in sorted({slot for slots in expected.values() for slot in slots}):
        clock.now = moment
        await asyncio.gather(one.run_once(), other.run_once())
        await settle_all(pool)

    found: dict[UUID, list[datetime]] = {digest_id: [] for digest_id in expected}
    for run in await runs_of(pool):
        found[run.digest_id].append(run.slot)
        assert run.trigger is Trigger.SCHEDULED
    assert {digest_id: sorted(slots) for digest_id, slots in found.items()} == expected


async def test_what_was_missed_is_run_once_and_goes_on_as_usual(pool: Pool) -> None:
    clock = WallClock(SATURDAY)
    ticker = DigestScheduler(digests=DigestStore(pool), now=clock)
    await create_digest(ticker.digests, uuid4(), make_spec("9:00", days=WEEKDAYS))
    clock.now = datetime(2026, 11, 25, 9, 30, tzinfo=UTC)

    counts = [await ticker.run_once(), await ticker.run_once()]
    await settle_all(pool)
    clock.now = datetime(2026, 11, 26, 8, 0, tzinfo=UTC)
    counts.append(await ticker.run_once())

    assert counts == [1, 0, 1]
    monday, wednesday, thursday = (datetime(2026, 11, day, 8, 0, tzinfo=UTC) for day in (23, 25, 26))
    assert [(run.trigger, run.earliest_slot, run.slot) for run in await runs_of(pool)] == [
        (Trigger.SCHEDULED, monday, wednesday),
        (Trigger.SCHEDULED, thursday, thursday),
    ]


async def test_while_no_worker_is_there_one_run_waits_for_all_that_come_due(pool: Pool) -> None:
    clock = WallClock(SATURDAY)
    ticker = DigestScheduler(digests=DigestStore(pool), now=clock)
    digest = await create_digest(ticker.digests, uuid4(), make_spec("9:00"))
    for _ in range(5):
        clock.now += timedelta(days=1)
        await ticker.run_once()
    assert [run.slot for run in await runs_of(pool)] == [digest.next_at]

    await settle_all(pool)
    assert await ticker.run_once() == 0
    clock.now += timedelta(days=1)
    await ticker.run_once()
    assert len(await runs_of(pool)) == 2


@pytest.mark.parametrize(("days", "runs"), [({0}, 2), (WEEKDAYS, 10), (DAILY, 13)])
async def test_a_clock_that_was_ahead_for_one_tick_silences_no_digest(pool: Pool, days: set[int], runs: int) -> None:
    clock = WallClock(SATURDAY + timedelta(days=400))
    ticker = DigestScheduler(digests=DigestStore(pool), now=clock)
    digest = await create_digest(ticker.digests, uuid4(), make_spec("9:00", days=days))
    await ticker.run_once()
    await settle_all(pool)

    begun = 0
    for passed in range(14):
        clock.now = SATURDAY + timedelta(days=passed)
        begun += await ticker.run_once()
        await settle_all(pool)

    kept_still = await ticker.digests.get(digest.id, now=clock.now)
    assert kept_still is not None
    assert begun == runs
    assert kept_still.next_at == next_slot(digest.spec.schedule, clock.now)


async def test_many_that_are_due_at_once_are_shared_out(pool: Pool, another_pool: Pool) -> None:
    clock = WallClock(SATURDAY)
    tickers = [DigestScheduler(digests=DigestStore(p), now=clock) for p in (pool, another_pool) * 2]
    ids = [(await create_digest(tickers[0].digests, uuid4(), make_spec())).id for _ in range(30)]
    clock.now += timedelta(days=1)

    counts = await asyncio.gather(*(ticker.run_once() for ticker in tickers))

    assert sum(counts) == 30
    assert Counter(run.digest_id for run in await runs_of(pool)) == Counter(ids)


async def test_where_digests_are_switched_off_none_runs_until_they_are_on_again(pool: Pool) -> None:
    clock = WallClock(SATURDAY)
    digests = DigestStore(pool)
    await create_digest(digests, uuid4(), make_spec("9:00"))
    clock.now += timedelta(days=2)

    assert await DigestScheduler(digests=digests, now=clock, disabled=True).run_once() == 0
    assert await runs_of(pool) == []
    assert await DigestScheduler(digests=digests, now=clock).run_once() == 1


@pytest.mark.parametrize(("installation", "runs"), [(None, 0), ("T0PLAYGROUND", 0), ("T1", 1)])
async def test_only_the_digests_of_its_own_installation_are_begun(
    pool: Pool, installation: str | None, runs: int
) -> None:
    clock, digests = WallClock(SATURDAY), DigestStore(pool)
    for team in ("T1", "T0PLAYGROUND"):
        await WorkspaceStore(pool).save(Identity(team_id=team), token_hash=team)
    await create_digest(digests, uuid4(), make_spec("9:00"))
    clock.now += timedelta(days=2)

    assert await DigestScheduler(digests=digests, now=clock, installed=lambda: installation).run_once() == runs
    assert len(await runs_of(pool)) == runs


async def test_the_scheduler_survives_a_database_outage(pool: Pool) -> None:
    clock, slept = WallClock(SATURDAY + timedelta(seconds=7)), asyncio.Event()

    async def sleep(seconds: float) -> None:
        await clock.sleep(seconds)
        slept.set()
        await asyncio.Event().wait()

    await pool.close()
    ticking = asyncio.create_task(DigestScheduler(digests=DigestStore(pool), now=clock, sleep=sleep).run())
    await asyncio.wait_for(slept.wait(), 60)
    ticking.cancel()

    assert clock.now == SATURDAY + timedelta(minutes=1)


@pytest.mark.parametrize(("second", "left"), [(0, 60.0), (0.25, 59.75), (59.5, 0.5)])
def test_a_tick_comes_at_the_beginning_of_a_minute(second: float, left: float) -> None:
    assert seconds_to_next_minute(SATURDAY + timedelta(seconds=second)) == left
