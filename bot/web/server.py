"""The HTTP server, with the health pages, the metrics page and security.txt."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import cast

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from bot.clock import utc_now
from bot.model.audit import AuditHealth
from bot.storage.database import DATABASE_UNAVAILABLE
from bot.web.connections import REQUEST_SECONDS, Connections, connection_limit
from bot.web.metrics import Metrics
from bot.web.signature import MAX_BODY_BYTES

log = logging.getLogger(__name__)

CACHE_SECONDS = 2.0
"""How long a result of the health check is cached."""

CHECK_SECONDS = 2.0
"""How long the database may take to answer."""


@dataclass(frozen=True, kw_only=True)
class HealthReport:
    """The number of live workers, the providers that need an admin with their errors, and the audit log's state."""

    workers: int
    admin_issues: dict[str, str]
    audit: AuditHealth


@dataclass(kw_only=True)
class HealthCheck:
    """Checks the database; one result serves all requests during the check and for a moment after it.

    Results are shared because anyone may send requests, as often as they like. `workers_alive` counts the workers that
    are alive, `admin_issues` returns the providers that need an admin, with the class of their last error, and `audit`
    returns the state of the audit log; they may raise database errors. `now` is a monotonic clock in seconds.
    """

    workers_alive: Callable[[], Awaitable[int]]
    admin_issues: Callable[[], Awaitable[dict[str, str]]]
    audit: Callable[[], Awaitable[AuditHealth]]
    now: Callable[[], float] = time.monotonic
    _task: asyncio.Task[HealthReport | None] | None = None
    _ended: float = 0.0

    async def __call__(self) -> HealthReport | None:
        """Return the state of the app; None if the database cannot be reached. Raises other errors of the database."""
        task = self._task
        if task is None or (task.done() and self.now() - self._ended >= CACHE_SECONDS):
            task = self._task = asyncio.create_task(self._check())
        # If one caller is cancelled, the others still get the result.
        return await asyncio.shield(task)

    async def _check(self) -> HealthReport | None:
        try:
            async with asyncio.timeout(CHECK_SECONDS):
                return HealthReport(
                    workers=await self.workers_alive(), admin_issues=await self.admin_issues(), audit=await self.audit()
                )
        except (*DATABASE_UNAVAILABLE, TimeoutError):
            return None
        finally:
            self._ended = self.now()


def routes(
    look: HealthCheck, *, metrics: Metrics, waiting: Callable[[], Awaitable[Mapping[str, int]]]
) -> list[web.RouteDef]:
    """Return the routes of `/healthz`, `/readyz` and `/metrics`.

    `/readyz` also names the providers that need an admin, and says whether the audit log is written. Neither makes the
    app unready: if a provider rejects its key, another one answers. `waiting` returns, by service and kind of
    call, the number of questions that wait because of a limit; it may raise database errors.
    """

    async def healthz(request: web.Request) -> web.Response:
        return web.json_response({"ok": True})

    async def readyz(request: web.Request) -> web.Response:
        health = await look()
        if health is None:
            return web.json_response({"database": False, "worker": False, "providers": {}, "audit": False}, status=503)
        checks = {
            "database": True,
            "worker": health.workers > 0,
            "providers": health.admin_issues,
            "audit": health.audit.ok,
        }
        return web.json_response(checks, status=200 if checks["worker"] else 503)

    async def metrics_page(request: web.Request) -> web.Response:
        # While the database is unavailable, the page shows the last result.
        if (health := await look()) is not None:
            metrics.set_admin_issues(health.admin_issues)
            metrics.set_audit(health.audit)
            with suppress(*DATABASE_UNAVAILABLE, TimeoutError):
                async with asyncio.timeout(CHECK_SECONDS):
                    metrics.set_waiting(await waiting())
        return web.Response(body=metrics.page(), headers={"Content-Type": "text/plain; version=0.0.4; charset=utf-8"})

    return [web.get("/healthz", healthz), web.get("/readyz", readyz), web.get("/metrics", metrics_page)]


SECURITY_TXT_DAYS = 180
"""How long a copy of security.txt is valid; the standard recommends less than a year."""


def security_txt(contact: str, *, now: Callable[[], datetime] = utc_now) -> web.RouteDef:
    """Return the route with the contact for reports of security holes.

    https://www.rfc-editor.org/rfc/rfc9116
    """

    async def page(request: web.Request) -> web.Response:
        expires = (now() + timedelta(days=SECURITY_TXT_DAYS)).strftime("%Y-%m-%dT00:00:00Z")
        return web.Response(text=f"Contact: {contact}\nExpires: {expires}\nPreferred-Languages: en\n")

    return web.get("/.well-known/security.txt", page)


async def answer_expect(request: web.Request) -> web.Response | None:
    """Answer the header Expect; return None if the request goes on, otherwise the response that ends it.

    aiohttp's own answer repeats an unknown value, and becomes a 500 if the value cannot be encoded.
    """
    if request.headers.get("Expect", "").lower() != "100-continue":
        return web.Response(status=417, text="unknown expectation")
    try:
        await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
    except ConnectionResetError:  # The sender has closed the connection.
        return web.Response(status=400)
    request.writer.output_size = 0  # 100 is not the final response.
    return None


def _with_expectations(route: web.RouteDef) -> web.RouteDef:
    return web.RouteDef(route.method, route.path, route.handler, {**route.kwargs, "expect_handler": answer_expect})


async def _missing(request: web.Request) -> web.Response:
    raise web.HTTPNotFound


class _MalformedRequests(logging.Filter):
    """Logs a malformed request as refused, instead of as an error, whose traceback would contain the request's data."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Return False for a record about a malformed request, which is logged here; True for any other record."""
        error = record.exc_info[1] if isinstance(record.exc_info, tuple) else None
        if not isinstance(error, HttpProcessingError):
            return True
        log.info("request.refused", extra={"status": error.code, "error": type(error).__name__})
        return False


def _http_logger() -> logging.Logger:
    """Return the logger of aiohttp's protocol."""
    logger = logging.getLogger("aiohttp.server.http")
    if not logger.filters:
        logger.addFilter(_MalformedRequests())
    return logger


KEEPALIVE_SECONDS = 95.0
"""How long idle connections are kept: longer than Heroku's router uses them.

That router keeps idle connections for 90 s, and cannot repeat a POST that meets a closing connection.
"""

SHUTDOWN_SECONDS = 5.0

ACCEPTED_AT_ONCE = 4
"""How many connections are accepted at once; each needs an open file, even if it is above the limit and closed next."""

BACKLOG = 1024
"""How many connections the operating system keeps until they are accepted."""


class Server:
    """One listening socket with its routes. `most` is the limit on open connections."""

    def __init__(self, routes: Sequence[web.RouteDef], *, host: str, port: int, most: int | None = None) -> None:
        self._connections = Connections(most=most or connection_limit())
        application = web.Application(client_max_size=MAX_BODY_BYTES, middlewares=[self._connections.middleware])
        application.add_routes(
            [_with_expectations(route) for route in (*routes, web.route("*", "/{path:.*}", _missing))]
        )
        # With `auto_decompress`, a compressed body would be inflated on the event loop before its signature is checked.
        self._runner = web.AppRunner(
            application,
            keepalive_timeout=KEEPALIVE_SECONDS,
            lingering_time=REQUEST_SECONDS,
            auto_decompress=False,
            shutdown_timeout=SHUTDOWN_SECONDS,
            access_log=None,
            logger=_http_logger(),
        )
        self._host = host
        self._port = port
        self._listening: asyncio.Server | None = None

    async def start(self) -> None:
        """Listen. Raises `OSError` if the port is taken or not allowed."""
        await self._runner.setup()
        protocol = self._connections.watch(cast("web.Server", self._runner.server))
        # asyncio accepts as many connections at once as `backlog` says, so the sockets get the larger backlog later.
        self._listening = await asyncio.get_running_loop().create_server(
            protocol, self._host, self._port, backlog=ACCEPTED_AT_ONCE
        )
        for listening in self._listening.sockets:
            with listening.dup() as same:
                same.listen(BACKLOG)

    async def stop_accepting(self) -> None:
        """Close the listening socket; open connections stay open."""
        if self._listening is not None:
            self._listening.close()

    async def stop(self) -> None:
        """Wait for open requests to end, then close everything."""
        await self.stop_accepting()
        await self._runner.cleanup()
