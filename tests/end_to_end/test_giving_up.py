"""A deep `/ask` that is given up ends at Perplexity too, and no other service is paid for it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from typing import Any

import pytest
from psycopg import AsyncConnection
from pydantic import SecretStr

from bot.settings import Settings
from bot.worker.worker import MAX_REDELIVERIES
from tests.driver import Driver
from tests.fakes import openrouter
from tests.fakes.openrouter import FakeOpenRouter
from tests.fakes.perplexity import FakePerplexity

CANCELLED: dict[str, Any] = {"id": "resp_1", "object": "response", "status": "cancelled", "output": [], "error": None}


@pytest.fixture
async def perplexity() -> AsyncIterator[FakePerplexity]:
    async with FakePerplexity(polls=1_000) as fake:
        yield fake


@pytest.fixture
async def fallback_service() -> AsyncIterator[FakeOpenRouter]:
    async with FakeOpenRouter() as fake:
        yield fake


@pytest.fixture
def settings(settings: Settings, fallback_service: FakeOpenRouter) -> Settings:
    told = {"openrouter_api_key": SecretStr(openrouter.KEY), "openrouter_base_url": fallback_service.base_url}
    return settings.model_copy(update=told)


async def start_deep_question(harness: Driver, database: str) -> str:
    """Ask, and return the question's id once its run is recorded and asked for."""
    await harness.ask("/ask --model high why")
    await harness.perplexity.wait_for(2)
    async with await AsyncConnection.connect(database) as connection:
        ((question, run_id),) = await (await connection.execute("SELECT id, run_id FROM questions")).fetchall()
    assert run_id == "resp_1"
    return str(question)


async def wait_for_cancellation(harness: Driver) -> None:
    """Wait for the request that cancels the run; the service then says so to the person who asks."""
    async with asyncio.timeout(60):
        await harness.perplexity.cancel_requested.wait()
    harness.perplexity.runs["resp_1"] = [CANCELLED]


async def wait_until_given_up(caplog: pytest.LogCaptureFixture) -> None:
    """Wait until the worker has let go of a question."""
    async with asyncio.timeout(60):
        while True:
            if "question.superseded" in caplog.messages:
                return
            await asyncio.sleep(0.05)


def count_completions(fallback_service: FakeOpenRouter) -> int:
    return [request.path for request in fallback_service.requests].count("/chat/completions")


async def test_stop_cancels_the_run(
    harness: Driver, database: str, fallback_service: FakeOpenRouter, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    question = await start_deep_question(harness, database)

    await harness.click_button("stop", question)
    await wait_for_cancellation(harness)
    await wait_until_given_up(caplog)

    assert harness.perplexity.cancelled == ["resp_1"]
    assert count_completions(fallback_service) == 0


async def test_asking_again_cancels_the_run(
    harness: Driver, database: str, fallback_service: FakeOpenRouter, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    question = await start_deep_question(harness, database)

    await harness.click_button("retry", question)
    await wait_for_cancellation(harness)
    await wait_until_given_up(caplog)

    while [request.path for request in harness.perplexity.requests].count("/v1/agent") < 2:
        await harness.perplexity.wait_for(len(harness.perplexity.requests) + 1)

    assert harness.perplexity.cancelled == ["resp_1"]
    assert count_completions(fallback_service) == 0
    harness.perplexity.runs["resp_2"] = [CANCELLED | {"id": "resp_2"}]


async def test_giving_up_after_many_returns_cancels_the_run(
    harness: Driver, database: str, fallback_service: FakeOpenRouter, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    question = await start_deep_question(harness, database)
    async with await AsyncConnection.connect(database) as connection:
        # As if other workers had died over it and a sweep had brought it back.
        await connection.execute(
            "UPDATE questions SET returns = %s, attempt = attempt + 1 WHERE id = %s", (MAX_REDELIVERIES, question)
        )
        job = "SELECT procrastinate_defer_jobs_v1(ARRAY[ROW('default', 'answer_question', 0, NULL, NULL, %s, NULL)"
        await connection.execute(f"{job}::procrastinate_job_to_defer_v1])", (f'{{"question_id": "{question}"}}',))
        await connection.commit()
    await wait_for_cancellation(harness)
    await wait_until_given_up(caplog)

    assert harness.perplexity.cancelled == ["resp_1"]
    assert count_completions(fallback_service) == 0
