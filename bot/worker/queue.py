"""The job engine: one kind of job, which carries a question's id and nothing else.

A job returns to the queue if a shutdown cancelled it, if its worker died, or if another process or a later try has to
do it. A job whose answer failed does not return, since the asker has been told by then.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Mapping
from datetime import datetime
from functools import partial
from random import random
from time import monotonic
from typing import TypeVar
from uuid import UUID

from procrastinate import App, BaseRetryStrategy, PsycopgConnector, RetryDecision
from procrastinate.connector import BaseConnector
from procrastinate.exceptions import ConnectorException
from procrastinate.job_context import JobContext
from procrastinate.jobs import Job, Notification, Status
from procrastinate.manager import JobManager, NotificationCallback
from procrastinate.worker import Worker
from psycopg import AsyncConnection
from psycopg.errors import RaiseException
from psycopg.rows import DictRow

from bot.clock import utc_now
from bot.errors import NotClearedUp, NotOurs
from bot.storage import queries
from bot.storage.calls import HeldTurn, holding
from bot.storage.database import DATABASE_UNAVAILABLE, DRIVER_UNAVAILABLE
from bot.storage.questions import Pool, QuestionStore, is_pooled

T = TypeVar("T")
log = logging.getLogger(__name__)

QUEUE_UNAVAILABLE = (*DATABASE_UNAVAILABLE, ConnectorException)
"""The errors of an unavailable database, including those of the job engine."""

HEARTBEAT_SECONDS = 3.0
HEARTBEAT_AGAIN_SECONDS = 0.5
"""The pause after a heartbeat that failed."""

STALLED_AFTER_SECONDS = 9.0
RECOVERY_SECONDS = 3.0
"""The pause between two checks for dead workers.

A dead worker's jobs are requeued within 15 seconds: `HEARTBEAT_SECONDS`, `STALLED_AFTER_SECONDS` and this pause.
"""

MAX_GAP_SECONDS = 2 * RECOVERY_SECONDS + 1
"""After a longer gap between two checks, this process cannot know whether workers were alive in between."""

POLL_SECONDS = 0.5
"""The longest pause between two checks for jobs, since a notice of a new job can be missed during a check."""

SPREAD = 0.3
"""The largest share of `POLL_SECONDS` by which the pause is shortened at random.

A wait for a turn is lengthened at random by up to 0.03 seconds, a tenth of this number. Otherwise, of two processes
with the same pace, the same one would always be first.
"""

TAKEN_AT_ONCE = 8
"""The most jobs fetched in one query, so that the work does not wait for one query per job."""

MAX_PAUSE_SECONDS = 1.0

FOREVER_SECONDS = 1e9

NO_WORKER = 0
"""The worker's id that `_HEARTBEATS` returns for jobs without a worker."""

STOP_SECONDS = 3.0
"""How long a stopping worker may take to return its jobs after `drain_seconds`; the database may be unavailable."""

NOT_OURS_SECONDS = 5
"""How long a question that only another process can answer stays in the queue before the next attempt.

A random part of a second is added; otherwise, of two processes with the same pace, the wrong one might always be first.
"""


class RequeueOnShutdown(BaseRetryStrategy):
    """Returns a job to the queue if a shutdown cancelled it, another process must do it, or clearing up is unfinished.

    After any other error, the job is not returned. `chance` returns a number from 0 to 1.
    """

    def __init__(self, *, chance: Callable[[], float] = random) -> None:
        super().__init__()
        self._chance = chance

    def get_retry_decision(self, *, exception: BaseException, job: Job) -> RetryDecision | None:
        """Decide by the exception alone; the number of returns is counted on the question's row."""
        if isinstance(exception, NotOurs):
            return RetryDecision(retry_in={"milliseconds": int(1000 * (NOT_OURS_SECONDS + self._chance()))})
        if isinstance(exception, NotClearedUp):
            return RetryDecision(retry_in={"seconds": math.ceil(exception.seconds)})
        return RetryDecision() if isinstance(exception, asyncio.CancelledError) else None


class RetryingJobManager(JobManager):
    """The job engine's access to the database; it waits for an unavailable database instead of failing.

    procrastinate's worker ends when one of its queries fails, and cancels its running jobs. Here each query is repeated
    until the database is back, or until `stopping` is set. Repeating is safe. If the confirmation of a fetch was lost,
    the fetched jobs return to the queue. If a job to finish is missing, it was finished before, or was given to another
    worker.
    """

    def __init__(self, connector: BaseConnector, *, at_once: int, now: Callable[[], datetime] = utc_now) -> None:
        super().__init__(connector)
        self._at_once = at_once
        self._now = now
        self._running: set[int] = set()
        self._taken: deque[Job] = deque()
        self._removed: set[int] = set()
        self._empty = False
        self._fetching = asyncio.Lock()
        self._reply_awaited = False
        self._turns: dict[int, HeldTurn] = {}
        self._wake: asyncio.TimerHandle | None = None
        self._waking: asyncio.Task[None] | None = None
        self.listens = True
        self.chance: Callable[[], float] = random
        self._notify: NotificationCallback | None = None
        self.stopping = False

    async def fetch_job(self, queues: Iterable[str] | None, worker_id: int) -> Job | None:
        """Return the next job, None if there is none; one query fetches several jobs.

        procrastinate's worker calls this until it gets None. If the last query returned fewer jobs than it asked for,
        and no new job was announced since, this returns None without another query.
        """
        if not self._taken and not self._empty:
            await self._take(worker_id)
        if self._taken:
            return self._taken.popleft()
        self._empty = False
        return None

    async def finish_job(self, job: Job, status: Status, delete_job: bool) -> None:
        """Remove a finished job, unless it was already removed when its question was settled."""
        if job.id in self._removed:
            self._removed.discard(job.id)
            self._running.discard(job.id)
        else:
            await self._end(job, partial(super().finish_job, job, status, delete_job))

    def turn_of(self, job: Job) -> HeldTurn:
        """Return the turn that was fetched with a job; from the second call for the job on, return an empty turn."""
        return self._turns.pop(job.id or 0, None) or HeldTurn()

    def removed(self, job: Job) -> None:
        """Note that a job is no longer in the database, so that `finish_job` need not remove it."""
        self._removed.add(job.id or 0)

    async def retry_job(
        self,
        job: Job,
        retry_at: datetime | None = None,
        priority: int | None = None,
        queue: str | None = None,
        lock: str | None = None,
    ) -> None:
        """Return a job to the queue; the pause until `retry_at` counts by the database's clock, not this machine's."""
        pause = (retry_at - self._now()).total_seconds() if retry_at is not None else 0.0
        retry = partial(super().retry_job, job, priority=priority, queue=queue, lock=lock)
        await self._end(job, partial(self._retry, retry, pause))

    async def listen_for_jobs(
        self, *, on_notification: NotificationCallback, queues: Iterable[str] | None = None
    ) -> None:
        """Listen for new jobs, on a new connection whenever the previous one is lost; through a pooler, do nothing."""

        async def announced(*, channel: str, notification: Notification) -> None:
            self._empty = False
            await on_notification(channel=channel, notification=notification)

        self._notify = on_notification
        if not self.listens:
            await asyncio.Event().wait()
        await self._with_retry(partial(super().listen_for_jobs, on_notification=announced, queues=queues))

    async def unregister_worker(self, worker_id: int) -> None:
        """Remove a worker that ends; jobs that it has fetched but not begun return to the queue."""
        if self._taken or self._reply_awaited:
            self._forget_taken()
            await self._with_retry(partial(self._return_unknown, worker_id))
        await self._with_retry(partial(super().unregister_worker, worker_id))

    async def return_unknown(self, worker_id: int) -> None:
        """Return jobs to the queue that a worker owns but does not run, because the reply to its fetch was lost."""
        if not self._fetching.locked():
            async with self._fetching:
                await self._return_unknown(worker_id)

    @property
    def running(self) -> list[int]:
        """Return the ids of the jobs that were fetched and have not ended."""
        return list(self._running)

    def _wake_in(self, seconds: float) -> None:
        """Make the worker check for jobs again in about `seconds`, when a lane allows the next call."""
        if self._wake is not None:
            self._wake.cancel()
        self._wake = asyncio.get_running_loop().call_later(seconds + 0.1 * SPREAD * self.chance(), self._look_again)

    def _look_again(self) -> None:
        self._empty = False
        if self._notify is not None and not self.stopping:
            self._waking = asyncio.ensure_future(
                self._notify(channel="", notification={"type": "job_inserted", "job_id": 0})
            )

    async def _take(self, worker_id: int) -> None:
        """Fetch as many jobs as can be begun. If the reply is lost, the next heartbeat returns them to the queue."""
        async with self._fetching:
            if self._taken:
                return
            self._empty = True
            most = max(1, min(TAKEN_AT_ONCE, self._at_once - len(self._running)))
            take = partial(self.connector.execute_query_all_async, _TAKE_NEXT, worker_id=worker_id, most=most)
            self._reply_awaited = True
            rows = await self._with_retry(take)
            self._reply_awaited = False
            if rows and (wait := rows.pop()["wait"]) is not None:
                self._wake_in(wait)
            self._running.update(row["id"] for row in rows)
            for row in rows:
                self._turns[row["id"]] = HeldTurn(lane=row["queue_name"], id=row["turn"])
            self._taken.extend(map(Job.from_row, rows))
            if len(rows) == most:
                self._empty = False

    def _forget_taken(self) -> None:
        self._running.difference_update(job.id or 0 for job in self._taken)
        self._taken.clear()
        self._empty = False

    async def _end(self, job: Job, end: Callable[[], Awaitable[None]]) -> None:
        try:
            await self._with_retry(end)
        except ConnectorException as error:
            if not isinstance(error.__cause__, RaiseException):
                raise
            log.info("job.gone", extra={"question": job.task_kwargs.get("question_id")})
        finally:
            self._running.discard(job.id or 0)

    async def _retry(self, retry: Callable[..., Awaitable[None]], pause: float) -> None:
        due = await self.connector.execute_query_one_async(_DUE, pause=pause)
        await retry(retry_at=due["at"])

    async def _return_unknown(self, worker_id: int) -> None:
        await self.connector.execute_query_async(_RETURN_UNKNOWN, worker_id=worker_id, running=list(self._running))

    async def _with_retry(self, query: Callable[[], Awaitable[T]]) -> T:
        pause = 0.1
        while True:
            try:
                return await query()
            except ConnectorException as error:
                if self.stopping or not isinstance(error.__cause__, DRIVER_UNAVAILABLE):
                    raise
                log.warning("queue.away", extra={"error": type(error.__cause__).__name__})
            await asyncio.sleep(pause)
            pause = min(MAX_PAUSE_SECONDS, pause * 2)


class Heartbeats:
    """Finds dead workers by watching their heartbeats.

    A worker is dead when its heartbeat has not changed for `STALLED_AFTER_SECONDS` during which this process has
    checked repeatedly. Comparing a heartbeat with the clock would be wrong: after a database outage, or a suspension of
    this process, every worker's heartbeat is old.
    """

    def __init__(self) -> None:
        self._watched: dict[int, tuple[datetime, float]] = {}
        self._looked = 0.0

    def dead(self, heartbeats: Mapping[int, datetime], *, now: float) -> dict[int, datetime]:
        """Return the dead workers with their heartbeats; `heartbeats` are the current ones, `now` is monotonic."""
        known = self._watched if now - self._looked <= MAX_GAP_SECONDS else {}
        self._looked = now
        self._watched = {
            worker: known[worker] if worker in known and known[worker][0] == beat else (beat, now)
            for worker, beat in heartbeats.items()
        }
        return {worker: beat for worker, (beat, since) in self._watched.items() if now - since >= STALLED_AFTER_SECONDS}


class JobQueue:
    """Works on the jobs of questions, `at_once` of them at a time; the others wait. `clock` is monotonic.

    Heartbeats go over the pool `beats`, so that they never wait for the connections that work needs.
    """

    def __init__(
        self,
        pool: Pool,
        *,
        beats: Pool | None = None,
        at_once: int = 100,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._pool = pool
        self._at_once = at_once
        self._beats = beats or pool
        self._clock = clock
        self._heartbeats = Heartbeats()
        self._app = App(connector=PsycopgConnector())
        self._manager = RetryingJobManager(self._app.connector, at_once=at_once)
        self._app.job_manager = self._manager

    async def open(self) -> None:
        """Share the process's pool with the engine."""
        await self._app.connector.open_async(self._pool)

    def register_handler(self, answer: Callable[[UUID, int | None], Awaitable[bool]]) -> None:
        """Set this process's handler of a question and its job; the handler returns whether it removed the job."""

        async def answer_question(context: JobContext, question_id: str) -> None:
            async with holding(self._pool, self._manager.turn_of(context.job)):
                if await answer(UUID(question_id), context.job.id):
                    self._manager.removed(context.job)

        self._app.task(name=queries.TASK, retry=RequeueOnShutdown(), pass_context=True)(answer_question)

    async def work(self, *, drain_seconds: float) -> None:
        """Work until cancelled; then finish as much as possible in `drain_seconds` and return the rest to the queue."""
        while True:
            try:
                self._manager.listens = await self._listens()
                await self._until_cancelled(self._worker(drain_seconds), drain_seconds)
            except QUEUE_UNAVAILABLE as error:
                log.warning("worker.restarts", extra={"error": type(error).__name__})
            await asyncio.sleep(0.5)

    async def _listens(self) -> bool:
        """Return whether new jobs can be listened for, which is impossible through a pooler.

        The check runs in a task of its own, since Python 3.11 loses a cancellation that comes at the moment when the
        pool hands over a connection.
        """
        asking = asyncio.create_task(self._is_direct())
        try:
            return await asyncio.shield(asking)
        except asyncio.CancelledError:
            asking.cancel()
            raise

    async def _is_direct(self) -> bool:
        async with self._pool.connection() as connection:
            return not await is_pooled(connection)

    def _worker(self, drain_seconds: float) -> Worker:
        return Worker(
            self._app,
            concurrency=self._at_once,
            fetch_job_polling_interval=POLL_SECONDS * (1 - SPREAD * self._manager.chance()),
            install_signal_handlers=False,
            shutdown_graceful_timeout=drain_seconds,
            # `_beat` sends the heartbeats, also while the worker drains, and `recover_stalled` finds dead workers.
            update_heartbeat_interval=math.inf,
            stalled_worker_timeout=FOREVER_SECONDS,
            abort_job_polling_interval=math.inf,
            delete_jobs="always",
        )

    async def _until_cancelled(self, worker: Worker, drain_seconds: float) -> None:
        """Run a worker. When cancelled, give it `drain_seconds` to finish its jobs, then raise CancelledError.

        The worker is told to stop, not only cancelled: a worker that is just registering loses a cancellation in the
        pool, because Python 3.11's `asyncio.wait_for` returns a result instead of raising the cancellation
        (https://github.com/python/cpython/issues/86296).
        """
        running = asyncio.create_task(worker.run())
        beating = asyncio.create_task(self._beat(worker))
        try:
            await asyncio.shield(running)
        except asyncio.CancelledError:
            self._manager.stopping = True
            worker.stop()
            running.cancel()
            await asyncio.wait({running}, timeout=drain_seconds + STOP_SECONDS)
            raise
        finally:
            beating.cancel()

    async def _beat(self, worker: Worker) -> None:
        """Update a worker's heartbeat every few seconds until cancelled, also while the worker drains."""
        pause = HEARTBEAT_SECONDS
        while True:
            await asyncio.sleep(pause)
            pause = HEARTBEAT_SECONDS
            if worker.worker_id is None:
                continue
            try:
                async with asyncio.timeout(HEARTBEAT_SECONDS):
                    await self._show_alive(worker.worker_id)
                    await self._manager.return_unknown(worker.worker_id)
            except (*QUEUE_UNAVAILABLE, TimeoutError) as error:
                log.warning("heartbeat.late", extra={"error": type(error).__name__})
                pause = HEARTBEAT_AGAIN_SECONDS

    async def _show_alive(self, worker_id: int) -> None:
        values = {"worker_id": worker_id, "running": self._manager.running}
        async with self._beats.transaction() as connection:
            if await (await connection.execute(_BEAT, values)).fetchone() is None:
                # Another process, of an earlier version or with a clock that jumped, has taken the worker for dead.
                await connection.execute(_REGISTER, values)
                await connection.execute(_OWN, values)

    async def recover_stalled(self, questions: QuestionStore) -> None:
        """Call `recover_stalled_once` every few seconds until cancelled, also while the database is unavailable."""
        while True:
            try:
                await self.recover_stalled_once(questions)
            except QUEUE_UNAVAILABLE as error:
                log.warning("sweep.skipped", extra={"error": type(error).__name__})
            await asyncio.sleep(RECOVERY_SECONDS)

    async def recover_stalled_once(self, questions: QuestionStore) -> None:
        """Requeue the jobs of dead workers, and enqueue open questions that have no job."""
        await self._pool.execute(_WRITE)
        async with self._pool.transaction() as connection:
            rows = await (await connection.execute(_HEARTBEATS)).fetchall()
            beats = {row["id"]: row["last_heartbeat"] for row in rows}
            dead = self._heartbeats.dead(beats, now=self._clock())
            locked = await (await connection.execute(queries.SWEEPING)).fetchone()
            if not (locked and locked["locked"]):
                return
            for worker, heartbeat in dead.items():
                await self._replace(connection, worker=worker, heartbeat=heartbeat)
            await connection.execute(_PRUNE)
            forgotten = await questions.enqueue_forgotten(connection)
        if forgotten:
            log.warning("job.rescued", extra={"count": forgotten})

    async def _replace(self, connection: AsyncConnection[DictRow], *, worker: int, heartbeat: datetime) -> None:
        """Replace a dead worker's jobs by new jobs; a worker that was only suspended cannot finish the old ones."""
        values = {"worker": worker, "heartbeat": heartbeat}
        query = _TAKE_OWNERLESS if worker == NO_WORKER else _TAKE
        for row in await (await connection.execute(query, values)).fetchall():
            log.info("job.recovered", extra={"question": row["question_id"]})


_TAKE_NEXT = """
    SELECT (job).id, (job).status, (job).task_name, (job).priority, (job).lock, (job).queueing_lock, (job).args,
        (job).scheduled_at, (job).queue_name, (job).attempts, (job).worker_id, turn, wait
    FROM take_jobs_v1(%(worker_id)s, %(most)s) ORDER BY (job).id IS NULL, number
"""
"""Fetch the next jobs in order. The last row has no job, only `wait`: the seconds until the next turn, or null."""

_BEAT = "UPDATE procrastinate_workers SET last_heartbeat = now() WHERE id = %(worker_id)s RETURNING id"
_REGISTER = """
    INSERT INTO procrastinate_workers (id) OVERRIDING SYSTEM VALUE VALUES (%(worker_id)s) ON CONFLICT (id) DO NOTHING
"""
_OWN = """
    UPDATE procrastinate_jobs SET worker_id = %(worker_id)s
    WHERE worker_id IS NULL AND status = 'doing' AND id = ANY(%(running)s::bigint[])
"""
_DUE = "SELECT now() + %(pause)s * interval '1 second' AS at"
_RETURN_UNKNOWN = """
    UPDATE procrastinate_jobs SET status = 'todo', worker_id = NULL
    WHERE worker_id = %(worker_id)s AND status = 'doing' AND NOT id = ANY(%(running)s::bigint[])
"""
_WRITE = """
    UPDATE procrastinate_workers SET last_heartbeat = last_heartbeat
    WHERE id = (SELECT id FROM procrastinate_workers ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED)
"""
"""Write a row unchanged. This fails if the database accepts no writes, as with a full disk.

Heartbeats would then fail, too, and living workers would be taken for dead.
"""

_HEARTBEATS = """
    SELECT id, last_heartbeat FROM procrastinate_workers w
    WHERE EXISTS (SELECT 1 FROM procrastinate_jobs j WHERE j.worker_id = w.id AND j.status = 'doing')
    UNION ALL
    SELECT 0, 'epoch' WHERE EXISTS (SELECT 1 FROM procrastinate_jobs WHERE worker_id IS NULL AND status = 'doing')
"""
"""The heartbeats of the workers with jobs; `NO_WORKER` stands for jobs without an owner."""

_TAKE = f"""
    WITH owner AS (
        SELECT id FROM procrastinate_workers WHERE id = %(worker)s AND last_heartbeat = %(heartbeat)s
        FOR NO KEY UPDATE),
    taken AS (
        DELETE FROM procrastinate_jobs j USING owner WHERE j.worker_id = owner.id AND j.status = 'doing'
        RETURNING j.args ->> 'question_id' AS question_id, j.priority, j.queue_name)
    SELECT question_id, {queries.enqueue("question_id", priority="priority", queue="queue_name")} FROM taken
"""
_TAKE_OWNERLESS = f"""
    WITH taken AS (
        DELETE FROM procrastinate_jobs WHERE worker_id IS NULL AND status = 'doing'
        RETURNING args ->> 'question_id' AS question_id, priority, queue_name)
    SELECT question_id, {queries.enqueue("question_id", priority="priority", queue="queue_name")} FROM taken
"""
_PRUNE = """
    DELETE FROM procrastinate_workers w
    WHERE last_heartbeat < now() - interval '1 day'
      AND NOT EXISTS (SELECT 1 FROM procrastinate_jobs j WHERE j.worker_id = w.id)
"""
