"""A peer that sends what it likes over a bare socket: half a request, one byte a second, nothing at all."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

HEAD = b"POST /slack/events HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 100\r\n"
BODY = HEAD + b"\r\n" + b"{" * 50


@dataclass(kw_only=True)
class Peer:
    """One open connection."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def send(self, data: bytes) -> None:
        """Send these bytes."""
        with suppress(ConnectionError):
            self.writer.write(data)
            await self.writer.drain()

    async def send_slowly(self, data: bytes, *, seconds: float) -> None:
        """Send one byte after the other, with a pause before each."""
        for byte in data:
            await asyncio.sleep(seconds)
            await self.send(bytes([byte]))

    async def read(self) -> bytes:
        """Return all that comes until the server closes the connection."""
        with suppress(ConnectionError):
            return await self.reader.read()
        return b""

    async def reads_answer(self) -> bytes:
        """Return one answer's head and body."""
        head = await self.reader.readuntil(b"\r\n\r\n")
        length = next(int(line[15:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:"))
        return head + await self.reader.readexactly(length)

    @property
    def is_open(self) -> bool:
        """Whether the server has not closed the connection."""
        return not self.reader.at_eof() and self.reader.exception() is None

    async def seconds_until_closed(self) -> float:
        """Return how many seconds pass until the server closes the connection."""
        begun = time.monotonic()
        await self.read()
        return time.monotonic() - begun

    async def close(self) -> None:
        self.writer.close()
        with suppress(ConnectionError):
            await self.writer.wait_closed()


@asynccontextmanager
async def peers(port: int, count: int = 1) -> AsyncIterator[list[Peer]]:
    """Open connections, one after the other, and close them in the end."""
    opened: list[Peer] = []
    try:
        for _ in range(count):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            opened.append(Peer(reader=reader, writer=writer))
        yield opened
    finally:
        await asyncio.gather(*(peer.close() for peer in opened))
