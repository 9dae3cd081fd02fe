"""Clocks that only sleeping moves."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable, Coroutine
from concurrent.futures import Executor
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar, TypeVarTuple

Arguments = TypeVarTuple("Arguments")
Result = TypeVar("Result")

SATURDAY = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


class Time:
    """Seconds from `now` on; `slept` holds every pause, in order."""

    def __init__(self, now: float = 0.0) -> None:
        self.now = now
        self.slept: list[float] = []

    def clock(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


class WallClock:
    """Shows `now`; sleeping moves it."""

    def __init__(self, now: datetime = SATURDAY) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """An event loop whose time moves only when nothing is left to do, and then at once to the next timer.

    Work for other threads is done in place and takes no time. Raises RuntimeError if nothing will ever happen any more.
    """

    def __init__(self) -> None:
        self.now = 0.0
        super().__init__(_JumpingSelector(self))

    def time(self) -> float:
        return self.now

    def run_in_executor(
        self, executor: Executor | None, func: Callable[[*Arguments], Result], *args: *Arguments
    ) -> asyncio.Future[Result]:
        future: asyncio.Future[Result] = self.create_future()
        try:
            future.set_result(func(*args))
        except Exception as error:  # noqa: BLE001 - raised again where the caller waits
            future.set_exception(error)
        return future


_LEAST = 1e-9
"""Seconds that a round of the event loop takes."""


class _JumpingSelector(selectors.DefaultSelector):
    """Spends no time waiting for files, but moves the clock of its loop."""

    def __init__(self, loop: VirtualTimeLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        found = super().select(0)
        if timeout is None and not found:
            raise RuntimeError("every task waits for something that does not happen")
        # A loop calls what is due within a nanosecond, and may do so again and again if its time stays the same.
        self._loop.now += _LEAST if found else max(timeout or 0.0, _LEAST)
        return found


def run_in_virtual_time(main: Coroutine[Any, Any, Result]) -> Result:
    """Return what a coroutine returns; its sleeps and time limits take no time."""
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        return runner.run(main)
