"""Parses server-sent events from bytes in chunks of any size, without I/O.

https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from perplexity.errors import MalformedResponse

LONGEST_EVENT = 8 * 1024 * 1024
"""The most bytes of one event; the last event repeats the whole answer with its sources."""

_BOM = b"\xef\xbb\xbf"


class ServerSentEvent(NamedTuple):
    """An event: its name, empty if it has none, and its data lines joined."""

    event: str = ""
    data: str = ""


@dataclass
class Decoder:
    """Takes chunks and returns events. `id:` and `retry:` have no use in a single response and are skipped."""

    _rest: bytearray = field(default_factory=bytearray)
    _begun: bool = False
    _after_cr: bool = False
    _event: str = ""
    _data: list[str] = field(default_factory=list)
    _size: int = 0

    def feed(self, chunk: bytes) -> list[ServerSentEvent]:
        """Return the events that the chunk completes. Raises MalformedResponse for one that is too long."""
        if not self._begun:
            chunk = bytes(self._rest) + chunk
            self._begun = len(chunk) >= len(_BOM) or not _BOM.startswith(chunk)
            self._rest[:] = b"" if self._begun else chunk
            chunk = chunk.removeprefix(_BOM) if self._begun else b""
        events = []
        for line in self._lines(chunk):
            if line:
                self._take(line)
            elif self._data:
                events.append(self._complete())
            else:
                self._event = ""
        return events

    def finish(self) -> list[ServerSentEvent]:
        """Return the last event if only the empty line after it is missing; an incomplete line is dropped."""
        return [self._complete()] if self._data else []

    def _lines(self, chunk: bytes) -> list[bytes]:
        """Return the complete lines, ended by LF, CR or CRLF; Unicode's other line breaks are data.

        The kept beginning of a line contains no line end, so only the new bytes are searched. If the whole line were
        searched each time, a long one would take quadratic time.
        """
        if self._after_cr and chunk:
            chunk = chunk.removeprefix(b"\n")
            self._after_cr = False
        if b"\r" in chunk:
            self._after_cr = chunk.endswith(b"\r")
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        *lines, rest = chunk.split(b"\n")
        if lines:
            lines[0] = bytes(self._rest) + lines[0]
            self._rest.clear()
        self._rest += rest
        if self._size + len(self._rest) > LONGEST_EVENT:
            raise _too_long()
        return lines

    def _take(self, line: bytes) -> None:
        """Read one line of an event."""
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            self._size += len(line)
            if self._size > LONGEST_EVENT:
                raise _too_long()
            self._data.append(value.decode(errors="replace"))
        elif name == b"event":
            self._event = value.decode(errors="replace")

    def _complete(self) -> ServerSentEvent:
        event = ServerSentEvent(self._event, "\n".join(self._data))
        self._event, self._data, self._size = "", [], 0
        return event


def _too_long() -> MalformedResponse:
    return MalformedResponse(f"an event of the stream is longer than {LONGEST_EVENT} bytes")
