"""The agent against a model that really asks for tools."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from perplexity.agent import AgentLimits, WebAgent, model_at
from perplexity.tools.base import Tool
from perplexity.types import Answer, Message, Question, Source
from tests.fakes.model_server import KEY, MODEL, FakeModelServer, Says, Turn, calls

LIMITS = AgentLimits(steps=4, calls=8, seconds=20, retries=0)
MOON = {"title": "The Moon", "url": "https://moon.example/", "snippet": "It is 384,400 km away.", "date": "2026-11-01"}
SUN = {"title": "The Sun", "url": "https://sun.example/", "snippet": "It is 149.6 million km away.", "date": None}


def pages_tool(pages: Mapping[str, Sequence[Mapping[str, Any]]]) -> Tool:
    """Return a search that finds these pages by query."""

    async def handler(query: str) -> str:
        return json.dumps(pages.get(query, []))

    parameters = {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}
    return Tool(name="WebSearch", description="Searches.", parameters=parameters, handler=handler)


SEARCH = pages_tool({"moon": [MOON], "sun": [SUN, MOON]})


def asked(text: str = "How far is the moon?", **options: Any) -> Question:
    return Question(messages=(Message(role="user", content=text),), **options)


async def run(
    *script: Turn, tools: Sequence[Tool] = (SEARCH,), limits: AgentLimits = LIMITS, question: Question | None = None
) -> tuple[Answer, FakeModelServer]:
    async with FakeModelServer(script) as server:
        model = model_at(server.base_url, name=MODEL, api_key=KEY)
        async with WebAgent(model, lambda _: tools, limits=limits) as agent:
            return await agent.answer(question or asked()), server


async def test_two_searches_deep_every_page_has_one_number_for_the_whole_run() -> None:
    answer, server = await run(
        calls("WebSearch", query="moon"), calls("WebSearch", query="sun"), Says(text="Far [1], farther [2].")
    )

    assert (answer.text, answer.provider, answer.model) == ("Far [1], farther [2].", "Agent", MODEL)
    assert answer.sources == (
        Source(number=1, title="The Moon", url=MOON["url"] or "", snippet=MOON["snippet"] or "", date="2026-11-01"),
        Source(number=2, title="The Sun", url=SUN["url"] or "", snippet=SUN["snippet"] or ""),
    )
    assert (answer.queries, answer.usage.searches, answer.notes) == (("moon", "sun"), 2, ())
    assert (answer.usage.input_tokens, answer.usage.output_tokens) == (300, 30)
    assert server.results(2)[1].startswith("<pages>\n[2] The Sun (no date) https://sun.example/\nIt is 149.6")
    assert "[1] The Moon (2026-11-01)" in server.results(2)[1]
