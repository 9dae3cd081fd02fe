"""The progress line of a command on a terminal's stderr: the activity and the seconds."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import TextIO

from perplexity.cli.base import ProcessIO
from perplexity.formatting import pluralize
from perplexity.sanitize import printable_line
from perplexity.types import Event, Restarted, RunStarted, SearchQueries, Sources, TextDelta
from perplexity.urls import hostname

_CLEAR = "\r\x1b[K"
_WIDTH = 80
_QUERIES = 3
_SITES = 4

FIRST_STEP = "Searching the web"
"""The first activity of `search`, `ask` and `news`."""


class ProgressLine:
    """A line that is redrawn every second and cleared at the end; if `is_shown` is False, nothing is written."""

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
        self._activity = ""
        self._queries: tuple[str, ...] = ()

    @classmethod
    def for_process(cls, process: ProcessIO) -> ProgressLine:
        """Return the progress line of a process, shown if its stderr is a terminal that can clear a line."""
        return cls(process.stderr, is_shown=process.stderr.isatty() and process.environ.get("TERM") != "dumb")

    @asynccontextmanager
    async def running(self, activity: str) -> AsyncIterator[None]:
        """Show the line while the `async with` block runs, at first with this activity."""
        self.show(activity)
        ticking = asyncio.create_task(self._tick())
        try:
            yield
        finally:
            ticking.cancel()
            with suppress(asyncio.CancelledError):
                await ticking
            self.stop()

    def show(self, activity: str) -> None:
        """Show this activity."""
        activity = printable_line(activity)
        if activity != self._activity:
            self._activity = activity
            self._draw()

    def show_event(self, event: Event) -> None:
        """Show the activity that an event reports, if any."""
        if activity := self.describe(event):
            self.show(activity)

    def describe(self, event: Event) -> str:
        """Return the activity that an event reports; empty if it reports none, or only searches that were shown before.

        A run in the background names all its searches again and again.
        """
        match event:
            case RunStarted():
                return "Researching"
            case SearchQueries(queries=queries):
                known, self._queries = self._queries, tuple(dict.fromkeys((*self._queries, *queries)))
                shown = ", ".join(f"“{query}”" for query in self._queries[-_QUERIES:])
                return f"Searching {shown}" if self._queries != known else ""
            case Sources(sources=sources):
                sites = dict.fromkeys(filter(None, (hostname(source.url) for source in sources)))
                listed = f": {', '.join([*sites][:_SITES])}" if sites else ""
                return f"Reading {pluralize(len(sources), 'page')}{listed}"
            case TextDelta():
                return "Writing the answer"
            case Restarted():
                self._queries = ()
                return FIRST_STEP
            case _:
                return ""

    def print_above(self, line: str) -> None:
        """Write a line that stays above the progress line."""
        if self.is_shown:
            self._write(f"{_CLEAR}{printable_line(line)}\n")
            self._draw()

    def stop(self) -> None:
        """Clear the line; it is drawn again with the next activity."""
        if self._activity:
            self._activity = ""
            self._write(_CLEAR)

    async def _tick(self) -> None:
        while self.is_shown:
            await self._sleep(1.0)
            self._draw()

    def _draw(self) -> None:
        if self._activity:
            end = f" … {self._clock() - self._started:.0f} s"
            self._write(f"{_CLEAR}{_truncate(self._activity, self._columns() - len(end) - 1)}{end}")

    def _write(self, text: str) -> None:
        if self.is_shown:
            # If the terminal was closed, the command goes on without the line.
            with suppress(OSError):
                self._stream.write(text)
                self._stream.flush()

    def _columns(self) -> int:
        try:
            return os.get_terminal_size(self._stream.fileno()).columns or _WIDTH
        except OSError:
            return _WIDTH


def _truncate(text: str, cells: int) -> str:
    """Return the text truncated to this many cells of a terminal; some characters take two cells."""
    from rich.cells import cell_len, set_cell_size

    return text if cell_len(text) <= cells else f"{set_cell_size(text, max(0, cells - 1)).rstrip()}…"
