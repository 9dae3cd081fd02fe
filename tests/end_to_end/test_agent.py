"""`/ask --agent`, end to end: the model asks for tools, the chain answers them, Slack shows the answer."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from pydantic import SecretStr

from bot.settings import Settings
from tests.driver import Driver
from tests.end_to_end.test_honest_answers import NO_CREDIT, first_line
from tests.fakes import openrouter
from tests.fakes.model_server import KEY, MODEL, FakeModelServer, Says, calls
from tests.fakes.openrouter import FakeOpenRouter


@pytest.fixture
async def model() -> AsyncIterator[FakeModelServer]:
    script = (
        calls("search_pages", query="sky"),
        calls("ask_web", prompt="Why?", reasoning=False),
        Says(text="So [1]."),
    )
    async with FakeModelServer(script) as server:
        yield server


@pytest.fixture
async def other() -> AsyncIterator[FakeOpenRouter]:
    async with FakeOpenRouter() as fake:
        yield fake


@pytest.fixture
def settings(
    request: pytest.FixtureRequest, settings: Settings, model: FakeModelServer, other: FakeOpenRouter
) -> Settings:
    agent = {
        "agent_model": MODEL,
        "agent_base_url": model.base_url,
        "agent_api_key": SecretStr(KEY),
        "openrouter_api_key": SecretStr(openrouter.KEY),
        "openrouter_base_url": other.base_url,
        "providers": "perplexity,openrouter",
    }
    return settings.model_copy(update=agent if getattr(request, "param", True) else {})


async def test_the_agent_searches_by_the_chain_and_its_sources_are_shown(
    harness: Driver, model: FakeModelServer
) -> None:
    await harness.ask("/ask --agent why is the sky blue")

    (post,) = await harness.slack.wait_for(1)
    assert "So [[1]](https://a.example/1)" in post.shown_text
    assert "$" not in post.shown_text
    assert [request.path for request in harness.perplexity.requests] == ["/search", "/v1/agent"]
    assert len(model.requests) == 3


async def test_a_fallback_of_the_agent_s_tools_is_reported_first(harness: Driver, model: FakeModelServer) -> None:
    harness.perplexity.script("/v1/agent", NO_CREDIT)
    await harness.ask("/ask --agent why is the sky blue")

    (post,) = await harness.slack.wait_for(1)
    assert first_line(post) == ":warning: Perplexity is out of credit; the agent read an answer from OpenRouter."
    assert post.shown_text.count("out of credit") == 1
    assert "$" not in post.shown_text


@pytest.mark.parametrize("settings", [False], indirect=True)
async def test_where_no_agent_is_set_up_the_asker_is_sent_to_the_admin(harness: Driver, model: FakeModelServer) -> None:
    await harness.ask("/ask --agent why is the sky blue")

    (post,) = await harness.slack.wait_for(1)
    assert "ask the app’s admin" in post.shown_text.replace("'", "’")
    assert (model.requests, harness.perplexity.requests) == ([], [])
