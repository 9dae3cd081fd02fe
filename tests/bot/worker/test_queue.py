"""The job engine: how its worker ends, whose jobs the sweep takes, and what a lost database does not do."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from time import monotonic
from typing import LiteralString, cast
from uuid import UUID, uuid4

import pytest
from procrastinate import App, PsycopgConnector
from procrastinate.jobs import Job, Notification
from psycopg import AsyncConnection
from psycopg.conninfo import conninfo_to_dict
from psycopg.errors import DiskFull

from bot.clock import utc_now
from bot.errors import NotOurs
from bot.model.question import NewQuestion
from bot.storage.questions import IDLE_SECONDS, DatabaseRetry, Pool, QuestionStore, connection_pool
from bot.worker.queue import POLL_SECONDS, TAKEN_AT_ONCE, Heartbeats, JobQueue, RequeueOnShutdown, RetryingJobManager
from tests.fakes.databases import FlakyPool
from tests.fakes.rows import claim
from tests.rare import one_in

CONNECTIONS = 3


async def _nothing(question: UUID, job: int | None) -> bool:
    """Answer a question that no one asked."""
    return False


@pytest.mark.parametrize("ticks", one_in(4, range(16)))
async def test_stopped_while_it_is_handed_a_connection__the_worker_ends(database: str, ticks: int) -> None:
    async with connection_pool(database, size=CONNECTIONS) as pool:
        jobs = JobQueue(pool)
        await jobs.open()
        jobs.register_handler(_nothing)
        async with AsyncExitStack() as others:
            for _ in range(CONNECTIONS):
                await others.enter_async_context(pool.connection())
            working = asyncio.create_task(jobs.work(drain_seconds=1))
            for _ in range(10):
                await asyncio.sleep(0)
            assert pool.get_stats()["requests_waiting"] == 1
        for _ in range(ticks):
            await asyncio.sleep(0)
        working.cancel()

        ended, _ = await asyncio.wait({working}, timeout=10)

    assert ended == {working}
    assert working.cancelled()


BEAT = datetime(2026, 11, 22, 10, 0, tzinfo=UTC)


def found_dead(heartbeats: Heartbeats, times: Iterable[float], beat: Callable[[float], datetime]) -> list[bool]:
    """Look at one worker's heartbeat at these moments, and return at which of them it was found dead."""
    return [bool(heartbeats.dead({1: beat(now)}, now=now)) for now in times]


def test_a_worker_is_dead_after_nine_seconds_in_which_its_heartbeat_was_watched() -> None:
    assert found_dead(Heartbeats(), [0, 3, 6, 9, 12], lambda _: BEAT) == [False, False, False, True, True]


def test_a_worker_whose_heartbeat_goes_on_is_alive_however_old_it_looks() -> None:
    slow = found_dead(
        Heartbeats(), range(0, 60, 3), lambda now: BEAT - timedelta(hours=1) + timedelta(seconds=now // 6 * 6)
    )

    assert not any(slow)


def test_after_the_database_was_away_every_worker_is_watched_anew() -> None:
    heartbeats = Heartbeats()
    found_dead(heartbeats, [0, 3, 6], lambda _: BEAT)

    assert found_dead(heartbeats, [40, 43, 46], lambda _: BEAT) == [False, False, False]
    assert found_dead(heartbeats, [49], lambda _: BEAT) == [True]


def test_looking_seldom_proves_nothing() -> None:
    assert not any(found_dead(Heartbeats(), range(0, 200, 8), lambda _: BEAT))


@dataclass(kw_only=True)
class Queue:
    """Two processes' job engines over one database; `asked` holds every question that was worked on."""

    database: str
    pool: Pool
    now: float = 0.0
    asked: list[UUID] = field(default_factory=list)
    hold: asyncio.Event = field(default_factory=asyncio.Event)

    async def process(self) -> tuple[JobQueue, QuestionStore]:
        jobs = JobQueue(self.pool, clock=lambda: self.now)
        await jobs.open()
        jobs.register_handler(self.answer)
        return jobs, QuestionStore(self.pool)

    async def answer(self, question_id: UUID, job: int | None) -> bool:
        self.asked.append(question_id)
        await self.hold.wait()
        async with self.pool.connection() as connection:
            await connection.execute("UPDATE questions SET state = 'answered' WHERE id = %s", [question_id])
        return False

    async def jobs(self) -> list[tuple[str, int | None]]:
        """Return the state and the owner of each job."""
        async with self.pool.connection() as connection:
            rows = await (
                await connection.execute("SELECT status::text, worker_id FROM procrastinate_jobs ORDER BY id")
            ).fetchall()
        return [(row["status"], row["worker_id"]) for row in rows]

    async def execute(self, query: LiteralString) -> None:
        async with self.pool.connection() as connection:
            await connection.execute(query)

    async def sweep(self, *processes: tuple[JobQueue, QuestionStore], seconds: float = 30) -> None:
        """Let processes sweep for some seconds of their clock, all at once each time."""
        for _ in range(int(seconds // 3)):
            self.now += 3
            await asyncio.gather(*(jobs.recover_stalled_once(questions) for jobs, questions in processes))


@pytest.fixture
async def queue(database: str) -> AsyncIterator[Queue]:
    async with connection_pool(database, seconds=10) as pool:
        yield Queue(database=database, pool=pool)


def question(user: str = "U1") -> NewQuestion:
    number = uuid4()
    return NewQuestion(
        id=number,
        delivery_key=str(number),
        surface="slash",
        command="ask",
        text="why",
        team_id="T1",
        channel_id="C1",
        user_id=user,
    )


async def give_jobs_to_dead_worker(queue: Queue) -> None:
    """Let a worker that will not be heard of again take every job."""
    await queue.execute("INSERT INTO procrastinate_workers DEFAULT VALUES")
    await queue.execute(
        "UPDATE procrastinate_jobs SET status = 'doing', worker_id = (SELECT max(id) FROM procrastinate_workers)"
    )


async def test_two_sweeps_give_a_dead_worker_s_job_one_successor(queue: Queue) -> None:
    one, two = await queue.process(), await queue.process()
    for user in ("U1", "U2", "U3"):
        await one[1].insert(question(user))
    await give_jobs_to_dead_worker(queue)

    await queue.sweep(one, two)

    assert await queue.jobs() == [("todo", None)] * 3


async def test_two_sweeps_enqueue_a_question_without_a_job_once(queue: Queue) -> None:
    one, two = await queue.process(), await queue.process()
    for user in ("U1", "U2", "U3"):
        await one[1].insert(question(user))
    await queue.execute("DELETE FROM procrastinate_jobs")
    await queue.execute("UPDATE questions SET received_at = received_at - interval '1 minute'")

    await queue.sweep(one, two)

    assert await queue.jobs() == [("todo", None)] * 3


async def test_a_worker_that_wakes_up_cannot_finish_the_job_of_the_one_that_took_over(queue: Queue) -> None:
    jobs, questions = await queue.process()
    await questions.insert(question())
    working = asyncio.create_task(jobs.work(drain_seconds=5))
    await wait_until(lambda: bool(queue.asked))
    # Its heartbeat stays as it was: suspended, it would send none.
    await queue.execute("UPDATE procrastinate_workers SET last_heartbeat = 'epoch'")
    await queue.execute("CREATE RULE silence AS ON UPDATE TO procrastinate_workers DO INSTEAD NOTHING")
    await queue.sweep((jobs, questions), seconds=12)
    await wait_until(lambda: len(queue.asked) == 2)
    queue.hold.set()
    working.cancel()
    await asyncio.wait({working})

    assert len(set(queue.asked)) == 1
    assert await queue.jobs() == []


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("at", [1, 2, 3, 4])
async def test_whichever_query_of_the_engine_loses_its_reply__each_question_is_worked_on_once(
    queue: Queue, at: int, late: bool
) -> None:
    _, questions = await queue.process()
    for user in ("U1", "U2"):
        await questions.insert(question(user))
    queue.hold.set()
    flickering = JobQueue(cast("Pool", FlakyPool(queue.pool, at=at, late=late)))
    await flickering.open()
    flickering.register_handler(queue.answer)
    working = asyncio.create_task(flickering.work(drain_seconds=5))

    await until_async(queue.jobs, [])
    working.cancel()
    await asyncio.wait({working})
    assert len(queue.asked) == len(set(queue.asked)) == 2


async def test_the_database_goes_away_and_a_question_in_work_is_neither_cancelled_nor_asked_again(
    queue: Queue, postgres: str
) -> None:
    jobs, questions = await queue.process()
    queue.now = 0.0
    await questions.insert(question())
    working = asyncio.create_task(jobs.work(drain_seconds=5))
    await wait_until(lambda: bool(queue.asked))
    name = conninfo_to_dict(queue.database)["dbname"]
    async with await AsyncConnection.connect(postgres, autocommit=True) as admin:
        await admin.execute(f"ALTER DATABASE {name} WITH ALLOW_CONNECTIONS false".encode())
        for _ in range(10):
            await admin.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [name])
            await asyncio.sleep(0.3)
        await admin.execute(f"ALTER DATABASE {name} WITH ALLOW_CONNECTIONS true".encode())
    back = monotonic()
    database_retry = DatabaseRetry(seconds=20)
    await database_retry(lambda: questions.insert(question("U2")))
    accepted = monotonic() - back
    await wait_until(lambda: len(queue.asked) == 2)
    queue.hold.set()
    await until_async(queue.jobs, [])
    working.cancel()
    await asyncio.wait({working})

    assert len(set(queue.asked)) == 2
    assert accepted < 2


async def wait_until(holds: Callable[[], bool], *, seconds: float = 60) -> None:
    async with asyncio.timeout(seconds):
        while not holds():  # noqa: ASYNC110 - the database says nothing of itself
            await asyncio.sleep(0.02)


async def until_async(read: Callable[[], Awaitable[object]], expected: object, *, seconds: float = 60) -> None:
    async with asyncio.timeout(seconds):
        while await read() != expected:  # noqa: ASYNC110 - the database says nothing of itself
            await asyncio.sleep(0.05)


async def test_a_worker_that_drains_shows_that_it_is_alive(queue: Queue) -> None:
    jobs, questions = await queue.process()
    await questions.insert(question())
    working = asyncio.create_task(jobs.work(drain_seconds=15))
    await wait_until(lambda: bool(queue.asked))
    working.cancel()
    async with queue.pool.connection() as connection:
        await connection.execute("UPDATE procrastinate_workers SET last_heartbeat = 'epoch'")
    await until_async(partial(_count, queue, "last_heartbeat > now() - interval '5 seconds'"), 1)
    queue.hold.set()
    await asyncio.wait({working})

    assert await queue.jobs() == []


async def test_a_worker_whose_row_is_gone_registers_again_and_keeps_its_jobs(queue: Queue) -> None:
    jobs, questions = await queue.process()
    await questions.insert(question())
    working = asyncio.create_task(jobs.work(drain_seconds=5))
    await wait_until(lambda: bool(queue.asked))
    # As the version before does at its start, after the database was unavailable.
    await queue.execute("DELETE FROM procrastinate_workers")
    orphaned = await queue.jobs()
    await queue.sweep((jobs, questions), seconds=6)
    await until_async(partial(_count, queue, "EXISTS (SELECT 1 FROM procrastinate_jobs j WHERE j.worker_id = w.id)"), 1)
    queue.hold.set()
    await until_async(queue.jobs, [])
    working.cancel()
    await asyncio.wait({working})

    assert (orphaned, len(queue.asked)) == ([("doing", None)], 1)


async def test_a_job_in_work_without_an_owner_gets_a_successor(queue: Queue) -> None:
    process = await queue.process()
    await process[1].insert(question())
    await queue.execute("UPDATE procrastinate_jobs SET status = 'doing'")

    await queue.sweep(process)

    assert await queue.jobs() == [("todo", None)]


async def test_a_disk_that_was_full_makes_no_worker_dead(queue: Queue) -> None:
    process = await queue.process()
    await process[1].insert(question())
    await give_jobs_to_dead_worker(queue)
    await queue.sweep(process, seconds=3)
    await queue.execute(
        "CREATE FUNCTION no_space() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
        " RAISE EXCEPTION USING ERRCODE = '53100', MESSAGE = 'No space left on device'; END $$"
    )
    await queue.execute(
        "CREATE TRIGGER no_space BEFORE UPDATE ON procrastinate_workers FOR EACH ROW EXECUTE FUNCTION no_space()"
    )
    for _ in range(5):
        with pytest.raises(DiskFull):
            await queue.sweep(process, seconds=3)
    await queue.execute("DROP FUNCTION no_space() CASCADE")
    await queue.sweep(process, seconds=6)
    kept = await queue.jobs()
    await queue.sweep(process, seconds=9)

    assert [status for status, _ in kept] == ["doing"]
    assert await queue.jobs() == [("todo", None)]


async def _count(queue: Queue, condition: LiteralString) -> int:
    async with queue.pool.connection() as connection:
        query = "SELECT count(*) FROM procrastinate_workers w WHERE " + condition  # noqa: S608 - this file's own
        row = await (await connection.execute(query)).fetchone()
    return int(row["count"]) if row else 0


async def test_a_database_that_takes_no_writes_for_a_moment_ends_no_worker(queue: Queue, postgres: str) -> None:
    jobs, questions = await queue.process()
    queue.hold.set()
    await questions.insert(question())
    name = conninfo_to_dict(queue.database)["dbname"]
    async with await AsyncConnection.connect(postgres, autocommit=True) as admin:
        await admin.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on".encode())
        await admin.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [name])
        working = asyncio.create_task(jobs.work(drain_seconds=5))
        sweeping = asyncio.create_task(jobs.recover_stalled(questions))
        done, _ = await asyncio.wait({working, sweeping}, timeout=4)
        await admin.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = off".encode())
        await admin.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [name])
    await wait_until(lambda: bool(queue.asked))
    working.cancel()
    sweeping.cancel()
    await asyncio.wait({working, sweeping})

    assert (done, len(queue.asked)) == (set(), 1)


async def test_a_transaction_that_is_left_open_ends_and_keeps_nothing_locked(queue: Queue) -> None:
    async with queue.pool.connection() as connection:
        row = await (await connection.execute("SHOW idle_in_transaction_session_timeout")).fetchone()

    assert row == {"idle_in_transaction_session_timeout": f"{IDLE_SECONDS}s"}


async def test_a_job_that_this_version_cannot_do_waits_in_the_queue_for_another(database: str) -> None:
    looked = asyncio.Event()
    times = 0

    async def unknown(question: UUID, job: int | None) -> bool:
        nonlocal times
        times += 1
        looked.set()
        raise NotOurs("later")

    async with connection_pool(database, size=CONNECTIONS) as pool:
        jobs = JobQueue(pool)
        await jobs.open()
        jobs.register_handler(unknown)
        await QuestionStore(pool).insert(question())
        working = asyncio.create_task(jobs.work(drain_seconds=1))
        async with asyncio.timeout(60):
            await looked.wait()
            while True:
                async with pool.connection() as connection:
                    found = await connection.execute(
                        "SELECT status, scheduled_at > now() AS later FROM procrastinate_jobs"
                    )
                    rows = await found.fetchall()
                if rows and rows[0]["status"] == "todo":
                    break
                await asyncio.sleep(0.02)
        working.cancel()
        await asyncio.wait({working}, timeout=10)

    assert (rows, times) == ([{"status": "todo", "later": True}], 1)


async def manager_of(queue: Queue, *, now: Callable[[], datetime] = utc_now) -> RetryingJobManager:
    app = App(connector=PsycopgConnector())
    await app.connector.open_async(queue.pool)
    return RetryingJobManager(app.connector, at_once=100, now=now)


async def fetch_jobs(manager: RetryingJobManager, worker: int) -> list[Job]:
    """Fetch jobs until the worker is told that there is none."""
    jobs: list[Job] = []
    while (job := await manager.fetch_job(None, worker)) is not None:
        jobs.append(job)
    return jobs


@pytest.mark.parametrize("count", [0, 1, TAKEN_AT_ONCE, 2 * TAKEN_AT_ONCE + 3])
async def test_every_waiting_job_is_taken_once_in_the_order_of_the_queue(queue: Queue, count: int) -> None:
    _, questions = await queue.process()
    asked = [question(f"U{n}") for n in range(count)]
    for one in asked:
        await questions.insert(one)
    manager = await manager_of(queue)
    worker = await manager.register_worker()

    jobs = await fetch_jobs(manager, worker)

    assert [job.task_kwargs["question_id"] for job in jobs] == [str(one.id) for one in asked]
    assert sorted(manager.running) == sorted(job.id or 0 for job in jobs)
    assert await queue.jobs() == [("doing", worker)] * count


async def test_a_job_that_is_added_without_a_listener_is_found_at_the_next_poll(queue: Queue) -> None:
    _, questions = await queue.process()
    await questions.insert(question("U1"))
    manager = await manager_of(queue)
    worker = await manager.register_worker()
    first = await manager.fetch_job(None, worker)
    await questions.insert(question("U2"))

    unheard, polled = await fetch_jobs(manager, worker), await fetch_jobs(manager, worker)

    assert first is not None
    assert (unheard, len(polled)) == ([], 1)


async def test_a_job_that_is_announced_is_taken_without_a_poll(queue: Queue) -> None:
    _, questions = await queue.process()
    await questions.insert(question("U1"))
    manager, heard = await manager_of(queue), asyncio.Event()
    worker = await manager.register_worker()

    async def announced(*, channel: str, notification: Notification) -> None:
        heard.set()

    listening = asyncio.create_task(manager.listen_for_jobs(on_notification=announced))
    await until_async(partial(_count_listeners, queue), 1)
    first = await manager.fetch_job(None, worker)
    await questions.insert(question("U2"))
    async with asyncio.timeout(60):
        await heard.wait()
    second = await fetch_jobs(manager, worker)
    listening.cancel()
    await asyncio.wait({listening})

    assert first is not None
    assert len(second) == 1


async def _count_listeners(queue: Queue) -> int:
    query = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND query ILIKE 'LISTEN %'"
    async with queue.pool.connection() as connection:
        row = await (await connection.execute(query)).fetchone()
    return int(row["count"]) if row else 0


async def test_a_job_that_comes_back_is_due_by_the_database_s_clock(queue: Queue) -> None:
    def an_hour_ahead() -> datetime:
        return utc_now() + timedelta(hours=1)

    _, questions = await queue.process()
    await questions.insert(question())
    manager = await manager_of(queue, now=an_hour_ahead)
    [job] = await fetch_jobs(manager, await manager.register_worker())

    await manager.retry_job(job, retry_at=an_hour_ahead() + timedelta(seconds=5))

    row = await queue.pool.fetch_one("SELECT scheduled_at < now() + interval '1 hour' AS soon FROM procrastinate_jobs")
    assert (row, manager.running) == ({"soon": True}, [])


async def test_jobs_that_were_taken_and_not_begun_go_back_when_their_worker_ends(queue: Queue) -> None:
    _, questions = await queue.process()
    for user in ("U1", "U2", "U3"):
        await questions.insert(question(user))
    manager = await manager_of(queue)
    worker = await manager.register_worker()
    begun = await manager.fetch_job(None, worker)

    await manager.unregister_worker(worker)

    assert begun is not None
    assert (await queue.jobs(), manager.running) == ([("doing", None), ("todo", None), ("todo", None)], [begun.id])


async def test_a_job_that_was_removed_with_the_end_of_its_question_is_done(queue: Queue) -> None:
    jobs, questions, done = JobQueue(queue.pool), QuestionStore(queue.pool), asyncio.Event()
    await jobs.open()

    async def answer(question_id: UUID, job: int | None) -> bool:
        row = await claim(questions, question_id)
        assert row is not None
        removed = await questions.settle(row, "answered", job=job) is not None
        done.set()
        return removed

    jobs.register_handler(answer)
    await questions.insert(question())
    working = asyncio.create_task(jobs.work(drain_seconds=5))
    async with asyncio.timeout(60):
        await done.wait()
    working.cancel()
    await asyncio.wait({working})

    assert await queue.jobs() == []


def test_two_processes_that_look_at_the_same_pace_change_their_order_for_what_only_one_can_do() -> None:
    job = Job(id=1, queue="default", lock=None, queueing_lock=None, task_name="t")

    soon = RequeueOnShutdown(chance=lambda: 0.0).get_retry_decision(exception=NotOurs("later"), job=job)
    late = RequeueOnShutdown(chance=lambda: 1.0).get_retry_decision(exception=NotOurs("later"), job=job)

    times = [one.retry_at for one in (soon, late) if one is not None and one.retry_at is not None]
    assert (times[1] - times[0]).total_seconds() >= 2 * POLL_SECONDS - 0.1
