"""The HTTP server: how connections are accepted and how long they are kept, and how it stops."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import cast

from aiohttp import web

from bot.web.connections import REQUEST_SECONDS, Connections, most_connections
from bot.web.guard import MAX_BODY_BYTES

KEEPALIVE_SECONDS = 95.0
"""Heroku's router keeps idle connections for 90 s and cannot repeat a POST that meets a closing one."""

SHUTDOWN_SECONDS = 5.0

ACCEPTED_AT_ONCE = 4
"""How many connections are accepted before those too many are closed: all of them need an open file meanwhile."""

QUEUE = 1024
"""How many connections the system keeps until they are accepted."""


class Server:
    """One listening socket with the routes it is given. `most` is the cap on open connections."""

    def __init__(self, routes: Sequence[web.RouteDef], *, host: str, port: int, most: int | None = None) -> None:
        self._connections = Connections(most=most or most_connections())
        application = web.Application(client_max_size=MAX_BODY_BYTES, middlewares=[self._connections.middleware])
        application.add_routes(routes)
        # A compressed body would be inflated on the event loop, before anyone has looked at its signature.
        self._runner = web.AppRunner(
            application,
            keepalive_timeout=KEEPALIVE_SECONDS,
            lingering_time=REQUEST_SECONDS,
            auto_decompress=False,
            shutdown_timeout=SHUTDOWN_SECONDS,
            access_log=None,
        )
        self._host = host
        self._port = port
        self._listening: asyncio.Server | None = None

    async def start(self) -> None:
        """Listen; raises `OSError` where the port is taken or not allowed."""
        await self._runner.setup()
        protocol = self._connections.watched(cast("web.Server", self._runner.server))
        # asyncio accepts as many connections at once as it is told to keep in the queue.
        self._listening = await asyncio.get_running_loop().create_server(
            protocol, self._host, self._port, backlog=ACCEPTED_AT_ONCE
        )
        for listening in self._listening.sockets:
            with listening.dup() as same:
                same.listen(QUEUE)

    async def stop_accepting(self) -> None:
        """Close the listening socket; connections that are open go on."""
        if self._listening is not None:
            self._listening.close()

    async def stop(self) -> None:
        """Let requests under way end, then close everything."""
        await self.stop_accepting()
        await self._runner.cleanup()
