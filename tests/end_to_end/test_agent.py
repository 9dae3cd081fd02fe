"""`/ask --agent`, end to end: the model asks for tools, the chain answers them, Slack shows the answer."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from pydantic import SecretStr

from bot.settings import Settings
from tests.end_to_end.conftest import World
from tests.fakes.model_server import KEY, MODEL, FakeModelServer, Says, calls


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
def settings(request: pytest.FixtureRequest, settings: Settings, model: FakeModelServer) -> Settings:
    agent = {"agent_model": MODEL, "agent_base_url": model.base_url, "agent_api_key": SecretStr(KEY)}
    return settings.model_copy(update=agent if getattr(request, "param", True) else {})


async def test_the_agent_searches_by_the_chain_and_its_sources_are_shown(world: World, model: FakeModelServer) -> None:
    await world.asks("/ask --agent why is the sky blue")

    (post,) = await world.slack.wait_for(1)
    assert "So [[1]](https://a.example/1)" in post.words
    assert f"Agent · {MODEL} · " in post.words
    assert [request.path for request in world.perplexity.requests] == ["/search", "/v1/agent"]
    assert len(model.requests) == 3


@pytest.mark.parametrize("settings", [False], indirect=True)
async def test_where_no_agent_is_set_up_the_asker_is_sent_to_the_admin(world: World, model: FakeModelServer) -> None:
    await world.asks("/ask --agent why is the sky blue")

    (post,) = await world.slack.wait_for(1)
    assert "ask the app’s admin" in post.words.replace("'", "’")
    assert (model.requests, world.perplexity.requests) == ([], [])
