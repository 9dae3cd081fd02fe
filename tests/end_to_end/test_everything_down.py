"""Every search service answers 503: who asks is told soon, in words, and the services are hardly called."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace

import pytest
from pydantic import SecretStr

from bot.settings import Settings
from tests.driver import Driver
from tests.fakes import brave, openrouter
from tests.fakes.brave import FakeBrave
from tests.fakes.faults import BRAVE, OPENROUTER, PERPLEXITY
from tests.fakes.openrouter import FakeOpenRouter
from tests.fakes.perplexity import FakePerplexity
from tests.fakes.person import Person
from tests.fakes.service import FakeService

FAILED = "no search service could answer this just now"
PATHS = {"/v1/agent", "/chat/completions", "/llm/context", "/search", "/web/search", "/news/search"}
TOLD_WITHIN_SECONDS = 15.0


@pytest.fixture
async def services(perplexity: FakePerplexity) -> AsyncIterator[Sequence[FakeService]]:
    """Perplexity and two stand-ins; each is down."""
    async with AsyncExitStack() as stack:
        others = [await stack.enter_async_context(FakeOpenRouter()), await stack.enter_async_context(FakeBrave())]
        for service, faults in zip((perplexity, *others), (PERPLEXITY, OPENROUTER, BRAVE), strict=True):
            for path in PATHS:
                service.lasting[path] = faults["503"]
        yield (perplexity, *others)


@pytest.fixture
def settings(settings: Settings, services: Sequence[FakeService]) -> Settings:
    """Return those of an app that retries as it does by default."""
    default = Settings.model_fields
    return settings.model_copy(
        update={
            "providers": "perplexity,openrouter,brave",
            "openrouter_api_key": SecretStr(openrouter.KEY),
            "openrouter_base_url": services[1].base_url,
            "brave_api_key": SecretStr(brave.KEY),
            "brave_base_url": services[2].base_url,
            "retry_attempts": default["retry_attempts"].default,
            "retry_base_seconds": default["retry_base_seconds"].default,
        }
    )


def calls(services: Sequence[FakeService]) -> list[int]:
    return [sum(request.path in PATHS for request in service.requests) for service in services]


@asynccontextmanager
async def seconds_passed(tick: float = 0.05) -> AsyncIterator[Callable[[], float]]:
    """Yield what returns the seconds that have passed, without those in which a busy machine did nothing here."""
    ticks = 0

    async def count() -> None:
        nonlocal ticks
        while True:
            await asyncio.sleep(tick)
            ticks += 1

    counting = asyncio.create_task(count())
    yield lambda: ticks * tick
    counting.cancel()


@pytest.mark.parametrize("command", ["/ask why", "/ask --reasoning why", "/search why"])
async def test_one_question_is_told_of_within_seconds(
    command: str, harness: Driver, services: Sequence[FakeService], settings: Settings
) -> None:
    async with seconds_passed() as passed:
        await harness.ask(command)
        await harness.slack.wait_for_text(FAILED)

    assert passed() <= TOLD_WITHIN_SECONDS
    assert sum(calls(services)) <= len(services) + settings.retry_attempts


async def test_of_30_at_once_all_are_told(harness: Driver, services: Sequence[FakeService]) -> None:
    people = [replace(harness.person, user=f"U{number}") for number in range(30)]

    async with asyncio.TaskGroup() as group:
        for number, person in enumerate(people):
            group.create_task(_ask(person, f"question {number}", trigger=f"t{number}"))
    await harness.slack.wait_until(
        lambda: sum(FAILED in post.shown_text for post in harness.slack.posts) >= 30, seconds=180
    )

    assert max(calls(services)) <= 60


async def _ask(person: Person, text: str, *, trigger: str) -> None:
    async with await person.type_command(f"/ask {text}", trigger=trigger) as response:
        assert response.status == 200
