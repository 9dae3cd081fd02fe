"""A cut answer and a swapped model are told in the result of every tool that asks a model."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from aiohttp import ClientSession
from jsonschema import Draft202012Validator

from perplexity.notes import answer_notes
from perplexity.tools import (
    create_agentic_web_search_tool,
    create_perplexity_search_tool,
    create_websearch_tool,
)
from perplexity.tools.perplexity_search import OUTPUT
from perplexity.types import Answer, Message, Question
from tests.fakes.perplexity import KEY, FakePerplexity, fixture, json_reply
from tests.fakes.provider import FakeProvider, answer_by

CUT = {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}


def body_of(name: str) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(fixture(name))
    return body


def question_to(model: str | None, max_tokens: int | None = None) -> Question:
    return Question(messages=(Message(role="user", content="x"),), model=model, max_tokens=max_tokens)


@pytest.mark.parametrize(
    ("given", "question", "told"),
    [
        ({}, question_to(None), ()),
        ({"model": "openai/x"}, question_to("sonar"), ()),
        ({"model": "perplexity/sonar-pro"}, question_to("sonar-pro"), ()),
        ({"model": "openai/x"}, question_to("sonar-pro"), ("sonar-pro was asked for; openai/x answered.",)),
        ({"incomplete": "length"}, question_to(None), ("The answer is incomplete: it was cut off at max_tokens.",)),
        (
            {"incomplete": "max_output_tokens"},
            question_to(None, 1000),
            ("The answer is incomplete: it was cut off at max_tokens of 1,000.",),
        ),
        ({"incomplete": "x"}, None, ("The answer is incomplete: the model stopped early (x).",)),
        ({"notes": ("b answered.",), "model": "b"}, question_to("a"), ("b answered.",)),
    ],
)
def test_what_is_said_of_an_answer(given: Mapping[str, Any], question: Question | None, told: tuple[str, ...]) -> None:
    assert answer_notes(replace(answer_by("One"), **given), question) == told


async def test_perplexity_search_says_so(fake: FakePerplexity, session: ClientSession) -> None:
    fake.script("/v1/agent", json_reply({**body_of("agent.200.json"), **CUT}))
    tool = create_perplexity_search_tool(session, api_key=KEY, base_url=fake.base_url)

    result = json.loads(await tool(query="x", model="sonar-pro", max_tokens=200))

    assert result["notes"] == [
        "The answer is incomplete: it was cut off at max_tokens of 200.",
        "sonar-pro was asked for; openai/gpt-6-luna answered.",
    ]
    Draft202012Validator(OUTPUT).validate(result)


async def test_a_withdrawn_model_is_named(fake: FakePerplexity, session: ClientSession) -> None:
    fake.script("/chat/completions", json_reply({**body_of("sonar.200.json"), "model": "sonar-reasoning-pro"}))
    tool = create_perplexity_search_tool(session, api_key=KEY, base_url=fake.base_url, api="sonar")

    result = json.loads(await tool(query="x", model="sonar-reasoning"))

    assert result["notes"] == ["Perplexity has withdrawn sonar-reasoning: sonar-reasoning-pro answered."]


async def test_agentic_web_search_says_so(fake: FakePerplexity, session: ClientSession) -> None:
    fake.script("/v1/agent", json_reply({**body_of("agent.200.json"), **CUT}))
    tool = create_agentic_web_search_tool(session, api_key=KEY, base_url=fake.base_url)

    told = await tool(prompt="x", reasoning=False)

    assert told.endswith("</references>\n\nThe answer is incomplete: it was cut off at max_tokens.")


async def test_websearch_says_so() -> None:
    class Cut(FakeProvider):
        async def answer(self, question: Question) -> Answer:
            return replace(await super().answer(question), incomplete="length")

    told = await create_websearch_tool(Cut("Perplexity"))(query="x")

    assert told.endswith("\n\nAnswered by Perplexity. The answer is incomplete: it was cut off at max_tokens.")
