"""The agent with the project's own tools, each against its service on loopback."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from perplexity.agent import NAME, AgentLimits, WebAgent, build_model, provider_tools
from perplexity.errors import AllProvidersFailed, Attempt
from perplexity.tools import TOOLS
from perplexity.types import Answer, Message, Question
from tests.fakes.duckduckgo import FakeDuckDuckGo, Hit, PointDdgsAt
from tests.fakes.model_server import KEY as MODEL_KEY
from tests.fakes.model_server import MODEL, FakeModelServer, Says, Turn, calls
from tests.fakes.perplexity import KEY, FakePerplexity
from tests.fakes.provider import FakeProvider

QUESTION = Question(messages=(Message(role="user", content="Is it so?"),))
LIMITS = AgentLimits(steps=4, seconds=20, retries=0)


@pytest.fixture
async def _services(monkeypatch: pytest.MonkeyPatch, point_ddgs_at: PointDdgsAt) -> AsyncIterator[None]:
    """Serve Perplexity and DuckDuckGo."""
    hits = [Hit(title="Python", url="https://python.org/", body="Free threads.")]
    async with FakePerplexity() as perplexity, FakeDuckDuckGo(hits) as duckduckgo:
        monkeypatch.setenv("PERPLEXITY_API_KEY", KEY)
        monkeypatch.setenv("PERPLEXITY_BASE_URL", perplexity.base_url)
        point_ddgs_at(duckduckgo.url)
        yield


async def run(*script: Turn) -> tuple[Answer, FakeModelServer]:
    async with FakeModelServer(script) as server:
        model = build_model(server.base_url, name=MODEL, api_key=MODEL_KEY)
        async with WebAgent(model, lambda _: TOOLS, limits=LIMITS) as agent:
            return await agent.answer(QUESTION), server


PYTHON = [("Python", "https://python.org/")]
EXAMPLE = "https://a.example/1"


@pytest.mark.usefixtures("_services")
@pytest.mark.parametrize(
    ("name", "arguments", "first"),
    [
        ("WebSearch", {"query": "so"}, ("Example A", EXAMPLE)),
        ("AgenticWebSearch", {"prompt": "so?", "reasoning": False}, ("Example A", EXAMPLE)),
        ("perplexity_search", {"query": "so"}, ("Example A", EXAMPLE)),
        ("websearch", {"query": "so"}, ("Example A", EXAMPLE)),
        ("news_summary", {"category": "world"}, ("Example B", "https://b.example/2")),
        ("news_deepdive", {"topic": "so"}, ("Example A", EXAMPLE)),
        ("web_search", {"query": "so"}, ("Python", "https://python.org/")),
    ],
)
async def test_the_pages_of_every_tool_can_be_cited(
    name: str, arguments: dict[str, Any], first: tuple[str, str]
) -> None:
    answer, server = await run(calls(name, **arguments), Says(text="It is [1]."))

    assert (answer.sources[0].title, answer.sources[0].url) == first
    assert f"<pages>\n[1] {first[0]} (" in server.results(1)[0]
    assert (answer.text, answer.notes) == ("It is [1].", ())


@pytest.mark.usefixtures("_services")
async def test_the_model_corrects_an_argument_that_is_not_allowed() -> None:
    wrong, right = calls("perplexity_search", query="so", model="sonr"), calls("perplexity_search", query="so")

    answer, server = await run(wrong, right, Says(text="It is [1]."))

    assert "model must be sonar, sonar-pro" in server.results(1)[0]
    assert answer.sources[0].url == EXAMPLE


async def run_over_provider(provider: FakeProvider, *script: Turn) -> tuple[Answer, FakeModelServer, list[Attempt]]:
    heard: list[Attempt] = []
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    async with FakeModelServer(script, usage=usage, model="gpt-4o") as server:
        model = build_model(server.base_url, name="gpt-4o", api_key=MODEL_KEY)
        async with WebAgent(model, provider_tools(provider), limits=LIMITS, on_attempt=heard.append) as agent:
            return await agent.answer(QUESTION), server, heard


@pytest.mark.parametrize("call", [calls("search_pages", query="so"), calls("ask_web", prompt="so?", reasoning=True)])
async def test_a_failed_chain_is_reported_to_the_model(call: Turn) -> None:
    failed = AllProvidersFailed([Attempt(provider="Brave", seconds=1, error_class="TimedOut")])

    answer, server, _ = await run_over_provider(FakeProvider("One", error=failed), call, Says(text="I do not know."))

    assert server.results(1)[0].endswith(" failed: Brave: TimedOut]")
    assert answer.text == "I do not know."


async def test_the_end_of_a_run_is_reported() -> None:
    _, _, heard = await run_over_provider(
        FakeProvider("One"), calls("search_pages", query="so"), Says(text="It is [1].")
    )

    assert [(a.provider, a.kind, a.error_class) for a in heard] == [(NAME, "answer", None)]


async def test_a_failure_of_the_model_is_reported() -> None:
    heard: list[Attempt] = []
    model = build_model("http://127.0.0.1:9/v1", name=MODEL, api_key=MODEL_KEY)
    async with WebAgent(model, lambda _: (), limits=LIMITS, on_attempt=heard.append) as agent:
        with pytest.raises(Exception, match="no connection"):
            await agent.answer(QUESTION)

    assert [(a.error_class, a.summary) for a in heard] == [("ConnectionFailed", "could not be reached")]
