"""A command in a terminal: what it wrote, as it wrote it."""

from __future__ import annotations

import asyncio
import os
import pty
import termios
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

from tests.fakes.command import start
from tests.fakes.forks import ForkedProcess

COLUMNS, ROWS = 100, 24


@dataclass(kw_only=True)
class Terminal:
    """The terminal of one process; `shown` is every byte that came, as text."""

    process: asyncio.subprocess.Process | ForkedProcess
    descriptor: int
    shown: str = ""
    _written: bytes = b""
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    def read(self) -> None:
        """Take what the process wrote and was not read yet."""
        # Linux says EIO where the other end is closed.
        with suppress(BlockingIOError, OSError):
            while piece := os.read(self.descriptor, 65_536):
                self._written += piece
        self.shown = self._written.decode(errors="replace")
        self._changed.set()

    async def wait_until(self, true: Callable[[str], bool], *, seconds: float = 60) -> None:
        """Wait until what was shown is so."""
        async with asyncio.timeout(seconds):
            while not true(self.shown):
                self._changed.clear()
                await self._changed.wait()

    async def wait(self, *, seconds: float = 60) -> tuple[int, str]:
        """Return the exit code and what came through the pipe: stderr, or stdout if stderr is the terminal."""
        piped = self.process.stderr or self.process.stdout
        async with asyncio.timeout(seconds):
            written = await piped.read() if piped is not None else b""
            code = await self.process.wait()
        self.read()
        return code, written.decode()


@asynccontextmanager
async def terminal(
    *arguments: str, settings: Mapping[str, str], streams: Collection[str] = ("stdout",)
) -> AsyncIterator[Terminal]:
    """Give a command whose `streams` are a terminal of its own; the others are pipes, to be told from it."""
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (ROWS, COLUMNS))
    os.set_blocking(ours, False)
    loop = asyncio.get_running_loop()
    try:
        settings = {"TERM": "xterm-256color", "COLUMNS": str(COLUMNS), "LINES": str(ROWS), **settings}
        ends = {name: theirs if name in streams else asyncio.subprocess.PIPE for name in ("stdout", "stderr")}
        async with start(*arguments, **ends, settings=settings) as process:
            screen = Terminal(process=process, descriptor=ours)
            loop.add_reader(ours, screen.read)
            yield screen
    finally:
        loop.remove_reader(ours)
        os.close(ours)
        os.close(theirs)
