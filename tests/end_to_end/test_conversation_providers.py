"""A question that needs the one before it is understood by every service, whichever way it takes questions."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from pydantic import SecretStr

from bot.settings import Settings
from perplexity.passages import JOINED_QUESTIONS
from tests.driver import Driver
from tests.fakes import brave, openrouter
from tests.fakes.brave import FakeBrave
from tests.fakes.duckduckgo import FakeDuckDuckGo, Hit, PointDdgsAt
from tests.fakes.openrouter import FakeOpenRouter
from tests.fakes.perplexity import FakePerplexity
from tests.fakes.service import FakeService

FIRST, SECOND = "Which EU country has the cheapest electricity?", "And in Switzerland?"
JOINED = f"{FIRST} {SECOND}"
TS, LATER = "1795255200.000100", "1795255260.000100"
PAGE = Hit(title="Prices", url="https://a.example/", body="The cheapest electricity in the EU and in Switzerland.")

MODELS = {"agent": "input", "sonar": "messages", "openrouter": "messages"}
"""The services that take a conversation, and the field of their requests that holds it."""
SEARCHES = ("brave", "duckduckgo")


@pytest.fixture
async def services(perplexity: FakePerplexity, point_ddgs_at: PointDdgsAt) -> AsyncIterator[dict[str, FakeService]]:
    pages = [PAGE]
    async with FakeOpenRouter() as chat, FakeBrave() as search, FakeDuckDuckGo(pages) as duckduckgo:
        point_ddgs_at(duckduckgo.url)
        yield {
            "agent": perplexity,
            "sonar": perplexity,
            "openrouter": chat,
            "brave": search,
            "duckduckgo": duckduckgo,
        }


@pytest.fixture
def settings(settings: Settings, services: dict[str, FakeService], service: str) -> Settings:
    chosen: dict[str, dict[str, Any]] = {
        "agent": {},
        "sonar": {"perplexity_api": "sonar"},
        "openrouter": {"openrouter_api_key": SecretStr(openrouter.KEY), "providers": "openrouter"},
        "brave": {"brave_api_key": SecretStr(brave.KEY), "providers": "brave"},
        "duckduckgo": {"providers": "duckduckgo"},
    }
    urls = {f"{name}_base_url": services[name].base_url for name in ("openrouter", "brave")}
    return settings.model_copy(update=urls | chosen[service])


async def ask_both(harness: Driver) -> str:
    """Ask both questions in a thread, and return the second answer as it is shown."""
    await harness.mention(FIRST, ts=TS)
    await harness.wait_until_settled(1)
    await harness.mention(SECOND, ts=LATER, thread_ts=TS)
    await harness.wait_until_settled(2)
    return harness.slack.thread("C1", TS)[-1].shown_text


@pytest.mark.parametrize("service", MODELS)
async def test_a_model_gets_both_questions_as_a_conversation(
    harness: Driver, services: dict[str, FakeService], service: str
) -> None:
    shown = await ask_both(harness)

    asked = services[service].requests[-1].json[MODELS[service]]
    assert [(turn["role"], turn["content"]) for turn in asked if turn["role"] == "user"] == [
        ("user", FIRST),
        ("user", SECOND),
    ]
    assert [turn["role"] for turn in asked] == ["system", "system", "user", "assistant", "user"]
    assert JOINED_QUESTIONS not in shown


@pytest.mark.parametrize("service", SEARCHES)
async def test_a_search_gets_both_questions_as_one__and_the_answer_says_so(
    harness: Driver, services: dict[str, FakeService], service: str
) -> None:
    shown = await ask_both(harness)

    searched = services[service]
    asked = searched.forms[-1] if isinstance(searched, FakeDuckDuckGo) else searched.requests[-1].query
    assert asked["q"] == JOINED
    assert JOINED_QUESTIONS in shown
