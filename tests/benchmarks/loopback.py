"""A Perplexity on loopback that answers at once and costs almost nothing: each reply is written beforehand.

`python -m tests.benchmarks.loopback` serves in a process of its own and prints the port.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tests.benchmarks.answers import agent_body, agent_events, search_body


@asynccontextmanager
async def serve(*, answer: bytes | None = None, stream: bytes | None = None) -> AsyncIterator[int]:
    """Serve on a free port, and yield the port.

    `answer` is the body of every answer, `stream` that of every stream; by default their text has 4 KB.
    """
    replies = {
        "search": _whole(search_body()),
        "answer": _whole(answer or agent_body()),
        "stream": _streamed(agent_events() if stream is None else [stream]),
    }
    server = await asyncio.get_running_loop().create_server(lambda: _Connection(replies), "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1]


class _Connection(asyncio.Protocol):
    """One connection, on which requests follow each other."""

    def __init__(self, replies: dict[str, bytes]) -> None:
        self._replies = replies
        self._received = b""
        self._transport: asyncio.WriteTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.WriteTransport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._received += data
        while b"\r\n\r\n" in self._received:
            head, _, rest = self._received.partition(b"\r\n\r\n")
            length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0])
            if len(rest) < length:
                return
            body, self._received = rest[:length], rest[length:]
            name = "search" if b" /search " in head else "stream" if b'"stream": true' in body else "answer"
            assert self._transport is not None
            self._transport.write(self._replies[name])


def _whole(body: bytes) -> bytes:
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


def _streamed(events: list[bytes]) -> bytes:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
    return head + b"".join(b"%x\r\n%s\r\n" % (len(event), event) for event in events) + b"0\r\n\r\n"


async def _main() -> None:
    async with serve() as port:
        sys.stdout.write(f"{port}\n")
        sys.stdout.flush()
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(_main())
