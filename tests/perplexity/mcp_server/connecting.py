"""The SDK's own client, connected to a real process over either transport."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from mcp import Client, StdioServerParameters

from tests.fakes.command import COMMAND, environment, start
from tests.fakes.forks import ROOT
from tests.fakes.ports import free_port

WAYS = [(transport, mode) for transport in ("stdio", "http") for mode in ("auto", "legacy")]
"""Each transport, in the protocol's present form and in the one with a handshake, which most clients speak."""


@asynccontextmanager
async def connected(transport: str, mode: str, **settings: str) -> AsyncIterator[Client]:
    """Give a client of a server of its own, which has these settings."""
    if transport == "stdio":
        program, *arguments = COMMAND
        server = StdioServerParameters(command=program, args=[*arguments, "mcp"], env=environment(settings), cwd=ROOT)
        async with Client(server, mode=mode) as client:
            yield client
        return
    async with listening(**settings) as address, Client(address, mode=mode) as client:
        yield client


@asynccontextmanager
async def listening(**settings: str) -> AsyncIterator[str]:
    """Give the address of a server on loopback."""
    port = free_port()
    async with start("mcp", "--transport", "http", "--port", str(port), settings=settings) as process:
        assert process.stderr is not None
        line = (await process.stderr.readline()).decode()
        assert line.startswith(f"Listening on http://127.0.0.1:{port}/mcp"), line
        yield f"http://127.0.0.1:{port}/mcp"
