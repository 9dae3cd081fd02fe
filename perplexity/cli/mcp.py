"""`mcp`: a server for the Model Context Protocol."""

from __future__ import annotations

import argparse
import os
from functools import partial
from ipaddress import ip_address
from typing import NoReturn

from perplexity.cli.base import Command, UsageError, World
from perplexity.cli.chain import chain, checked_setup

PERPLEXITYS = ("perplexity", "openrouter")
"""The tools bear Perplexity's name, so its own models answer: by itself, or through OpenRouter."""

_STOPPED = "Stopped."
_LAST_PORT = 65_535


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--transport", choices=("stdio", "http"), default="stdio", help="stdio unless you say so")
    parser.add_argument(
        "--host", type=_host, default="127.0.0.1", help="where http listens; this machine alone unless you say so"
    )
    parser.add_argument("--port", type=_port, default=8765, metavar="N", help="8765 unless you say so")


def run(parsed: argparse.Namespace, world: World) -> None:
    """Serve until the client or a signal ends it. Raises UsageError, for a key that cannot be right too."""
    if parsed.transport == "stdio" and (closed := sorted(world.closed & {"stdin", "stdout"})):
        told = " and ".join(f"{name} is closed" for name in closed)
        raise UsageError(f"{told}, where the client should be; --transport http needs neither")
    from perplexity.mcp_server.serving import CannotListen, over_http, over_stdio

    # A key that cannot be right is said before stdin is read: the thread that reads it could not be called off.
    checked_setup(world, PERPLEXITYS)
    opening = chain(world, PERPLEXITYS)
    try:
        if parsed.transport == "stdio":
            world.signals.run(over_stdio(opening, stopped=partial(_stopped, world)))
        else:
            world.signals.run(over_http(opening, host=parsed.host, port=parsed.port, ready=partial(_ready, world)))
    except CannotListen:
        raise UsageError(f"{parsed.host} port {parsed.port} cannot be listened on; --port takes another") from None


def _ready(world: World, address: str, *, alone: bool) -> None:
    world.say(f"Listening on {address}  (Ctrl-C stops)")
    if not alone:
        world.say("Whoever reaches this address can ask at your cost: there is no sign-in.")


def _stopped(world: World) -> NoReturn:
    world.say(f"\n{_STOPPED}")
    os._exit(world.signals.code)


def _host(text: str) -> str:
    """Return the host, which is the one that requests must name; every address at once has no name."""
    try:
        nameless = ip_address(text).is_unspecified
    except ValueError:
        nameless = not text.strip()
    if nameless:
        raise argparse.ArgumentTypeError(f"{text!r} is not allowed; it takes the one address that clients use")
    return text


def _port(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and 1 <= int(text) <= _LAST_PORT):
        raise argparse.ArgumentTypeError(f"{text!r} is not allowed; it takes a port from 1 to {_LAST_PORT}")
    return int(text)


MCP = Command(
    name="mcp",
    summary="serve the tools over the Model Context Protocol",
    add=add,
    run=run,
    cancelled=_STOPPED,
    extras=("mcp",),
)
