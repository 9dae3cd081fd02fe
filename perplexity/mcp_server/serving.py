"""The two transports: stdin and stdout of this process, or HTTP."""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import ip_address
from typing import TYPE_CHECKING

import uvicorn
from mcp.server.stdio import stdio_server
from mcp.server.transport_security import TransportSecuritySettings

from perplexity.fallback import Fallback
from perplexity.mcp_server.server import build

if TYPE_CHECKING:
    from socket import socket

PATH = "/mcp"
_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


async def over_stdio(chain: Fallback) -> None:
    """Serve the client at the other end of stdin and stdout until it closes them; nothing else is written there."""
    server = build(chain)
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


async def over_http(chain: Fallback, *, host: str, port: int, ready: Callable[[str], None]) -> None:
    """Serve HTTP until a signal ends it; `ready` is told the address once it listens.

    Requests whose Host or Origin is another than this host's are refused: a page in a browser could otherwise reach a
    server on loopback (https://modelcontextprotocol.io/specification, transports, security).
    """
    app = build(chain).streamable_http_app(streamable_http_path=PATH, host=host, transport_security=_security(host))
    config = uvicorn.Config(app, host=host, port=port, log_config=None, access_log=False, timeout_graceful_shutdown=3)
    await _Announced(config, ready).serve()


class _Announced(uvicorn.Server):
    """Tells its address once it listens."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[str], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket] | None = None) -> None:
        await super().startup(sockets)
        if not self.should_exit:
            self._ready(f"http://{bracketed(self.config.host)}:{self.config.port}{PATH}")


def bracketed(host: str) -> str:
    """Return the host as it stands in an address."""
    return f"[{host}]" if ":" in host else host


def is_loopback(host: str) -> bool:
    """Tell whether only this machine can reach the host."""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def _security(host: str) -> TransportSecuritySettings:
    hosts = _LOOPBACK if is_loopback(host) else (*_LOOPBACK, bracketed(host))
    return TransportSecuritySettings(
        allowed_hosts=[f"{name}:*" for name in hosts],
        allowed_origins=[f"http://{name}:*" for name in hosts],
    )
