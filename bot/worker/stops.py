"""Notices when a question in work was stopped or taken over, and ends the work on it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable
from dataclasses import dataclass, field
from typing import Any, TypeVar
from uuid import UUID

from bot.model.question import QuestionRow
from bot.storage.database import DATABASE_UNAVAILABLE
from bot.storage.questions import QuestionStore
from perplexity.errors import RequestCancelled

log = logging.getLogger(__name__)

LOOK_SECONDS = 0.5
"""The pause between two looks at the questions in work: a stop ends the work within a second, in every process."""

Result = TypeVar("Result")


@dataclass(kw_only=True)
class _Work:
    claim: int
    task: asyncio.Future[Any]
    lost: bool = False


@dataclass(kw_only=True)
class StopWatcher:
    """Watches the questions that this process works on, all of them with one query."""

    questions: QuestionStore
    seconds: float = LOOK_SECONDS
    _works: dict[UUID, _Work] = field(default_factory=dict)
    _watching: asyncio.Task[None] | None = None

    async def guard(self, row: QuestionRow, work: Awaitable[Result]) -> Result:
        """Return what the work on a question returns. Raises what it raises.

        Once the question is stopped or another worker's, the work is cancelled and RequestCancelled raised.
        """
        own = _Work(claim=row.claim, task=asyncio.ensure_future(work))
        self._works[row.id] = own
        if self._watching is None:
            self._watching = asyncio.create_task(self._watch())
        try:
            result: Result = await own.task
        except asyncio.CancelledError:
            if own.lost:
                raise RequestCancelled("the question was stopped, or is another worker's") from None
            raise
        finally:
            if self._works.get(row.id) is own:
                del self._works[row.id]
            if not self._works and self._watching is not None:
                self._watching.cancel()
                self._watching = None
        return result

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(self.seconds)
            try:
                held = await self.questions.held(self._works)
            except DATABASE_UNAVAILABLE as error:
                log.warning("stops.unknown", extra={"error": type(error).__name__})
                continue
            for question_id, work in list(self._works.items()):
                if held.get(question_id, work.claim) != work.claim:
                    work.lost = True
                    work.task.cancel()
