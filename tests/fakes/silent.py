"""A server that takes connections and says nothing: a client's TLS hello is never answered."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress


@asynccontextmanager
async def silent_server() -> AsyncIterator[str]:
    """Give the server's https address. At the end every connection is closed."""
    connected: set[asyncio.Task[None]] = set()

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with suppress(ConnectionError):
                await reader.read()
        finally:
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()

    def begin(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connected.add(asyncio.create_task(silent(reader, writer)))

    async with await asyncio.start_server(begin, "127.0.0.1", 0) as server:
        yield f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        for task in connected:
            task.cancel()
        await asyncio.gather(*connected, return_exceptions=True)
