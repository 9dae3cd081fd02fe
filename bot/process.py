"""One process from its first request to its last: it serves, works, and stops without leaving anything behind."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from bot.attempt_log import AttemptLog
from bot.digests.tick import Ticker
from bot.jobs import Jobs
from bot.model_check import check_models
from bot.socket_mode import SocketMode
from bot.storage.questions import Questions
from bot.web.server import Server
from bot.workspace import Slack
from perplexity.providers.base import Provider

DRAIN_SECONDS = 20.0
"""Heroku kills a process thirty seconds after it asked it to stop."""


@dataclass(frozen=True, kw_only=True)
class App:
    """Everything that runs in one process, put together but not started."""

    slack: Slack
    providers: Sequence[Provider]
    questions: Questions
    jobs: Jobs
    attempt_log: AttemptLog
    ticker: Ticker
    server: Server | None
    socket: SocketMode | None = None

    async def serve(self, stop: asyncio.Event, *, work: bool, ready: Callable[[], None]) -> None:
        """Run until `stop` is set; then stop accepting, drain, hand unfinished questions back.

        `ready` is called when requests are taken. Raises `OSError` where the port cannot be listened on, or
        `SocketRefused`.
        """
        if self.server is not None:
            await self.server.start()
        if self.socket is not None:
            await self.socket.start()
        worker = [asyncio.create_task(self.jobs.work(drain_seconds=DRAIN_SECONDS))] if work else []
        sweep = asyncio.create_task(self.jobs.sweep(self.questions))
        ticking = asyncio.create_task(self.ticker.run())
        logging = asyncio.create_task(self.attempt_log.run())
        checking = asyncio.create_task(check_models(self.providers))
        ready()
        try:
            await _first({asyncio.create_task(stop.wait()), sweep, ticking, logging, *worker})
        finally:
            await _ended(ticking)
            await self._stop(worker, sweep)
            await _cancelled(checking)
            await _ended(logging)

    async def _stop(self, worker: Sequence[asyncio.Task[None]], sweep: asyncio.Task[None]) -> None:
        # The playground is its own Slack: it must go on listening for the answers that are still on their way.
        if self.socket is not None:
            await self.socket.close()
        if self.server is not None and self.slack.playground is None:
            await self.server.stop_accepting()
        await asyncio.gather(_ended(sweep), _cancelled(*worker))
        if self.slack.playground is not None:
            await self.slack.playground.close()
        if self.server is not None:
            await self.server.stop()


async def _first(tasks: set[asyncio.Task[Any]]) -> None:
    """Wait until one task ends; raises what it raised, since a worker that ended is no app."""
    done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in done:
        task.result()


async def _cancelled(*tasks: asyncio.Task[None]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def _ended(task: asyncio.Task[None]) -> None:
    """Cancel a task until it has ended: Python 3.11 loses a cancellation at the moment a connection is handed over.

    https://github.com/python/cpython/issues/86296
    """
    while not task.done():
        task.cancel()
        await asyncio.wait({task}, timeout=1)
