"""An HTTP server on a port of its own: what the fakes that speak HTTP are made of."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable, Iterable
from types import TracebackType
from typing import Self

from aiohttp import web
from aiohttp.typedefs import Middleware

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

MAX_BYTES = 64_000_000


class LoopbackServer:
    """The server. `base_url` is its address with the `prefix`; `closing` connections serve one request each.

    With `tls`, it is served by https.
    """

    closing = False
    base_url = prefix = ""
    tls: ssl.SSLContext | None = None
    port = 0
    """A port of the system's choice."""

    _runner: web.AppRunner | None = None

    async def __aenter__(self) -> Self:
        self._transports: set[asyncio.Transport] = set()
        application = web.Application(client_max_size=MAX_BYTES, middlewares=self.middlewares())
        application.on_response_prepare.append(self._prepare)
        application.add_routes(self.routes())
        self._runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", self.port, ssl_context=self.tls).start()
        self.base_url = f"{'https' if self.tls else 'http'}://127.0.0.1:{self._runner.addresses[0][1]}{self.prefix}"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._runner is not None
        await self.release_all()
        await self._runner.cleanup()
        # A connection with TLS waits for its client to say goodbye, who may live longer than this loop.
        for transport in self._transports:
            transport.abort()
        await asyncio.sleep(0)

    def routes(self) -> Iterable[web.RouteDef]:
        """Return what it serves."""
        return ()

    def middlewares(self) -> Iterable[Middleware]:
        """Return what is around each request."""
        return ()

    async def release_all(self) -> None:
        """Let go of what waits, before the server ends."""

    async def _prepare(self, request: web.Request, response: web.StreamResponse) -> None:
        if self.tls and request.transport:
            self._transports.add(request.transport)
        if self.closing:
            response.headers["Connection"] = "close"
            response.force_close()
