"""The job engine's worker: how it ends."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from uuid import UUID

import pytest

from bot.jobs import Jobs
from bot.storage.questions import connection_pool

CONNECTIONS = 3


async def _nothing(question: UUID) -> None:
    """Answer a question that nobody asked."""


@pytest.mark.parametrize("ticks", range(16))
async def test_stopped_while_it_is_handed_a_connection__the_worker_ends(database: str, ticks: int) -> None:
    async with connection_pool(database, size=CONNECTIONS) as pool:
        jobs = Jobs(pool)
        await jobs.open()
        jobs.on_question(_nothing)
        async with AsyncExitStack() as others:
            for _ in range(CONNECTIONS):
                await others.enter_async_context(pool.connection())
            working = asyncio.create_task(jobs.work(drain_seconds=1))
            for _ in range(10):
                await asyncio.sleep(0)
            assert pool.get_stats()["requests_waiting"] == 1
        for _ in range(ticks):
            await asyncio.sleep(0)
        working.cancel()

        ended, _ = await asyncio.wait({working}, timeout=10)

    assert ended == {working}
    assert working.cancelled()
