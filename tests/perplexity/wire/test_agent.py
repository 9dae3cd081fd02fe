from __future__ import annotations

import json
from datetime import date
from typing import Any

import pytest

from perplexity.errors import (
    AuthenticationError,
    BillingError,
    InvalidRequest,
    MalformedResponse,
    PerplexityError,
    RateLimitError,
    RunFailed,
    ServerError,
)
from perplexity.filters import Filters
from perplexity.models import resolve
from perplexity.types import AnswerKind, Attachment, Message, Question, Usage
from perplexity.wire.agent import INSTRUCTIONS, Agent
from perplexity.wire.json import loads
from tests.fakes.perplexity import AGENT_FIELDS, FILTER_FIELDS, TOOL_FIELDS, fixture

WIRE = Agent()
FORCED = {"instructions": INSTRUCTIONS, "tool_choice": {"type": "web_search"}, "max_steps": 5}


def question(text: str = "why", **more: Any) -> Question:
    return Question(messages=(Message(role="user", content=text),), **more)


def body(model: str | None = None, *, stream: bool = False, reasoning: bool = False, **more: Any) -> dict[str, Any]:
    return WIRE.build(question(**more), resolve(model, reasoning=reasoning), stream=stream)


def test_files_are_parts_of_the_last_turn__recorded_without_their_contents() -> None:
    files = (
        Attachment(name="a.png", media_type="image/png", data=b"image"),
        Attachment(name="b.pdf", media_type="application/pdf", data=b"pages"),
    )
    turns = (Message(role="user", content="what is this"), Message(role="assistant", content="A chart."))
    built = WIRE.build(
        Question(messages=(*turns, Message(role="user", content="and this")), attachments=files),
        resolve(None),
        stream=False,
    )

    assert built["input"][1:] == [
        {"type": "message", "role": "assistant", "content": "A chart."},
        {
            "type": "message",
            "role": "user",
            "content": [
                {"type": "input_text", "text": "and this"},
                {"type": "input_image", "image_url": files[0]},
                {"type": "input_file", "filename": "b.pdf", "file_data": files[1]},
            ],
        },
    ]


@pytest.mark.parametrize(
    ("built", "expected"),
    [
        (body(), {"effort": "fast", "input": "why", "store": False}),
        (body(stream=True), {"effort": "fast", "input": "why", "store": False, "stream": True}),
        (body("low"), {"effort": "low", "input": "why", "store": False}),
        (body("sonar-deep-research"), {"effort": "high", "input": "why", "store": True, "background": True}),
        (body("xhigh"), {"effort": "xhigh", "input": "why", "store": True, "background": True}),
        (
            body("openai/gpt-6-luna"),
            {"model": "openai/gpt-6-luna", "input": "why", "store": False, "tools": [{"type": "web_search"}], **FORCED},
        ),
        (
            body("medium", max_tokens=500),
            {"effort": "medium", "input": "why", "store": False, "max_output_tokens": 500},
        ),
        (
            body("anthropic/claude-sonnet-5-5", max_tokens=500),
            {
                "model": "anthropic/claude-sonnet-5-5",
                "input": "why",
                "store": False,
                "tools": [{"type": "web_search"}],
                "max_output_tokens": 500,
                **FORCED,
            },
        ),
        (
            body("anthropic/claude-sonnet-5-5", reasoning=True),
            {
                "model": "anthropic/claude-sonnet-5-5",
                "input": "why",
                "store": False,
                "tools": [{"type": "web_search"}],
                "max_output_tokens": 8192,
                "reasoning": {"effort": "medium"},
                **FORCED,
            },
        ),
        (
            body(schema={"type": "object"}),
            {
                "effort": "fast",
                "input": "why",
                "store": False,
                "response_format": {
                    "type": "json_schema",
                    "json_schema": {"name": "answer", "schema": {"type": "object"}},
                },
            },
        ),
        (
            body(filters=Filters(languages=("de", "en"))),
            {"effort": "fast", "input": "why", "store": False, "language_preference": "de"},
        ),
        (body(filters=Filters(mode="web")), {"effort": "fast", "input": "why", "store": False}),
    ],
)
def test_a_body_holds_what_was_asked_for_and_nothing_else(built: dict[str, Any], expected: dict[str, Any]) -> None:
    assert expected == built


def test_filters_travel_in_the_search_tool() -> None:
    filters = Filters(domains=("-a.com",), country="DE", after=date(2026, 1, 2), before=date(2026, 2, 1))

    (tool,) = body(filters=filters)["tools"]

    expected = {
        "type": "web_search",
        "filters": {
            "search_domain_filter": ["-a.com"],
            "search_after_date_filter": "01/02/2026",
            "search_before_date_filter": "02/01/2026",
        },
        "user_location": {"country": "DE"},
    }
    assert expected == tool
    assert body(filters=Filters(recency="day"))["tools"] == [
        {"type": "web_search", "filters": {"search_recency_filter": "day"}}
    ]


def test_the_size_of_the_context_travels_in_the_search_tool() -> None:
    assert body(context="low")["tools"] == [{"type": "web_search", "search_context_size": "low"}]


def test_no_field_is_sent_that_the_service_does_not_know() -> None:
    filters = Filters(domains=("a.com",), country="DE", languages=("de",), recency="week")
    for model in ("fast", "high", "anthropic/claude-sonnet-5-5"):
        built = body(model, stream=True, reasoning=True, filters=filters, schema={})

        assert set(built) <= AGENT_FIELDS
        assert set(built["tools"][0]) <= TOOL_FIELDS
        assert set(built["tools"][0]["filters"]) <= FILTER_FIELDS


def test_a_conversation_is_sent_as_items() -> None:
    messages = (
        Message(role="system", content="be kind"),
        Message(role="user", content="a"),
        Message(role="assistant", content="b"),
        Message(role="user", content="c"),
    )

    built = WIRE.build(Question(messages=messages), resolve(None), stream=False)

    assert [{"type": "message", "role": m.role, "content": m.content} for m in messages] == built["input"]


@pytest.mark.parametrize("mode", ["academic", "sec"])
def test_a_mode_is_refused_with_the_reason(mode: Any) -> None:
    with pytest.raises(InvalidRequest, match="whole web only") as caught:
        WIRE.check(question(filters=Filters(mode=mode)))

    assert caught.value.field == "mode"


def test_a_language_filter_is_only_a_preference_and_a_note_says_so() -> None:
    (note,) = WIRE.notes(question(filters=Filters(languages=("de", "en"))))

    assert "in the language de if possible" in note
    assert WIRE.notes(question()) == ()


RECORDED = json.loads(fixture("agent.200.json"))


def test_a_recorded_response_is_read() -> None:
    answer = WIRE.read(RECORDED)

    assert answer.text == "Example answer with a claim.[1] Another claim — ü.[2]"
    assert [(s.number, s.url) for s in answer.sources] == [(1, "https://a.example/1"), (2, "https://b.example/2")]
    assert (answer.kind, answer.provider, answer.model) == (AnswerKind.MODEL, "Perplexity", "openai/gpt-6-luna")
    assert (answer.queries, answer.incomplete) == (("example query",), None)
    assert Usage(input_tokens=1200, output_tokens=42, reasoning_tokens=0, searches=1, cost_usd=0.00114) == answer.usage
    assert answer.id == "resp_00000000-0000-4000-8000-000000000001"


def message(*texts: str) -> dict[str, Any]:
    return {"type": "message", "content": [{"type": "output_text", "text": text} for text in texts]}


def search_results(*names: str, first: int = 1) -> dict[str, Any]:
    results = [{"id": n, "url": f"https://{name}.example"} for n, name in enumerate(names, start=first)]
    return {"type": "search_results", "queries": list(names), "results": results}


def test_every_search_is_merged_and_what_is_unknown_is_skipped() -> None:
    output = [
        search_results("a", "b"),
        {"type": "fetch_url_results", "contents": [{"url": "https://f.example", "title": "F"}]},
        {"type": "hologram", "text": "?"},
        "not an item",
        search_results("b", "c", first=2),
        {"type": "message", "content": [{"type": "refusal", "text": "no"}, {"type": "output_text", "text": "one"}, 7]},
        message("two", " three"),
        message(""),
    ]

    answer = WIRE.read({"status": "completed", "output": output, "surprise": 1})

    assert [(s.number, s.url[8]) for s in answer.sources] == [(1, "a"), (2, "b"), (3, "c"), (4, "f")]
    assert answer.text == "one\n\ntwo three"
    assert answer.queries == ("a", "b", "c")


@pytest.mark.parametrize(
    ("response", "expected", "message"),
    [
        ({"status": "failed", "error": {"message": "boom", "type": "unheard_of"}}, RunFailed, "boom"),
        ({"status": "failed", "error": {"message": "boom", "type": "internal_error"}}, ServerError, "boom"),
        ({"status": "failed", "error": {"message": "boom", "type": "insufficient_quota"}}, BillingError, "boom"),
        ({"status": "failed", "error": {"message": "boom", "code": "insufficient_quota"}}, BillingError, "boom"),
        ({"status": "failed", "error": {"message": "boom", "type": "invalid_api_key"}}, AuthenticationError, "boom"),
        (
            {"status": "failed", "error": {"message": "boom", "type": "request_rate_limit_exceeded"}},
            RateLimitError,
            "boom",
        ),
        ({"status": "failed", "error": {"message": "boom", "type": "invalid_parameter"}}, InvalidRequest, "boom"),
        ({"status": "failed", "error": None}, RunFailed, "failed"),
        ({"status": "cancelled"}, RunFailed, "cancelled"),
        ({"status": "incomplete", "incomplete_details": {"reason": "max_steps"}}, RunFailed, "max_steps"),
        ({"status": "incomplete", "output": [message(" ")]}, RunFailed, "unknown"),
        ({"status": "in_progress"}, MalformedResponse, "in_progress"),
        ({"status": "requires_action", "output": [message("x")]}, MalformedResponse, "requires_action"),
        ({"status": "completed", "output": []}, MalformedResponse, "no text"),
        ({"status": "completed", "output": None}, MalformedResponse, "no text"),
        ({}, MalformedResponse, "not finished"),
    ],
)
def test_a_failure_inside_a_200_is_an_error(
    response: dict[str, Any], expected: type[PerplexityError], message: str
) -> None:
    with pytest.raises(expected, match=message) as caught:
        WIRE.read(response)

    assert caught.value.provider == "Perplexity"


@pytest.mark.parametrize("status", ["completed", "incomplete"])
def test_an_answer_of_no_use_says_what_it_cost(status: str) -> None:
    with pytest.raises(PerplexityError) as caught:
        WIRE.read({"status": status, "output": [], "usage": {"cost": {"total_cost": 0.25}}})

    assert caught.value.cost_usd == 0.25


def test_the_type_of_a_failure_is_kept() -> None:
    with pytest.raises(RunFailed) as caught:
        WIRE.read({"status": "failed", "error": {"code": "upstream", "message": "key pplx-SECRET"}})

    assert (caught.value.type, "SECRET" in str(caught.value)) == ("upstream", False)


def test_an_incomplete_answer_keeps_its_text_and_says_so() -> None:
    response = {
        "status": "incomplete",
        "incomplete_details": {"reason": "max_output_tokens"},
        "output": [message("half")],
    }

    answer = WIRE.read(response)

    assert (answer.text, answer.incomplete) == ("half", "max_output_tokens")


@pytest.mark.parametrize("cost", [None, {"total_cost": "free"}, {"total_cost": -1}, {"total_cost": True}, []])
def test_a_cost_that_is_none_is_unknown(cost: Any) -> None:
    answer = WIRE.read({"status": "completed", "output": [message("x")], "usage": {"cost": cost, "input_tokens": "1"}})

    assert Usage() == answer.usage


def test_a_text_that_no_database_can_hold_loses_what_it_cannot() -> None:
    answer = WIRE.read(loads(json.dumps({"status": "completed", "output": [message("a\0b \ud800 ü😀")]})))

    assert answer.text == "ab ? ü😀"
