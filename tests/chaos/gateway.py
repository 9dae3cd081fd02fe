"""The way to the database, in the harness's hands: it forwards, refuses, hangs or cuts."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.fakes.ports import free_port


class Gateway:
    """Forwards connections on a loopback port to the server's Unix socket. `port` stays the same while it is closed."""

    def __init__(self, target: Path) -> None:
        self._target = target
        self._flows = asyncio.Event()
        self._flows.set()
        self._listening: asyncio.Server | None = None
        self._open: set[asyncio.StreamWriter] = set()
        self._pumps: set[asyncio.Task[None]] = set()
        self.port = free_port()

    async def __aenter__(self) -> Self:
        await self.accept()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._flows.set()
        await self.refuse()

    async def accept(self) -> None:
        """Take connections."""
        self._listening = await asyncio.start_server(
            self._connected, "127.0.0.1", self.port, reuse_address=True, backlog=1024
        )

    async def refuse(self) -> None:
        """Refuse new connections, as a machine without a server does, and cut those that are open."""
        if self._listening is not None:
            self._listening.close()
            self._listening = None
        self.cut()

    def cut(self) -> None:
        """Reset every connection; new ones are taken."""
        for writer in list(self._open):
            writer.transport.abort()

    def hang(self) -> None:
        """Take everything and forward nothing, as behind a network that drops packets."""
        self._flows.clear()

    def flow(self) -> None:
        """Forward again, what was held back first."""
        self._flows.set()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        pumps = [asyncio.ensure_future(self._forward(reader, writer))]
        self._pumps.update(pumps)
        self._open.add(writer)
        try:
            await asyncio.gather(*pumps, return_exceptions=True)
        finally:
            self._open.discard(writer)
            self._pumps.difference_update(pumps)
            writer.transport.abort()

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await self._flows.wait()
        inner_reader, inner_writer = await asyncio.open_unix_connection(str(self._target))
        try:
            ways = [asyncio.ensure_future(self._pump(*way)) for way in ((reader, inner_writer), (inner_reader, writer))]
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)
        finally:
            inner_writer.transport.abort()

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(65_536):
                await self._flows.wait()
                writer.write(data)
                await writer.drain()
