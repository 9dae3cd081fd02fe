"""The gateway forwards, refuses, cuts and hangs, on a port that stays the same."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import closing, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.chaos.gateway import Gateway


@pytest.fixture
async def gateway() -> AsyncIterator[Gateway]:
    echoing: set[asyncio.Task[None]] = set()

    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError), closing(writer):
            while data := await reader.read(100):
                writer.write(data)

    def begin(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        echoing.add(asyncio.create_task(echo(reader, writer)))

    # Not pytest's folder: a socket's name must be short.
    with TemporaryDirectory(prefix="chaos-") as folder:
        server = await asyncio.start_unix_server(begin, folder + "/socket")
        async with server:
            async with Gateway(Path(folder) / "socket") as made:
                yield made
            async with asyncio.timeout(5):
                await asyncio.gather(*echoing)


async def said(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, word: bytes) -> bytes:
    writer.write(word)
    async with asyncio.timeout(5):
        return await reader.read(100)


async def test_it_forwards_both_ways(gateway: Gateway) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", gateway.port)

    assert await said(reader, writer, b"one") == b"one"
    writer.close()


async def test_it_refuses_and_takes_connections_again(gateway: Gateway) -> None:
    port = gateway.port
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    assert await said(reader, writer, b"one") == b"one"

    await gateway.refuse()
    with pytest.raises(ConnectionResetError):
        await said(reader, writer, b"two")
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection("127.0.0.1", port)

    await gateway.accept()
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    assert await said(reader, writer, b"three") == b"three"
    writer.close()


async def test_what_it_holds_back_comes_when_it_flows_again(gateway: Gateway) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", gateway.port)
    assert await said(reader, writer, b"one") == b"one"

    gateway.hang()
    writer.write(b"two")
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.1):
            await reader.read(100)
    gateway.flow()

    assert await said(reader, writer, b"") == b"two"
    writer.close()
