"""The two transports: stdin and stdout of this process, or HTTP."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from ipaddress import ip_address
from typing import TYPE_CHECKING, NoReturn, Protocol

import uvicorn
from mcp.server.stdio import stdio_server
from mcp.server.transport_security import TransportSecuritySettings

from perplexity.fallback import Fallback
from perplexity.mcp_server.server import build

if TYPE_CHECKING:
    from socket import socket

    from starlette.types import ASGIApp, Receive, Scope, Send

PATH = "/mcp"
_OVER_SECONDS = 3
_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_HOSTS = (b"host", b"origin")
_HTTP_PORT = 80


class Ready(Protocol):
    """Hears that the server listens at an address, which only this machine can reach if it is there `alone`."""

    def __call__(self, address: str, *, alone: bool) -> None:
        """Take note."""
        ...


async def over_stdio(opening: AbstractAsyncContextManager[Fallback], *, stopped: Callable[[], NoReturn]) -> None:
    """Serve the client at the other end of stdin and stdout until it closes them; nothing else is written there.

    `stopped` ends the process when this is cancelled: a thread is reading stdin then, and nothing can call it off.
    """
    async with stdio_server() as (incoming, outgoing):
        try:
            async with opening as chain:
                server = build(chain)
                await server.run(incoming, outgoing, server.create_initialization_options())
        except asyncio.CancelledError:
            stopped()


async def over_http(opening: AbstractAsyncContextManager[Fallback], *, host: str, port: int, ready: Ready) -> None:
    """Serve HTTP until a signal ends it; `ready` is told the address once it listens. Raises CannotListen.

    Requests whose Host or Origin is another than this host's are refused: a page in a browser could otherwise reach a
    server on loopback (https://modelcontextprotocol.io/specification, transports, security).
    """
    # What it would log of a failed start is raised.
    logging.getLogger("uvicorn").addHandler(logging.NullHandler())
    async with opening as chain:
        app = build(chain).streamable_http_app(
            streamable_http_path=PATH, host=host, transport_security=security(host, port)
        )
        config = uvicorn.Config(
            _in_lower_case(app), host=host, port=port, log_config=None, access_log=False, timeout_graceful_shutdown=1
        )
        await _served(_Announced(config, ready))


async def _served(server: uvicorn.Server) -> None:
    """Serve until a signal ends it; when this is cancelled it ends as well as by a signal that uvicorn knows."""
    serving = asyncio.create_task(server.serve())
    try:
        await asyncio.shield(serving)
    except asyncio.CancelledError:
        server.should_exit = True
        await serving
        raise
    finally:
        await _calls_over()


async def _calls_over() -> None:
    """Wait for the calls that uvicorn cancelled when it stopped, which it does not; each cancels its run."""
    if rest := asyncio.all_tasks() - {asyncio.current_task()}:
        await asyncio.wait(rest, timeout=_OVER_SECONDS)


class CannotListen(Exception):
    """The port is taken, or the host is none of this machine's."""


class _Announced(uvicorn.Server):
    """Tells its address once it listens."""

    def __init__(self, config: uvicorn.Config, ready: Ready) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket] | None = None) -> None:
        try:
            await super().startup(sockets)
        except SystemExit:
            raise CannotListen from None
        if not self.should_exit:
            host = self.config.host
            self._ready(f"http://{bracketed(host)}:{self.config.port}{PATH}", alone=is_loopback(host))


def bracketed(host: str) -> str:
    """Return the host as it stands in an address."""
    return f"[{host}]" if ":" in host else host


def is_loopback(host: str) -> bool:
    """Tell whether only this machine can reach the host."""
    try:
        return host.lower() == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def security(host: str, port: int) -> TransportSecuritySettings:
    """Return who may be named, in lower case. A client leaves out a port that is HTTP's own, or a proxy's before us."""
    names = dict.fromkeys((*_LOOPBACK, bracketed(host).lower()))
    own = [f"{name}:{port}" for name in names]
    return TransportSecuritySettings(
        allowed_hosts=[*names, *own],
        allowed_origins=[f"http://{place}" for place in (*own, *(names if port == _HTTP_PORT else ()))],
    )


def _in_lower_case(app: ASGIApp) -> ASGIApp:
    """Return the app with the names of hosts in lower case, which the SDK compares letter by letter.

    https://www.rfc-editor.org/rfc/rfc9110#section-4.2.3
    """

    async def lowered(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            told = [(name, value.lower() if name in _HOSTS else value) for name, value in scope["headers"]]
            scope = {**scope, "headers": told}
        await app(scope, receive, send)

    return lowered
