"""`/healthz` (is the process there), `/readyz` (can it take and answer questions), `/metrics`: no data in any."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from aiohttp import web

from bot.storage.patience import AWAY
from bot.web.metrics import Metrics

Check = Callable[[], Awaitable[int]]
"""Counts the workers that are alive; raises like the database."""


def routes(*, workers_alive: Check, metrics: Metrics) -> list[web.RouteDef]:
    """Return the three routes."""

    async def healthz(request: web.Request) -> web.Response:
        return web.json_response({"ok": True})

    async def readyz(request: web.Request) -> web.Response:
        checks = await _checks(workers_alive)
        return web.json_response(checks, status=200 if all(checks.values()) else 503)

    async def metrics_page(request: web.Request) -> web.Response:
        return web.Response(body=metrics.page(), headers={"Content-Type": "text/plain; version=0.0.4; charset=utf-8"})

    return [web.get("/healthz", healthz), web.get("/readyz", readyz), web.get("/metrics", metrics_page)]


async def _checks(workers_alive: Check) -> dict[str, bool]:
    try:
        async with asyncio.timeout(2):
            workers = await workers_alive()
    except (*AWAY, TimeoutError):
        return {"database": False, "worker": False}
    return {"database": True, "worker": workers > 0}
