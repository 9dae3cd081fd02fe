"""What is being done while an answer is made, and for how many seconds: one line on a terminal's stderr."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import TextIO

from perplexity.cli.base import ProcessIO
from perplexity.cli.output import printable_line
from perplexity.formatting import pluralize
from perplexity.types import Event, RunStarted, SearchQueries, Sources, TextDelta

_CLEAR = "\r\x1b[K"
_WIDTH = 80


class ProgressLine:
    """A line that is drawn again every second and cleared at the end; nothing for a stream that is no terminal.

    `step` counts what was told, as long as it changes.
    """

    def __init__(
        self,
        stream: TextIO,
        *,
        is_shown: bool,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.is_shown = is_shown
        self._stream = stream
        self._clock, self._sleep = clock, sleep
        self._started = clock()
        self._doing = ""
        self._step = 0

    @classmethod
    def for_process(cls, world: ProcessIO) -> ProgressLine:
        """Return the progress of a command in this world, shown if its stderr is a terminal that can clear a line."""
        return cls(world.stderr, is_shown=world.stderr.isatty() and world.environ.get("TERM") != "dumb")

    @asynccontextmanager
    async def running(self, doing: str) -> AsyncIterator[None]:
        """Show the line, which begins with this step, until the end or `stop`."""
        self.show(doing)
        ticking = asyncio.create_task(self._tick())
        try:
            yield
        finally:
            ticking.cancel()
            with suppress(asyncio.CancelledError):
                await ticking
            self.stop()

    def show(self, doing: str) -> None:
        """Show that this is being done now."""
        doing = printable_line(doing)
        if doing != self._doing:
            self._doing, self._step = doing, self._step + 1
            self._draw()

    def show_event(self, event: Event) -> None:
        """Show what an event of an answer says."""
        if isinstance(event, RunStarted):
            self.show("Researching")
        elif isinstance(event, SearchQueries):
            self.show(f"Searching for {' · '.join(event.queries)}")
        elif isinstance(event, Sources):
            self.show(f"Reading {pluralize(len(event.sources), 'page')}")
        elif isinstance(event, TextDelta):
            self.show("Writing the answer")

    def print_above(self, line: str) -> None:
        """Write a line that stays above."""
        if self.is_shown:
            self._write(f"{_CLEAR}{printable_line(line)}\n")
            self._draw()

    def stop(self) -> None:
        """Clear the line; nothing is drawn any more until something is told."""
        if self._doing:
            self._doing = ""
            self._write(_CLEAR)

    async def _tick(self) -> None:
        while self.is_shown:
            await self._sleep(1.0)
            self._draw()

    def _draw(self) -> None:
        if self._doing:
            end = f" … step {self._step} · {self._clock() - self._started:.0f} s"
            self._write(f"{_CLEAR}{_cut(self._doing, self._columns() - len(end) - 1)}{end}")

    def _write(self, text: str) -> None:
        if self.is_shown:
            # A terminal that was closed is no reason to stop.
            with suppress(OSError):
                self._stream.write(text)
                self._stream.flush()

    def _columns(self) -> int:
        try:
            return os.get_terminal_size(self._stream.fileno()).columns or _WIDTH
        except OSError:
            return _WIDTH


def _cut(text: str, cells: int) -> str:
    """Return the text as far as it fits into the cells; some characters take two."""
    from rich.cells import cell_len, set_cell_size

    return text if cell_len(text) <= cells else f"{set_cell_size(text, max(0, cells - 1)).rstrip()}…"
