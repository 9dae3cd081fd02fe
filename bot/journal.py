"""Writes a question down before it is acknowledged, within the three seconds that Slack gives."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, TypeVar

from bot.storage.patience import AWAY, Patience
from bot.storage.questions import NewQuestion, Questions

T = TypeVar("T")
log = logging.getLogger(__name__)

SECONDS = 2.4
"""Slack gives three; the rest is for the network and for Bolt."""


class Written(Enum):
    """What became of a question that was to be written down."""

    NEW = "new"
    KNOWN = "known"
    """It was delivered before, so it has its answer or will get it."""
    NOT = "not"
    """The database is away; the asker is to be told."""


@dataclass(frozen=True, kw_only=True)
class Journal:
    """The door to the questions table for listeners. `seconds` is the time for everything, retries included."""

    questions: Questions
    seconds: float = SECONDS
    _running: set[asyncio.Task[Any]] = field(default_factory=set)

    async def write(self, question: NewQuestion) -> Written:
        """Write the question and its job, or say in time that it was not possible."""
        try:
            return await self.in_time(self._write(question))
        except TimeoutError:
            log.error("journal.slow", extra={"question": str(question.id), "command": question.command})
            return Written.NOT

    async def in_time(self, work: Coroutine[Any, Any, T]) -> T:
        """Return what work on the database returns. Raises `TimeoutError` when that takes too long for Slack.

        A database that hangs is not waited for: the driver's own cancellation can hang with it, so the work is left
        to itself. Should it succeed later all the same, the question is answered: better than lost.
        """
        task = asyncio.create_task(work)
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        done, _ = await asyncio.wait({task}, timeout=self.seconds)
        if task not in done:
            raise TimeoutError
        return task.result()

    async def _write(self, question: NewQuestion) -> Written:
        patience = Patience(seconds=self.seconds - 0.4, first=0.05)
        try:
            new = await patience(lambda: self.questions.receive(question))
        except AWAY as error:
            extra = {"question": str(question.id), "command": question.command, "error": type(error).__name__}
            log.error("journal.away", extra=extra)
            return Written.NOT
        return Written.NEW if new else Written.KNOWN
