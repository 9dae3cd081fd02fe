"""What SIGTERM and Ctrl-C do: the first stops the process gently, the second at once.

Imports nothing heavy, so that the handlers are installed before anything starts that would have to be stopped.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from threading import Timer, current_thread, main_thread
from types import FrameType
from typing import Any, TypeVar

T = TypeVar("T")

SIGNALS = (signal.SIGINT, signal.SIGTERM)
LONGEST_STOP_SECONDS = 25.0
"""Hosts kill a process thirty seconds after they asked it to stop. Even a process that hangs exits before that."""

STOPPED_AT_ONCE = 130
STOPPED_LATE = 1


class Stopped(Exception):
    """The process was asked to stop before it did what it was started for."""


class StopSignals:
    """Handles stop signals. `seconds` is the longest time that a gentle stop may take."""

    def __init__(self, *, seconds: float = LONGEST_STOP_SECONDS) -> None:
        self._seconds = seconds
        self._requested = False
        self._wake: Callable[[], None] | None = None
        self._at_once: list[Callable[[], None]] = []

    @contextmanager
    def handled(self) -> Iterator[None]:
        """Handle the signals inside the block, then restore their handlers. Only the main thread takes signals."""
        if current_thread() is not main_thread():
            yield
            return
        before = {number: signal.signal(number, self._on_signal) for number in SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def requested(self) -> bool:
        """Return whether a signal has come."""
        return self._requested

    def at_once(self, abandon: Callable[[], None]) -> None:
        """Register a callback for a forced exit, which runs no other cleanup. It must not wait."""
        self._at_once.append(abandon)

    def event(self) -> asyncio.Event:
        """Return an event of the running loop that is set once a signal has come."""
        loop, event = asyncio.get_running_loop(), asyncio.Event()

        def wake() -> None:
            with suppress(RuntimeError):  # that loop has ended
                loop.call_soon_threadsafe(event.set)

        self._wake = wake
        if self._requested:
            event.set()
        return event

    async def unless_stopped(self, work: Coroutine[Any, Any, T]) -> T:
        """Return what the work returns. Raises `Stopped` when a signal comes first; the work is cancelled then."""
        working = asyncio.ensure_future(work)
        stopping = asyncio.ensure_future(self.event().wait())
        await asyncio.wait({working, stopping}, return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        if working.done():
            return working.result()
        working.cancel()
        await asyncio.wait({working})
        raise Stopped

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self._requested:
            self._end(STOPPED_AT_ONCE)
        self._requested = True
        # Not through `sys.stdout`: the signal may have interrupted a write to it.
        with suppress(OSError):
            os.write(1, b"\nStopping  (repeat the signal to stop at once; no question is lost)\n")
        late = Timer(self._seconds, self._end, args=[STOPPED_LATE])
        late.daemon = True
        late.start()
        if self._wake is not None:
            self._wake()

    def _end(self, code: int) -> None:
        for abandon in self._at_once:
            with suppress(Exception):
                abandon()
        os._exit(code)
