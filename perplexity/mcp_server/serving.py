"""The two transports: stdin and stdout of this process, or HTTP."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from ipaddress import ip_address
from typing import TYPE_CHECKING, NoReturn, Protocol

import uvicorn
from mcp.server.stdio import stdio_server
from mcp.server.transport_security import TransportSecurityMiddleware, TransportSecuritySettings
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request

from perplexity.fallback import Fallback
from perplexity.mcp_server.server import build
from perplexity.mcp_server.settings import ANY, HTTPSettings, bracketed

if TYPE_CHECKING:
    from socket import socket

    from starlette.types import ASGIApp, Receive, Scope, Send

log: logging.Logger = logging.getLogger(__name__)

PATH = "/mcp"
_OVER_SECONDS = 3
_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_HOSTS = (b"host", b"origin")
_HTTP_PORT = 80
_LONGEST_HEADER = 200
_METHODS = ("GET", "POST", "DELETE")
_SENT = ("Content-Type", "Authorization", "Mcp-Session-Id", "Mcp-Protocol-Version", "Last-Event-ID")
_READ = ("Mcp-Session-Id", "Mcp-Protocol-Version")


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


async def over_http(opening: AbstractAsyncContextManager[Fallback], *, settings: HTTPSettings, ready: Ready) -> None:
    """Serve HTTP until a signal ends it; `ready` is told the address once it listens. Raises CannotListen.

    Requests whose Host or Origin is neither this host's nor allowed are refused: a page in a browser could otherwise
    reach a server on loopback (https://modelcontextprotocol.io/specification, transports, security).
    """
    host, port = settings.host, settings.port
    # What it would log of a failed start is raised.
    logging.getLogger("uvicorn").addHandler(logging.NullHandler())
    async with opening as chain:
        app = build(chain).streamable_http_app(
            streamable_http_path=PATH,
            host=host,
            # `_guarded` checks every request before it gets there.
            transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
        )
        config = uvicorn.Config(
            _guarded(app, settings),
            host=host,
            port=port,
            log_config=None,
            access_log=False,
            timeout_graceful_shutdown=1,
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


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach the host."""
    try:
        return host.lower() == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def security(
    host: str, port: int, *, hosts: Sequence[str] = (), origins: Sequence[str] = ()
) -> TransportSecuritySettings:
    """Return the hosts and origins that requests may name, in lower case; `hosts` and `origins` are further ones.

    A client leaves out a port that is HTTP's own, or a proxy's before us.
    """
    names = dict.fromkeys((*_LOOPBACK, bracketed(host).lower()))
    own = [f"{name}:{port}" for name in names]
    further = [name for host in hosts for name in ((host,) if _has_port(host) else (host, f"{host}:{port}"))]
    return TransportSecuritySettings(
        allowed_hosts=[*names, *own, *further],
        allowed_origins=[f"http://{place}" for place in (*own, *(names if port == _HTTP_PORT else ()))] + [*origins],
    )


def _has_port(host: str) -> bool:
    return ":" in host.rpartition("]")[2]


def _guarded(app: ASGIApp, settings: HTTPSettings) -> ASGIApp:
    """Return the app for requests that name an allowed host and origin; pages of ALLOWED_ORIGINS may read its replies.

    The SDK compares names letter by letter, so they are in lower case from here on:
    https://www.rfc-editor.org/rfc/rfc9110#section-4.2.3
    """
    origins = settings.allowed_origins
    check = TransportSecurityMiddleware(
        security(settings.host, settings.port, hosts=settings.allowed_hosts, origins=origins)
    )
    served = _with_cors(app, origins) if origins else app

    async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await app(scope, receive, send)
            return
        headers = [(name, value.lower() if name in _HOSTS else value) for name, value in scope["headers"]]
        scope = {**scope, "headers": headers}
        named = [h for h in headers if h[0] != b"origin" or h[1] == b"null"] if ANY in origins else headers
        refused = await check.validate_request(Request({**scope, "headers": named}))
        if refused is not None:
            told = {
                name.decode(): value.decode("latin-1")[:_LONGEST_HEADER] for name, value in headers if name in _HOSTS
            }
            log.warning("request.refused", extra={**told, "status": refused.status_code})
        await (refused or served)(scope, receive, send)

    return guarded


def _with_cors(app: ASGIApp, origins: Sequence[str]) -> ASGIApp:
    """Return the app with what a browser wants to be told: https://fetch.spec.whatwg.org/#http-cors-protocol."""
    return CORSMiddleware(app, allow_origins=origins, allow_methods=_METHODS, allow_headers=_SENT, expose_headers=_READ)
