"""One process from start to stop: it serves requests and answers questions, then finishes its work and closes."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from psycopg import Error

from bot.errors import CannotListen
from bot.services import check_models
from bot.slack.connection import SocketMode
from bot.storage.database import DATABASE_UNAVAILABLE
from bot.storage.questions import QuestionStore
from bot.web.server import Server
from perplexity.providers.base import Provider

if TYPE_CHECKING:
    from bot.listeners.installation import Installation
    from bot.playground.server import Playground
    from bot.worker.queue import JobQueue
    from bot.workspaces.registry import Workspaces

log = logging.getLogger(__name__)

DRAIN_SECONDS = 20.0
"""How long a stopping worker may take to finish its questions.

Heroku kills a process thirty seconds after asking it to stop.
"""

HAND_BACK_SECONDS = 1.5
"""How long after `DRAIN_SECONDS` the worker may take to return unfinished jobs to the queue."""

BROKEN_SECONDS = 5.0
"""The pause before a broken background task is run again."""

WATCH_SECONDS = 5.0

CLOSE_SECONDS = 1.5
"""How long the other end of a connection may take to confirm the close."""


@dataclass(frozen=True, kw_only=True)
class Periodic:
    """Background work that runs until it is cancelled; `name` is its name in the log."""

    name: str
    run: Callable[[], Awaitable[None]]


async def watch(look: Callable[[], Awaitable[None]]) -> None:
    """Call `look` every few seconds until cancelled, also while the database is unavailable."""
    while True:
        try:
            await look()
        except (*DATABASE_UNAVAILABLE, Error) as error:
            log.warning("budgets.not_watched", extra={"error": type(error).__name__})
        await asyncio.sleep(WATCH_SECONDS)


@dataclass(frozen=True, kw_only=True)
class Application:
    """Everything that runs in one process, built but not started.

    `written` is work that writes what the other work records, so it ends last.
    """

    playground: Playground | None
    providers: Sequence[Provider]
    questions: QuestionStore
    jobs: JobQueue
    periodic: Sequence[Periodic]
    written: Sequence[Periodic]
    installation: Installation | Workspaces
    server: Server | None
    socket: SocketMode | None = None

    async def serve(self, stop: asyncio.Event, *, work: bool, ready: Callable[[], None]) -> None:
        """Run until `stop` is set; then refuse requests, finish questions, and return unfinished ones to the queue.

        `work` is whether this process answers questions. `ready` is called when requests are accepted. Raises
        `CannotListen` or `SocketRefused`.
        """
        if not await self._start_unless_stopped(stop):
            await self._stop([], None)
            return
        await self.installation.start()
        workers = [asyncio.create_task(self.jobs.work(drain_seconds=DRAIN_SECONDS))] if work else []
        sweep = _task("sweep", partial(self.jobs.recover_stalled, self.questions))
        tasks = [_task(one.name, one.run) for one in self.periodic]
        if self.playground is not None:
            tasks.append(_task("playground", self.playground.keep_messages))
        written = [_task(one.name, one.run) for one in self.written]
        models = asyncio.create_task(check_models(self.providers))
        ready()
        try:
            await _wait_for_first({asyncio.create_task(stop.wait()), sweep, *tasks, *written, *workers})
        finally:
            await asyncio.gather(*map(_cancel_until_done, tasks))
            await self._stop(workers, sweep)
            await _cancel(models)
            await asyncio.gather(*map(_cancel_until_done, written))

    async def _start_unless_stopped(self, stop: asyncio.Event) -> bool:
        """Start accepting requests; return False if `stop` is set before requests are accepted."""
        starting, stopped = asyncio.create_task(self._start()), asyncio.create_task(stop.wait())
        await asyncio.wait({starting, stopped}, return_when=asyncio.FIRST_COMPLETED)
        stopped.cancel()
        if not starting.done():
            await _cancel_until_done(starting)
            return False
        starting.result()
        return True

    async def _start(self) -> None:
        if self.server is not None:
            try:
                await self.server.start()
            except (OSError, UnicodeError) as error:
                raise CannotListen from error
        if self.socket is not None:
            await self.socket.start()

    async def _stop(self, workers: Sequence[asyncio.Task[None]], sweep: asyncio.Task[None] | None) -> None:
        """Finish the work and close everything.

        The time limits of the steps add up to less than the time that hosts give a process to stop.
        """
        closing = (
            asyncio.create_task(_run_within(CLOSE_SECONDS, self.socket.close())) if self.socket is not None else None
        )
        # The playground acts as Slack, so it must accept the answers that are still being posted.
        if self.server is not None and self.playground is None:
            await self.server.stop_accepting()
        if sweep is not None:
            await asyncio.gather(
                _cancel_until_done(sweep), _run_within(DRAIN_SECONDS + HAND_BACK_SECONDS, _cancel(*workers))
            )
        if closing is not None:
            await closing
        if self.playground is not None:
            await self.playground.close()
        if self.server is not None:
            await _run_within(CLOSE_SECONDS, self.server.stop())


def _task(kind: str, run: Callable[[], Awaitable[None]]) -> asyncio.Task[None]:
    return asyncio.create_task(keep_running(kind, run))


async def keep_running(
    kind: str, run: Callable[[], Awaitable[None]], *, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
) -> None:
    """Run a background task until cancelled; if it breaks, log the error, and run it again after a pause.

    A broken task must not end the process: questions are answered without it, and the other tasks continue.
    """
    while True:
        try:
            await run()
        except Exception:
            log.exception("task.broke", extra={"kind": kind})
        await sleep(BROKEN_SECONDS)


async def _run_within(seconds: float, work: Coroutine[Any, Any, None]) -> None:
    """Await `work`, and cancel it if it takes longer than `seconds`."""
    try:
        async with asyncio.timeout(seconds):
            await work
    except TimeoutError:
        log.warning("stop.late", extra={"seconds": seconds})


async def _wait_for_first(tasks: set[asyncio.Task[Any]]) -> None:
    """Wait until one task ends; if it ended with an error, raise the error."""
    done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in done:
        task.result()


async def _cancel(*tasks: asyncio.Task[None]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def _cancel_until_done(task: asyncio.Task[None]) -> None:
    """Cancel a task, again each second, until it has ended.

    Python 3.11 may lose a cancellation while a connection is handed over:
    https://github.com/python/cpython/issues/86296
    """
    while not task.done():
        task.cancel()
        await asyncio.wait({task}, timeout=1)
