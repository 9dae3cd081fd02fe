"""`mcp`: a server for the Model Context Protocol."""

from __future__ import annotations

import argparse
import asyncio

from perplexity.cli.base import Command, World
from perplexity.cli.chain import chain

PERPLEXITYS = ("perplexity", "openrouter")
"""The tools bear Perplexity's name, so its own models answer: by itself, or through OpenRouter."""


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--transport", choices=("stdio", "http"), default="stdio", help="stdio unless you say so")
    parser.add_argument("--host", default="127.0.0.1", help="where http listens; others than this machine are let in")
    parser.add_argument("--port", type=int, default=8765, metavar="N", help="8765 unless you say so")


def run(parsed: argparse.Namespace, world: World) -> None:
    """Serve until the client or a signal ends it. Raises InvalidRequest for a key that cannot be right."""
    from perplexity.mcp_server.serving import is_loopback, over_http, over_stdio

    def ready(address: str) -> None:
        world.say(f"Listening on {address}  (Ctrl-C stops)")
        if not is_loopback(parsed.host):
            world.say("Whoever reaches this address can ask at your cost: there is no sign-in.")

    async def served() -> None:
        async with chain(world, PERPLEXITYS) as provider:
            if parsed.transport == "stdio":
                await over_stdio(provider)
            else:
                await over_http(provider, host=parsed.host, port=parsed.port, ready=ready)

    asyncio.run(served())


MCP = Command(
    name="mcp", summary="serve the tools over the Model Context Protocol", add=add, run=run, cancelled="Stopped."
)
