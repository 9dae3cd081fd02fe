"""Limits on the server's connections: their number, and the time for a request to arrive."""

from __future__ import annotations

import asyncio
import resource
from collections.abc import Callable
from typing import cast

from aiohttp import StreamReader, web
from aiohttp.typedefs import Handler

REQUEST_SECONDS = 5.0
"""How long a request's head and body may take to arrive, together."""

CLOSING_SECONDS = 1.0
"""How long a handler may take to answer that the body arrived too slowly."""

MAX_CONNECTIONS = 1000
"""The highest limit on open connections, even if the process may open very many files."""

BUSY_RESERVE = 16
"""How many connections above the limit are accepted while all connections are handling requests."""

TOO_SLOW = "too slow"
_TIMEOUT = (
    b"HTTP/1.1 408 Request Timeout\r\n"
    b"Content-Type: text/plain; charset=utf-8\r\n"
    b"Content-Length: %d\r\n"
    b"Connection: close\r\n"
    b"\r\n"
    b"%s"
) % (len(TOO_SLOW), TOO_SLOW.encode())


class TooSlow(TimeoutError):
    """A request's body took too long to arrive; raised in the handler that reads the body."""


def connection_limit(files: int | None = None) -> int:
    """Return the limit on open connections: a quarter of the files that this process may open, from 8 to 1,000.

    The other files are for the database, Slack, the services, and connections that are closed as soon as accepted.
    """
    allowed = resource.getrlimit(resource.RLIMIT_NOFILE)[0] if files is None else files
    return MAX_CONNECTIONS if allowed == resource.RLIM_INFINITY else min(MAX_CONNECTIONS, max(8, allowed // 4))


class Connections:
    """The open connections of one server, at most `most`; a request has `REQUEST_SECONDS` to arrive.

    aiohttp limits neither the time that a request takes to arrive nor the number of connections, so each of its
    protocols is wrapped. At the limit, the connection that has waited longest is closed. A connection is waiting while
    it has no complete request: it is new, it has received half of a request, or it is kept open for the next one.
    """

    def __init__(self, *, most: int) -> None:
        self._most = most
        self._open: set[Connection] = set()
        # The connection that has waited longest is first.
        self._waiting: dict[Connection, None] = {}

    def watch(self, protocol: Callable[[], asyncio.Protocol]) -> Callable[[], asyncio.Protocol]:
        """Return a factory that wraps each protocol that `protocol` makes in a `Connection`."""
        return lambda: Connection(protocol(), self)

    @web.middleware
    async def middleware(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Record when a request starts and when it is answered; answer 408 if its body takes too long."""
        connection = request.transport.get_protocol() if request.transport is not None else None
        if not isinstance(connection, Connection):
            return await handler(request)
        connection.start_request(request)
        try:
            return await handler(request)
        except TooSlow:
            response = web.Response(status=408, text=TOO_SLOW)
            response.force_close()
            return response
        finally:
            connection.finish_request()

    def add(self, connection: Connection) -> None:
        """Add a new connection; above the limit, close the connection that has waited longest.

        If no connection is waiting, the new connection is closed only if `BUSY_RESERVE` is used up, too.
        """
        self._open.add(connection)
        if len(self._open) > self._most:
            oldest = next(iter(self._waiting), None)
            if oldest is not None:
                oldest.abort()
            elif len(self._open) > self._most + BUSY_RESERVE:
                connection.abort()
        self.mark_waiting(connection)

    def mark_waiting(self, connection: Connection) -> None:
        """Mark a connection as one without a complete request."""
        if connection in self._open:
            self._waiting[connection] = None

    def mark_busy(self, connection: Connection) -> None:
        """Mark a connection as one with a complete request, which is not closed in favour of another."""
        self._waiting.pop(connection, None)

    def remove(self, connection: Connection) -> None:
        """Remove a connection."""
        self._open.discard(connection)
        self._waiting.pop(connection, None)


class Connection(asyncio.Protocol):
    """Wraps the protocol of one connection; a timer runs while a request arrives."""

    def __init__(self, protocol: asyncio.Protocol, connections: Connections) -> None:
        self._protocol = protocol
        self._connections = connections
        self._transport: asyncio.Transport | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._no_data = True
        # The body that is arriving; None unless the head of its request is complete.
        self._body: StreamReader | None = None
        self._complete = False
        self._in_progress = False
        self._next_arrived = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Start the timer of the first request."""
        self._transport = cast("asyncio.Transport", transport)
        self._protocol.connection_made(transport)
        self._start_timer()
        self._connections.add(self)

    def data_received(self, data: bytes) -> None:
        """Pass the bytes on; the first bytes after a request start the timer of the next one."""
        self._no_data = False
        if self._complete and self._in_progress:
            self._next_arrived = True
        elif self._complete:
            self._start_timer()
        self._protocol.data_received(data)

    def eof_received(self) -> bool | None:
        """Pass on that the peer sends no more."""
        return self._protocol.eof_received()

    def pause_writing(self) -> None:
        """Pass on that the peer does not read."""
        self._protocol.pause_writing()

    def resume_writing(self) -> None:
        """Pass on that the peer reads again."""
        self._protocol.resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timer."""
        self._stop_timer()
        self._connections.remove(self)
        self._transport = None
        self._protocol.connection_lost(exc)

    def start_request(self, request: web.Request) -> None:
        """Start a request whose head is complete; its body may still be arriving."""
        self._in_progress = True
        self._next_arrived = False
        if request.content.is_eof():
            self._on_complete()
            return
        if self._complete:
            # The head of this request arrived together with the previous request.
            self._start_timer()
        self._body = request.content
        self._body.on_eof(self._on_complete)

    def finish_request(self) -> None:
        """Wait for the next request, part of which may already have arrived."""
        self._in_progress = False
        if self._complete:
            self._connections.mark_waiting(self)
            if self._next_arrived:
                self._start_timer()

    def abort(self) -> None:
        """Close the connection at once."""
        self._stop_timer()
        self._connections.remove(self)
        if self._transport is not None:
            self._transport.abort()

    def _on_complete(self) -> None:
        self._stop_timer()
        self._body = None
        self._complete = True
        if self._in_progress:
            self._connections.mark_busy(self)

    def _start_timer(self) -> None:
        self._stop_timer()
        self._complete = False
        self._timer = asyncio.get_running_loop().call_later(REQUEST_SECONDS, self._time_out)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _time_out(self) -> None:
        """Answer that the request took too long, if possible, and close the connection."""
        self._timer = asyncio.get_running_loop().call_later(CLOSING_SECONDS, self.abort)
        if self._body is not None:
            # The handler that reads the body answers, and aiohttp closes a connection whose body is not complete.
            self._body.set_exception(TooSlow())
        elif self._transport is not None:
            if not self._no_data:
                self._transport.write(_TIMEOUT)
            self._transport.close()
