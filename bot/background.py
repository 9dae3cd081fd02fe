"""Work that a click begins and nobody waits for, until the process ends."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from types import TracebackType
from typing import Any, Self


class Background:
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

    def begin(self, work: Coroutine[Any, Any, None]) -> None:
        """Begin some work. Returns at once."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
