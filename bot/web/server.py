"""The HTTP server: how long connections are kept, and how it stops."""

from __future__ import annotations

from collections.abc import Sequence

from aiohttp import web

from bot.web.guard import MAX_BODY_BYTES

KEEPALIVE_SECONDS = 95.0
"""Heroku's router keeps idle connections for 90 s and cannot repeat a POST that meets a closing one."""

SHUTDOWN_SECONDS = 5.0


class Server:
    """One listening socket with the routes it is given."""

    def __init__(self, routes: Sequence[web.RouteDef], *, host: str, port: int) -> None:
        application = web.Application(client_max_size=MAX_BODY_BYTES)
        application.add_routes(routes)
        self._runner = web.AppRunner(
            application, keepalive_timeout=KEEPALIVE_SECONDS, shutdown_timeout=SHUTDOWN_SECONDS, access_log=None
        )
        self._host = host
        self._port = port

    async def start(self) -> None:
        """Listen; raises `OSError` where the port is taken or not allowed."""
        await self._runner.setup()
        await web.TCPSite(self._runner, self._host, self._port).start()

    async def stop_accepting(self) -> None:
        """Close the listening socket; connections that are open go on."""
        for site in list(self._runner.sites):
            await site.stop()

    async def stop(self) -> None:
        """Let requests under way end, then close everything."""
        await self._runner.cleanup()
