"""The log of attempts: written behind the answers' backs, and patient with a database that is unavailable."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import cast

import pytest
from psycopg import OperationalError
from psycopg.errors import InsufficientPrivilege

from bot.storage.calls import MAX_PENDING, AttemptLog, AttemptStore, TimedAttempt
from perplexity.errors import Attempt

NOW = datetime(2026, 11, 21, tzinfo=UTC)


@dataclass
class Table:
    """Remembers what was written; away as long as `away` says."""

    away: int = 0
    broken: bool = False
    written: list[TimedAttempt] = field(default_factory=list)
    forgotten: int = 0
    slow: float = 0.0
    begun: asyncio.Event = field(default_factory=asyncio.Event)

    async def write(self, attempts: Sequence[TimedAttempt]) -> None:
        self.begun.set()
        await asyncio.sleep(self.slow)
        if self.away:
            self.away -= 1
            raise OperationalError("away")
        if self.broken:
            raise InsufficientPrivilege("no")
        await asyncio.sleep(0)
        self.written += attempts

    async def delete_old(self) -> None:
        self.forgotten += 1


def attempt(number: int) -> Attempt:
    return Attempt(provider=f"P{number}", seconds=1.0, kind="search")


def log(table: Table, *, turns: int = 0) -> AttemptLog:
    """Return a log whose pauses are none, and which is cancelled after so many turns."""
    left = turns

    async def sleep(seconds: float) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise asyncio.CancelledError

    return AttemptLog(attempts=cast("AttemptStore", table), now=lambda: NOW, sleep=sleep)


async def test_attempts_are_written_once() -> None:
    table = Table()
    kept = log(table)
    kept.record(attempt(1))
    await kept.flush()
    await kept.flush()

    assert table.written == [TimedAttempt(at=NOW, attempt=attempt(1))]


async def test_attempts_are_written_in_order_after_a_database_outage() -> None:
    table = Table(away=1)
    kept = log(table)
    kept.record(attempt(1))
    await kept.flush()
    kept.record(attempt(2))
    await kept.flush()

    assert [one.attempt.provider for one in table.written] == ["P1", "P2"]


async def test_of_too_many_the_oldest_are_dropped() -> None:
    kept = log(Table())
    for number in range(MAX_PENDING + 2):
        kept.record(attempt(number))

    assert (len(kept.pending), kept.pending[0].attempt.provider) == (MAX_PENDING, "P2")


async def test_at_the_end_the_last_ones_are_written_and_old_ones_are_forgotten_once_an_hour() -> None:
    table = Table()
    kept = log(table, turns=3_601)
    kept.record(attempt(1))
    with pytest.raises(asyncio.CancelledError):
        await kept.run()

    assert (len(table.written), table.forgotten) == (1, 2)


async def cancelled_until_it_ends(running: asyncio.Task[None], *, every: float) -> float:
    """Cancel again and again, as the process does at the stop; return the seconds that it took."""
    started = asyncio.get_running_loop().time()
    while not running.done():
        running.cancel()
        await asyncio.wait({running}, timeout=every)
    return asyncio.get_running_loop().time() - started


@pytest.mark.parametrize(("away", "slow"), [(0, 0.2), (2, 0.0), (1, 0.1)])
async def test_the_last_ones_survive_a_stop_that_cancels_again_and_again(away: int, slow: float) -> None:
    table = Table(away=away, slow=slow)
    kept = AttemptLog(attempts=cast("AttemptStore", table), seconds=60, now=lambda: NOW)
    kept.record(attempt(1))
    running = asyncio.create_task(kept.run())
    await table.begun.wait()
    kept.record(attempt(2))
    await cancelled_until_it_ends(running, every=0.05)

    assert running.cancelled()
    assert [one.attempt.provider for one in table.written] == ["P1", "P2"]


async def test_a_database_that_stays_away_does_not_keep_the_process_from_stopping() -> None:
    table = Table(away=1_000_000)
    kept = AttemptLog(attempts=cast("AttemptStore", table), seconds=60, now=lambda: NOW, final_seconds=0.3)
    kept.record(attempt(1))
    running = asyncio.create_task(kept.run())
    await table.begun.wait()

    assert 0.2 < await cancelled_until_it_ends(running, every=0.05) < 2


async def test_attempts_noted_while_a_full_log_is_written_are_kept() -> None:
    table = Table()
    kept = log(table)
    for number in range(MAX_PENDING):
        kept.record(attempt(number))
    writing = asyncio.create_task(kept.flush())
    await table.begun.wait()
    kept.record(attempt(-1))
    await writing
    await kept.flush()

    assert (len(table.written), table.written[-1].attempt.provider) == (MAX_PENDING + 1, "P-1")


async def test_a_permanent_database_error_drops_attempts_and_not_the_app() -> None:
    table = Table(broken=True)
    kept = log(table)
    kept.record(attempt(1))
    await kept.flush()

    assert list(kept.pending) == []
