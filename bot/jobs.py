"""The job engine: one kind of job, which carries a question's id and nothing else.

A job goes back to the queue only when a shutdown cancelled it or its worker died. A failed answer is no failed job: the
asker has been told by then.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from uuid import UUID

from procrastinate import App, BaseRetryStrategy, PsycopgConnector, RetryDecision
from procrastinate.exceptions import ConnectorException
from procrastinate.jobs import Job
from procrastinate.worker import Worker
from psycopg import AsyncConnection
from psycopg.rows import DictRow

from bot.storage.patience import AWAY
from bot.storage.questions import Pool, Questions

log = logging.getLogger(__name__)

TASK = "answer_question"
HEARTBEAT_SECONDS = 3.0
STALLED_AFTER_SECONDS = 9.0
SWEEP_SECONDS = 3.0
"""Heartbeat, silence and sweep together bring a dead worker's questions back within 15 seconds."""

POLL_SECONDS = 0.5
"""A notice of a new job can be missed while the worker looks for one; this is how long it then waits at most."""

CONCURRENCY = 100
"""Questions that one process works on at once: as many as the client has connections for; the others wait."""


class ReturnsWhenCancelled(BaseRetryStrategy):
    """Sends a job back to the queue when the shutdown cancelled it, and never for an error."""

    def get_retry_decision(self, *, exception: BaseException, job: Job) -> RetryDecision | None:
        """Decide by the exception alone; how often a question came back is counted on its row."""
        return RetryDecision() if isinstance(exception, asyncio.CancelledError) else None


class Jobs:
    """Enqueues the jobs of questions and works on them."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._app = App(connector=PsycopgConnector())

    async def open(self) -> None:
        """Share the process's pool with the engine."""
        await self._app.connector.open_async(self._pool)

    async def defer(self, connection: AsyncConnection[DictRow], question_id: UUID) -> None:
        """Enqueue a question's job on `connection`, inside the transaction that writes the question."""
        await self._app.configure_task(TASK, connection=connection).defer_async(question_id=str(question_id))

    def on_question(self, answer: Callable[[UUID], Awaitable[None]]) -> None:
        """Say what a worker of this process does with a question."""

        async def answer_question(question_id: str) -> None:
            await answer(UUID(question_id))

        self._app.task(name=TASK, retry=ReturnsWhenCancelled())(answer_question)

    async def work(self, *, drain_seconds: float) -> None:
        """Work until cancelled; then finish what can be finished in `drain_seconds` and hand the rest back.

        The engine's worker ends when the database goes away, so it is started again until it comes back.
        """
        while True:
            try:
                await _until_cancelled(self._worker(drain_seconds))
            except AWAY as error:
                log.warning("worker.restarts", extra={"error": type(error).__name__})
            await asyncio.sleep(0.5)

    def _worker(self, drain_seconds: float) -> Worker:
        return Worker(
            self._app,
            concurrency=CONCURRENCY,
            fetch_job_polling_interval=POLL_SECONDS,
            install_signal_handlers=False,
            shutdown_graceful_timeout=drain_seconds,
            update_heartbeat_interval=HEARTBEAT_SECONDS,
            stalled_worker_timeout=STALLED_AFTER_SECONDS,
            delete_jobs="always",
        )

    async def sweep(self, questions: Questions) -> None:
        """Every few seconds, for ever, bring back the questions of dead workers and those that have no job."""
        while True:
            try:
                await self._sweep_once(questions)
            except AWAY as error:
                log.warning("sweep.skipped", extra={"error": type(error).__name__})
            await asyncio.sleep(SWEEP_SECONDS)

    async def _sweep_once(self, questions: Questions) -> None:
        stalled = list(await self._app.job_manager.get_stalled_jobs(seconds_since_heartbeat=STALLED_AFTER_SECONDS))
        for job in stalled:
            try:
                await self._app.job_manager.retry_job(job)
            except ConnectorException:
                # Another process's sweep was faster; a database that is away shows in the next query.
                continue
            log.info("job.recovered", extra={"question": job.task_kwargs.get("question_id")})
        if count := await questions.rescue_orphans():
            log.warning("job.rescued", extra={"count": count})


async def _until_cancelled(worker: Worker) -> None:
    """Run a worker; cancelled, let it drain, and raise `CancelledError` when it has.

    The worker is told to stop and not only cancelled: one that is just registering loses a cancellation in the pool
    where Python 3.11's `asyncio.wait_for` answers it with a result (https://github.com/python/cpython/issues/86296).
    """
    running = asyncio.create_task(worker.run())
    try:
        await asyncio.shield(running)
    except asyncio.CancelledError:
        worker.stop()
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        raise
