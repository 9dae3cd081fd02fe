"""Server-sent events out of bytes, wherever those are cut. Pure.

https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation
"""

from __future__ import annotations

from dataclasses import dataclass, field

from perplexity.errors import MalformedResponse

LONGEST_EVENT = 8 * 1024 * 1024
"""Bytes of one event; the last one repeats the whole answer with its sources."""

_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, kw_only=True)
class ServerSentEvent:
    """One event: its name, empty where it has none, and its data lines joined."""

    event: str = ""
    data: str = ""


@dataclass
class Decoder:
    """Takes chunks, gives events. `id:` and `retry:` are of no use to a single response and are skipped."""

    _rest: bytearray = field(default_factory=bytearray)
    _searched: int = 0
    _begun: bool = False
    _event: str = ""
    _data: list[str] = field(default_factory=list)
    _size: int = 0

    def feed(self, chunk: bytes) -> list[ServerSentEvent]:
        """Return the events that the chunk completes. Raises MalformedResponse for one that is too long."""
        self._rest += chunk
        return [event for line in self._lines() if (event := self._take(line)) is not None]

    def finish(self) -> list[ServerSentEvent]:
        """Return the event whose lines are complete but for the empty one behind it; a cut line is dropped."""
        lines = [bytes(self._rest[:-1])] if self._rest.endswith(b"\r") else []
        events = [self._take(line) for line in [*lines, b""]]
        return [event for event in events if event is not None]

    def _lines(self) -> list[bytes]:
        """Cut complete lines off, ended by LF, CR or CRLF. Other line breaks of Unicode are data."""
        if not self._begun and len(self._rest) < len(_BOM) and _BOM.startswith(self._rest):
            return []
        if not self._begun:
            self._begun = True
            if self._rest.startswith(_BOM):
                del self._rest[: len(_BOM)]
        lines, start = [], 0
        while (end := self._line_end(max(start, self._searched))) is not None:
            lines.append(bytes(self._rest[start:end]))
            start = end + (2 if self._rest[end : end + 2] == b"\r\n" else 1)
        del self._rest[:start]
        self._searched = len(self._rest) - 1 if self._rest.endswith(b"\r") else len(self._rest)
        self._check(self._size + len(self._rest))
        return lines

    def _line_end(self, start: int) -> int | None:
        """Return where the line ends. A CR at the very end waits: it may be the first half of CRLF."""
        ends = [place for place in (self._rest.find(b"\n", start), self._rest.find(b"\r", start)) if place >= 0]
        end = min(ends, default=None)
        return None if end is None or (self._rest[end] == 13 and end == len(self._rest) - 1) else end

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
