"""Which settings make an agent, and what the agent of the app does."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import SecretStr

from bot.commands.base import DisabledAgent
from bot.services import open_agent
from bot.settings import Settings
from perplexity.attempts import Attempt
from perplexity.filters import Filters
from perplexity.types import Message, Question
from tests.fakes.model_server import KEY, MODEL, FakeModelServer, Says, calls
from tests.fakes.provider import FakeProvider

LOCAL = "http://127.0.0.1:11434/v1"
OPENROUTER_KEY = SecretStr("sk-or-1")


@pytest.mark.parametrize(
    ("given", "lacks"),
    [
        ({}, "AGENT_MODEL"),
        ({"agent_api_key": SecretStr(KEY)}, "AGENT_MODEL"),
        ({"agent_model": MODEL}, "AGENT_API_KEY"),
        ({"agent_model": MODEL, "agent_api_key": SecretStr(KEY)}, None),
        ({"agent_model": MODEL, "openrouter_api_key": OPENROUTER_KEY}, None),
        ({"agent_model": MODEL, "agent_base_url": LOCAL}, None),
    ],
)
async def test_what_is_missing_is_named(given: dict[str, Any], lacks: str | None) -> None:
    settings = Settings(**given)

    async with open_agent(settings, provider=FakeProvider("One"), on_attempt=lambda attempt: None) as agent:
        assert settings.missing_agent_setting == lacks
        assert (agent == DisabledAgent(missing=lacks)) if lacks else not isinstance(agent, DisabledAgent)


@pytest.mark.parametrize(
    ("given", "key"),
    [
        ({"openrouter_api_key": OPENROUTER_KEY}, "sk-or-1"),
        ({"openrouter_api_key": OPENROUTER_KEY, "agent_api_key": SecretStr(f" {KEY}\n")}, KEY),
        ({"openrouter_api_key": OPENROUTER_KEY, "agent_base_url": LOCAL}, None),
    ],
)
def test_openrouter_s_key_goes_to_openrouter_alone(given: dict[str, Any], key: str | None) -> None:
    assert Settings(agent_model=MODEL, **given).agent_key == key


async def test_its_tools_search_and_ask_the_chain_within_the_question_s_filters() -> None:
    chain, heard = FakeProvider("One"), list[Attempt]()
    script = (
        calls("search_pages", query="moon"),
        calls("ask_web", prompt="Far?", reasoning=True),
        Says(text="So [1]."),
    )
    filters = Filters(recency="day", domains=("example.com",))
    async with FakeModelServer(script) as server:
        settings = Settings(agent_model=MODEL, agent_base_url=server.base_url, agent_api_key=SecretStr(KEY))
        async with open_agent(settings, provider=chain, on_attempt=heard.append) as agent:
            answer = await agent.answer(Question(messages=(Message(role="user", content="How far?"),), filters=filters))

    assert (answer.text, answer.queries) == ("So [1].", ("moon", "Far?"))
    assert [(query.text, query.filters) for query in chain.queries] == [("moon", filters)]
    assert [(asked.text, asked.reasoning, asked.filters) for asked in chain.questions] == [("Far?", True, filters)]
    assert server.results(2)[1].startswith("It is so [1].\n\n<pages>\n[1] A page")
    assert [(attempt.provider, attempt.error_class) for attempt in heard] == [("Agent", None)]
    assert server.keys == [f"Bearer {KEY}"] * 3
