"""`/deepdive` through the whole app where OpenRouter reads the posts, and where no one does."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from pydantic import SecretStr

from bot.settings import Settings
from tests.driver import Driver
from tests.fakes import openrouter
from tests.fakes.openrouter import FakeOpenRouter


@pytest.fixture
async def router() -> AsyncIterator[FakeOpenRouter]:
    async with FakeOpenRouter() as fake:
        yield fake


@pytest.fixture(params=[True, False], ids=["with its key", "without a key"])
def keyed(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.fixture
def settings(settings: Settings, router: FakeOpenRouter, keyed: bool) -> Settings:
    key = SecretStr(openrouter.KEY) if keyed else None
    return settings.model_copy(update={"openrouter_api_key": key, "openrouter_base_url": router.base_url})


async def test_the_report_names_who_read_the_posts_or_which_keys_are_missing(
    harness: Driver, router: FakeOpenRouter, keyed: bool
) -> None:
    await harness.ask("/deepdive heat pumps")
    await harness.wait_until_settled(1)

    shown = harness.slack.posts[-1].shown_text
    asked = [request.json["model"] for request in router.requests if request.path == "/chat/completions"]
    assert ("Of 3 posts: 2 positive · 0 neutral · 1 negative · 0 mixed" in shown) == keyed
    assert ("Set `XAI_API_KEY` or `OPENROUTER_API_KEY`." in shown) != keyed
    assert asked == (["x-ai/grok-4.3"] if keyed else [])
    assert harness.slack.refusals == []
