"""Background tasks of clicks: cancelling runs, until the process ends."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self
from uuid import UUID

from bot.storage.database import DATABASE_UNAVAILABLE
from bot.storage.questions import QuestionStore
from bot.storage.stages import StageStore
from perplexity.errors import PerplexityError
from perplexity.providers.base import Provider
from perplexity.providers.perplexity import PerplexityProvider

log = logging.getLogger(__name__)


class BackgroundTasks:
    """Runs work in background tasks; on exit it waits `seconds` for unfinished ones, then cancels them.

    The work must raise nothing.
    """

    def __init__(self, *, seconds: float = 1.0) -> None:
        self._seconds = seconds
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self._tasks:
            return
        _, late = await asyncio.wait(set(self._tasks), timeout=self._seconds)
        for task in late:
            task.cancel()
        await asyncio.gather(*late, return_exceptions=True)

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        """Start some work. Returns at once."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


@dataclass(frozen=True, kw_only=True)
class RunCanceller:
    """Cancels background runs, which continue without a connection.

    A request over an open connection ends with the connection, when the worker notices.
    """

    questions: QuestionStore
    stages: StageStore
    providers: Sequence[Provider]
    background: BackgroundTasks

    def start(self, question_id: UUID) -> None:
        """Start cancelling a question's runs. Returns at once, since a click needs its reply."""
        self.background.start(self._cancel_runs_of(question_id))

    def start_runs(self, run_ids: Sequence[str]) -> None:
        """Start cancelling these runs; their questions may be deleted by then."""
        self.background.start(self._cancel_each(run_ids))

    async def _cancel_runs_of(self, question_id: UUID) -> None:
        try:
            run_ids = await self._run_ids(question_id)
        except DATABASE_UNAVAILABLE as error:
            log.warning("run.not_cancelled", extra={"question": str(question_id), "error": type(error).__name__})
            return
        await self._cancel_each(run_ids)

    async def _run_ids(self, question_id: UUID) -> Sequence[str]:
        """Return the runs of a question and of its stages."""
        row = await self.questions.get(question_id)
        own = [row.run_id] if row is not None and row.run_id else []
        return list(dict.fromkeys([*own, *await self.stages.runs(question_id)]))

    async def _cancel_each(self, run_ids: Sequence[str]) -> None:
        """Cancel runs; if one cannot be cancelled, the others are."""
        for run_id in run_ids:
            try:
                await self._cancel(run_id)
            except PerplexityError as error:
                log.warning("run.not_cancelled", extra={"error": type(error).__name__})

    async def _cancel(self, run_id: str) -> None:
        for provider in self.providers:
            if isinstance(provider, PerplexityProvider):
                await provider.cancel(run_id)
