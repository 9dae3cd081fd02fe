"""`/healthz` (is the process there), `/readyz` (can it take and answer questions), `/metrics`: no data in any."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from aiohttp import web

from bot.storage.patience import AWAY
from bot.web.metrics import Metrics

Check = Callable[[], Awaitable[int]]
"""Counts the workers that are alive; raises like the database."""

Troubles = Callable[[], Awaitable[dict[str, str]]]
"""Returns the providers for which an admin must do something, and what they last failed with."""


def routes(*, workers_alive: Check, troubles: Troubles, metrics: Metrics) -> list[web.RouteDef]:
    """Return the three routes.

    A provider that refuses its key does not make the app unready, since another answers; it is named all the same.
    """

    async def healthz(request: web.Request) -> web.Response:
        return web.json_response({"ok": True})

    async def readyz(request: web.Request) -> web.Response:
        checks = await _checks(workers_alive, troubles)
        return web.json_response(checks, status=200 if checks["database"] and checks["worker"] else 503)

    async def metrics_page(request: web.Request) -> web.Response:
        # While the database is away, what it said last stands.
        with suppress(*AWAY, TimeoutError):
            async with asyncio.timeout(2):
                metrics.needing(await troubles())
        return web.Response(body=metrics.page(), headers={"Content-Type": "text/plain; version=0.0.4; charset=utf-8"})

    return [web.get("/healthz", healthz), web.get("/readyz", readyz), web.get("/metrics", metrics_page)]


async def _checks(workers_alive: Check, troubles: Troubles) -> dict[str, Any]:
    try:
        async with asyncio.timeout(2):
            workers, needing = await workers_alive(), await troubles()
    except (*AWAY, TimeoutError):
        return {"database": False, "worker": False, "providers": {}}
    return {"database": True, "worker": workers > 0, "providers": needing}
