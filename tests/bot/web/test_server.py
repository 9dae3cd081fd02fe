"""Readiness and metrics: one database check serves all requests within a moment."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import pytest
from aiohttp import ClientConnectionResetError, web
from aiohttp.test_utils import TestClient, TestServer, make_mocked_request
from psycopg import OperationalError

from bot.model.audit import AuditHealth
from bot.web import server
from bot.web.metrics import Metrics
from tests.fakes.listeners import returning
from tests.fakes.time import Time


@dataclass
class Database:
    """Counts checks; answers when `answers` is set, unless it is `down`."""

    checks: int = 0
    workers: int = 1
    down: bool = False
    answers: asyncio.Event = field(default_factory=asyncio.Event)
    issues: dict[str, str] = field(default_factory=dict)
    audit_waits: float = 0.0

    async def workers_alive(self) -> int:
        self.checks += 1
        await self.answers.wait()
        if self.down:
            raise OperationalError
        return self.workers

    async def admin_issues(self) -> dict[str, str]:
        return self.issues

    async def audit(self) -> AuditHealth:
        return AuditHealth(waiting_seconds=self.audit_waits)


@dataclass
class Page:
    client: TestClient[web.Request, web.Application]
    database: Database
    clock: Time

    async def ready(self) -> tuple[int, object]:
        async with self.client.get("/readyz") as response:
            return response.status, await response.json()

    async def metrics(self) -> str:
        async with self.client.get("/metrics") as response:
            assert response.status == 200
            return await response.text()


@pytest.fixture
async def page() -> AsyncIterator[Page]:
    database, clock = Database(), Time()
    database.answers.set()
    application = web.Application()
    application.add_routes(
        server.routes(
            server.HealthCheck(
                workers_alive=database.workers_alive,
                admin_issues=database.admin_issues,
                audit=database.audit,
                now=clock.clock,
            ),
            metrics=Metrics(),
            waiting=returning({}),
        )
    )
    async with TestClient(TestServer(application)) as client:
        yield Page(client=client, database=database, clock=clock)


async def test_twenty_requests_at_once_are_one_check(page: Page) -> None:
    page.database.answers.clear()
    requests = asyncio.gather(*(page.ready() if number % 2 else page.metrics() for number in range(20)))
    await asyncio.sleep(0.2)
    page.database.answers.set()

    assert len(await requests) == 20
    assert page.database.checks == 1


async def test_a_result_is_cached_for_a_moment(page: Page) -> None:
    assert await page.ready() == (200, {"database": True, "worker": True, "providers": {}, "audit": True})
    page.database.workers, page.database.issues = 0, {"One": "BillingError"}
    assert (await page.ready())[0] == 200
    assert 'provider_needs_an_admin{provider="One"}' not in await page.metrics()

    page.clock.now += server.CACHE_SECONDS

    assert await page.ready() == (
        503,
        {"database": True, "worker": False, "providers": {"One": "BillingError"}, "audit": True},
    )
    assert 'provider_needs_an_admin{provider="One"} 1.0' in await page.metrics()
    assert page.database.checks == 2


async def test_while_the_database_is_down_the_metrics_show_the_last_result(page: Page) -> None:
    page.database.issues = {"One": "BillingError"}
    await page.metrics()
    page.database.down = True
    page.clock.now += server.CACHE_SECONDS

    assert await page.ready() == (503, {"database": False, "worker": False, "providers": {}, "audit": False})
    assert 'provider_needs_an_admin{provider="One"} 1.0' in await page.metrics()


async def test_a_cancelled_request_does_not_cancel_the_check(page: Page) -> None:
    check = server.HealthCheck(
        workers_alive=page.database.workers_alive,
        admin_issues=page.database.admin_issues,
        audit=page.database.audit,
        now=page.clock.clock,
    )
    page.database.answers.clear()
    first, second = asyncio.ensure_future(check()), asyncio.ensure_future(check())
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.sleep(0)
    page.database.answers.set()

    assert await second == server.HealthReport(workers=1, admin_issues={}, audit=AuditHealth())
    assert page.database.checks == 1


async def test_an_audit_log_that_is_not_written_is_told_and_keeps_no_one_from_answers(page: Page) -> None:
    page.database.audit_waits = 61.0

    assert await page.ready() == (200, {"database": True, "worker": True, "providers": {}, "audit": False})
    assert "audit_ok 0.0" in await page.metrics()
    assert "audit_waiting_seconds 61.0" in await page.metrics()


class GoneSender:
    """A connection that was closed before anything could be written to it."""

    async def write(self, chunk: bytes) -> None:
        raise ClientConnectionResetError("Cannot write to closing transport")


async def test_a_sender_that_is_gone_before_it_may_continue_is_no_error() -> None:
    request = make_mocked_request("POST", "/slack/events", headers={"Expect": "100-continue"}, writer=GoneSender())

    answer = await server.answer_expect(request)

    assert answer is not None
    assert answer.status == 400
