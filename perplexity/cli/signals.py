"""The signals that end a process, SIGTERM and SIGHUP: taken as Ctrl-C is, so that what was begun is cancelled first."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Coroutine
from types import FrameType
from typing import TypeVar

_ENDING = (signal.SIGTERM, signal.SIGHUP)
_SIGNALLED = 128

Result = TypeVar("Result")


class Stopped(KeyboardInterrupt):
    """A signal other than Ctrl-C's asked the process to end."""


class Signals:
    """What signals asked of this process. Until it is told to `listen`, none but Ctrl-C is heard."""

    def __init__(self) -> None:
        self._first = signal.SIGINT
        self._task: asyncio.Task[object] | None = None

    @property
    def code(self) -> int:
        """The exit code of a process that was asked to end, as a shell gives it: by Ctrl-C, unless it was another."""
        return _SIGNALLED + self._first

    @property
    def stopped(self) -> bool:
        """Whether a signal other than Ctrl-C's came."""
        return self._first is not signal.SIGINT

    def listen(self) -> None:
        """Take the signals from now on, in the main thread; those that are ignored, as with nohup, still are."""
        for number in _ENDING:
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, self._take)

    def run(self, work: Coroutine[object, object, Result]) -> Result:
        """Return what the work returns; a signal cancels it. Raises Stopped, or KeyboardInterrupt after Ctrl-C."""
        try:
            return asyncio.run(self._known(work))
        except asyncio.CancelledError:
            if self.stopped:
                raise Stopped from None
            raise
        finally:
            self._task = None

    async def _known(self, work: Coroutine[object, object, Result]) -> Result:
        self._task = asyncio.current_task()
        return await work

    def _take(self, number: int, _: FrameType | None) -> None:
        """Note the first signal; a terminal that is closed sends two, and clearing up is short."""
        if self.stopped:
            return
        self._first = signal.Signals(number)
        if self._task is None:
            raise Stopped
        self._task.get_loop().call_soon_threadsafe(self._task.cancel)
