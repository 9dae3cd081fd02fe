"""The services that the settings configure: the agent, the playground's secret."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from bot.commands.base import DisabledAgent
from bot.services import load_or_create_secret, open_agent
from bot.settings import Settings
from perplexity.errors import Attempt
from perplexity.filters import Filters
from perplexity.types import Message, Question
from tests.fakes.model_server import KEY, MODEL, FakeModelServer, Says, calls
from tests.fakes.provider import FakeProvider

LOCAL = "http://127.0.0.1:11434/v1"
OPENROUTER_KEY = SecretStr("sk-or-1")


@pytest.mark.parametrize(
    ("given", "missing"),
    [
        ({}, "AGENT_MODEL"),
        ({"agent_api_key": SecretStr(KEY)}, "AGENT_MODEL"),
        ({"agent_model": MODEL}, "AGENT_API_KEY"),
        ({"agent_model": MODEL, "agent_api_key": SecretStr(KEY)}, None),
        ({"agent_model": MODEL, "openrouter_api_key": OPENROUTER_KEY}, None),
        ({"agent_model": MODEL, "agent_base_url": LOCAL}, None),
    ],
)
async def test_the_missing_setting_is_named(given: dict[str, Any], missing: str | None) -> None:
    settings = Settings(**given)

    async with open_agent(settings, provider=FakeProvider("One"), on_attempt=lambda attempt: None) as agent:
        assert settings.missing_agent_setting == missing
        assert (agent == DisabledAgent(missing=missing)) if missing else not isinstance(agent, DisabledAgent)


@pytest.mark.parametrize(
    ("given", "key"),
    [
        ({"openrouter_api_key": OPENROUTER_KEY}, "sk-or-1"),
        ({"openrouter_api_key": OPENROUTER_KEY, "agent_api_key": SecretStr(f" {KEY}\n")}, KEY),
        ({"openrouter_api_key": OPENROUTER_KEY, "agent_base_url": LOCAL}, None),
    ],
)
def test_openrouter_s_key_is_used_only_at_openrouter(given: dict[str, Any], key: str | None) -> None:
    assert Settings(agent_model=MODEL, **given).agent_key == key


async def test_the_agent_s_tools_use_the_chain_with_the_question_s_filters() -> None:
    chain, attempts = FakeProvider("One"), list[Attempt]()
    script = (
        calls("search_pages", query="moon"),
        calls("ask_web", prompt="Far?", reasoning=True),
        Says(text="So [1]."),
    )
    filters = Filters(recency="day", domains=("example.com",))
    async with FakeModelServer(script) as server:
        settings = Settings(agent_model=MODEL, agent_base_url=server.base_url, agent_api_key=SecretStr(KEY))
        async with open_agent(settings, provider=chain, on_attempt=attempts.append) as agent:
            answer = await agent.answer(Question(messages=(Message(role="user", content="How far?"),), filters=filters))

    assert (answer.text, answer.queries) == ("So [1].", ("moon", "Far?"))
    assert [(query.text, query.filters) for query in chain.queries] == [("moon", filters)]
    assert [(asked.text, asked.reasoning, asked.filters) for asked in chain.questions] == [("Far?", True, filters)]
    assert server.results(2)[1].startswith("It is so [1].\n\n<pages>\n[1] A page")
    assert [(attempt.provider, attempt.error_class) for attempt in attempts] == [("Agent", None)]
    assert server.keys == [f"Bearer {KEY}"] * 3


def test_the_playground_s_secret_is_the_same_after_a_restart_and_only_its_owner_can_read_it(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "data"

    assert load_or_create_secret(folder) == load_or_create_secret(folder)
    assert load_or_create_secret(tmp_path) != load_or_create_secret(folder)
    assert [(path.name, path.stat().st_mode & 0o777) for path in folder.iterdir()] == [("playground.key", 0o600)]


@pytest.mark.parametrize("content", [b"", b"x", b"0" * 63, b"\xff" * 64, b"0" * 64 + b"\n"])
def test_a_malformed_secret_is_replaced(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "playground.key").write_bytes(content)
    secret = load_or_create_secret(tmp_path)

    assert len(secret) == 64
    assert secret != "0" * 64
    assert load_or_create_secret(tmp_path) == secret


def test_without_a_writable_folder_each_process_has_its_own_secret(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    assert load_or_create_secret(tmp_path / "file") != load_or_create_secret(tmp_path / "file")
