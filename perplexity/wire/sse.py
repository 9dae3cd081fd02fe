"""Server-sent events out of bytes, wherever those are cut. Pure.

https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from perplexity.errors import MalformedResponse

LONGEST_EVENT = 8 * 1024 * 1024
"""Bytes of one event; the last one repeats the whole answer with its sources."""

_BOM = b"\xef\xbb\xbf"
_LINE_END = re.compile(rb"\r\n?|\n")


@dataclass(frozen=True, kw_only=True)
class ServerSentEvent:
    """One event: its name, empty where it has none, and its data lines joined."""

    event: str = ""
    data: str = ""


@dataclass
class Decoder:
    """Takes chunks, gives events. `id:` and `retry:` are of no use to a single response and are skipped."""

    _rest: bytearray = field(default_factory=bytearray)
    _begun: bool = False
    _after_cr: bool = False
    _event: str = ""
    _data: list[str] = field(default_factory=list)
    _size: int = 0

    def feed(self, chunk: bytes) -> list[ServerSentEvent]:
        """Return the events that the chunk completes. Raises MalformedResponse for one that is too long."""
        # What was kept holds no line's end: only the new bytes are searched, or one long line would take for ever.
        searched = len(self._rest) if self._begun else 0
        self._rest += chunk
        if not self._begun and _BOM.startswith(self._rest[: len(_BOM)]) and len(self._rest) < len(_BOM):
            return []
        self._begin()
        return [event for line in self._lines(searched) if (event := self._take(line)) is not None]

    def finish(self) -> list[ServerSentEvent]:
        """Return the event whose lines are complete but for the empty one behind it; a cut line is dropped."""
        event = self._complete()
        return [event] if event is not None else []

    def _begin(self) -> None:
        if not self._begun and self._rest.startswith(_BOM):
            del self._rest[: len(_BOM)]
        self._begun = True

    def _lines(self, searched: int) -> list[bytes]:
        """Cut complete lines off, ended by LF, CR or CRLF. Other line breaks of Unicode are data."""
        lines, start = [], 0
        for end in _LINE_END.finditer(self._rest, searched):
            if not (self._after_cr and end.span() == (0, 1) and end[0] == b"\n"):
                lines.append(bytes(self._rest[start : end.start()]))
            start = end.end()
        self._after_cr = self._rest.endswith(b"\r") or (self._after_cr and not self._rest)
        del self._rest[:start]
        self._check(self._size + len(self._rest))
        return lines

    def _take(self, line: bytes) -> ServerSentEvent | None:
        """Read one line; return the event that an empty one completes."""
        if not line:
            return self._complete()
        name, _, value = line.decode("utf-8", errors="replace").partition(":")
        value = value.removeprefix(" ")
        if name == "event":
            self._event = value
        elif name == "data":
            self._size += len(line)
            self._check(self._size)
            self._data.append(value)
        return None

    def _complete(self) -> ServerSentEvent | None:
        event = ServerSentEvent(event=self._event, data="\n".join(self._data)) if self._data else None
        self._event, self._data, self._size = "", [], 0
        return event

    def _check(self, size: int) -> None:
        if size > LONGEST_EVENT:
            raise MalformedResponse(f"an event of the stream is longer than {LONGEST_EVENT} bytes")
