"""Readiness and metrics ask the database once for all who ask within a moment."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer
from psycopg import OperationalError

from bot.web import server
from bot.web.metrics import Metrics
from tests.fakes.time import Time


@dataclass
class Database:
    """Counts who looks; answers when `answers` is set, unless it is away."""

    looks: int = 0
    workers: int = 1
    away: bool = False
    answers: asyncio.Event = field(default_factory=asyncio.Event)
    needing: dict[str, str] = field(default_factory=dict)

    async def workers_alive(self) -> int:
        self.looks += 1
        await self.answers.wait()
        if self.away:
            raise OperationalError
        return self.workers

    async def troubles(self) -> dict[str, str]:
        return self.needing


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
            workers_alive=database.workers_alive, admin_issues=database.troubles, metrics=Metrics(), now=clock.clock
        )
    )
    async with TestClient(TestServer(application)) as client:
        yield Page(client=client, database=database, clock=clock)


async def test_twenty_at_once_are_one_look(page: Page) -> None:
    page.database.answers.clear()
    asking = asyncio.gather(*(page.ready() if number % 2 else page.metrics() for number in range(20)))
    await asyncio.sleep(0.2)
    page.database.answers.set()

    assert len(await asking) == 20
    assert page.database.looks == 1


async def test_a_look_is_good_for_a_moment(page: Page) -> None:
    assert await page.ready() == (200, {"database": True, "worker": True, "providers": {}})
    page.database.workers, page.database.needing = 0, {"One": "BillingError"}
    assert (await page.ready())[0] == 200
    assert 'provider_needs_an_admin{provider="One"}' not in await page.metrics()

    page.clock.now += server.CACHE_SECONDS

    assert await page.ready() == (503, {"database": True, "worker": False, "providers": {"One": "BillingError"}})
    assert 'provider_needs_an_admin{provider="One"} 1.0' in await page.metrics()
    assert page.database.looks == 2


async def test_while_the_database_is_away_the_metrics_say_what_it_said_last(page: Page) -> None:
    page.database.needing = {"One": "BillingError"}
    await page.metrics()
    page.database.away = True
    page.clock.now += server.CACHE_SECONDS

    assert await page.ready() == (503, {"database": False, "worker": False, "providers": {}})
    assert 'provider_needs_an_admin{provider="One"} 1.0' in await page.metrics()


async def test_who_goes_away_takes_nothing_from_the_others(page: Page) -> None:
    look = server.HealthCheck(
        workers_alive=page.database.workers_alive, admin_issues=page.database.troubles, now=page.clock.clock
    )
    page.database.answers.clear()
    first, second = asyncio.ensure_future(look()), asyncio.ensure_future(look())
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.sleep(0)
    page.database.answers.set()

    assert await second == server.Health(workers=1, admin_issues={})
    assert page.database.looks == 1
