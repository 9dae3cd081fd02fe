"""The specification of the two tools, tests/data/specs/web-search-tools.md, held to the letter.

Requests, responses and descriptions are read out of the document itself.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientSession

from perplexity.errors import MissingKey
from perplexity.tools import Tool, create_agentic_web_search_tool, create_web_search_tool
from perplexity.types import API
from tests.fakes.perplexity import KEY, FakePerplexity, Fault, json_reply

SPEC = (Path(__file__).parents[2] / "data" / "specs" / "web-search-tools.md").read_text("utf-8")
WEB, AGENTIC = SPEC[: SPEC.index("## Tool 2")], SPEC[SPEC.index("## Tool 2") :]

TESTED = {
    "Mock HTTP responses for both APIs": "test_http_responses_of_both_apis__",
    "Test both reasoning modes for AgenticWebSearch": "test_both_reasoning_modes__",
    "Test error handling (missing API key, API failures)": "test_error_handling__",
    "Test response parsing and formatting": "test_response_parsing_and_formatting__",
    "Test reasoning content stripping (`<think>` tags)": "test_reasoning_content_stripping__",
    "Test citation enrichment": "test_citation_enrichment__",
    "Verify tool specifications are correct for LLM usage": "test_tool_specifications__",
}


def block(document: str, heading: str, *, language: str = "") -> str:
    """Return the first code block behind a heading."""
    found = re.search(rf"```{language}\n(.*?)```", document[document.index(heading) :], re.DOTALL)
    assert found is not None
    return found[1]


def example(document: str, heading: str) -> Any:
    """Return the JSON of an example; a list may end with dots."""
    return json.loads(re.sub(r",\s*\.\.\.", "", block(document, heading, language="json")))


SEARCHED = example(WEB, "### Response Format")
ANSWERED = example(AGENTIC, "### Response Format")
DEFAULT = example(AGENTIC, "### Request Payload")
REASONING = {
    **DEFAULT,
    "model": "sonar-reasoning-pro",
    "web_search_options": {"search_context_size": "medium"},
}
PROMPT = DEFAULT["messages"][0]["content"]


@pytest.fixture
def web(fake: FakePerplexity, session: ClientSession) -> Tool:
    return create_web_search_tool(session, api_key=KEY, base_url=fake.base_url)


@pytest.fixture
def agentic(fake: FakePerplexity, session: ClientSession) -> Tool:
    return create_agentic_web_search_tool(session, api_key=KEY, api="sonar", base_url=fake.base_url)


def answered(content: str, **more: Any) -> Fault:
    return json_reply({**ANSWERED, "choices": [{"message": {"content": content}}], **more})


def as_run(content: str, results: Any) -> Fault:
    """The same answer as the Agent API gives it."""
    message = {"type": "message", "content": [{"type": "output_text", "text": content}]}
    output = [{"type": "search_results", "results": results}, message]
    return json_reply({"id": "resp_1", "status": "completed", "output": output})


def test_every_testing_consideration_has_its_tests() -> None:
    considerations = re.findall(r"^- (.+)$", SPEC[SPEC.index("## Testing Considerations") :], re.MULTILINE)

    assert considerations == list(TESTED)
    assert all(any(name.startswith(prefix) for name in globals()) for prefix in TESTED.values())


async def test_http_responses_of_both_apis__the_search_example_is_replayed(fake: FakePerplexity, web: Tool) -> None:
    fake.script("/search", json_reply(SEARCHED))

    text = await web.handler("search query string")

    request = fake.requests[0]
    assert json.dumps(request.json) == json.dumps(example(WEB, "### Request Payload"))
    assert (request.method, request.path) == ("POST", "/search")
    assert request.headers["Authorization"] == f"Bearer {KEY}"
    assert json.loads(text) == SEARCHED["results"]


async def test_http_responses_of_both_apis__the_answer_example_is_replayed(fake: FakePerplexity, agentic: Tool) -> None:
    fake.script("/chat/completions", json_reply(ANSWERED))

    text = await agentic.handler(PROMPT, False)

    request = fake.requests[0]
    assert json.dumps(request.json) == json.dumps(DEFAULT)
    assert (request.method, request.path) == ("POST", "/chat/completions")
    assert request.headers["Authorization"] == f"Bearer {KEY}"
    assert "AI-generated answer with inline citations like [1]" in text


@pytest.mark.parametrize(("reasoning", "body"), [(False, DEFAULT), (True, REASONING)])
async def test_both_reasoning_modes__ask_their_own_model(
    fake: FakePerplexity, agentic: Tool, reasoning: bool, body: Any
) -> None:
    fake.script("/chat/completions", json_reply(ANSWERED))

    await agentic.handler(PROMPT, reasoning)

    assert [json.dumps(request.json) for request in fake.requests] == [json.dumps(body)]


@pytest.mark.parametrize(("reasoning", "effort"), [(False, "fast"), (True, "medium")])
async def test_both_reasoning_modes__have_an_effort_on_the_agent_wire(
    fake: FakePerplexity, session: ClientSession, reasoning: bool, effort: str
) -> None:
    tool = create_agentic_web_search_tool(session, api_key=KEY, base_url=fake.base_url)
    fake.script("/v1/agent", as_run("Answer.[1]", ANSWERED["search_results"]))

    text = await tool.handler(PROMPT, reasoning)

    assert (fake.requests[0].json["effort"], fake.requests[0].json["input"]) == (effort, PROMPT)
    assert text == (
        "<result>\nAnswer.[1]\n</result>\n\n"
        "<references>\n- [1] Source Title (2024-01-01) [https://example.com]\n</references>"
    )


@pytest.mark.parametrize("factory", [create_web_search_tool, create_agentic_web_search_tool])
@pytest.mark.parametrize("environ", [{}, {"PERPLEXITY_API_KEY": " "}, {"OTHER": "x"}])
async def test_error_handling__a_missing_api_key_is_an_error_that_names_it(
    session: ClientSession, factory: Any, environ: dict[str, str]
) -> None:
    with pytest.raises(MissingKey, match="PERPLEXITY_API_KEY"):
        factory(session, environ=environ)


@pytest.mark.parametrize("status", [301, 400, 401, 403, 404, 422, 429, 500, 502, 503, 524])
@pytest.mark.parametrize("body", [b"", b"<html>", b'{"error": {"message": "no", "type": "insufficient_quota"}}'])
async def test_error_handling__an_api_failure_is_told_by_its_status_code(
    fake: FakePerplexity, web: Tool, agentic: Tool, status: int, body: bytes
) -> None:
    fake.script("/search", Fault(status=status, chunks=(body,)))
    fake.script("/chat/completions", Fault(status=status, chunks=(body,)))

    assert await web.handler("x") == f"[WebSearch API returned status code {status}]"
    assert await agentic.handler("x", False) == f"[AgenticWebSearch API returned status code {status}]"


@pytest.mark.parametrize("api", ["agent", "sonar"])
@pytest.mark.parametrize("reasoning", [False, True])
async def test_error_handling__an_api_failure_is_told_alike_by_both_wires_and_modes(
    fake: FakePerplexity, session: ClientSession, api: API, reasoning: bool
) -> None:
    tool = create_agentic_web_search_tool(session, api_key=KEY, api=api, base_url=fake.base_url)
    fake.fail("/chat/completions" if api == "sonar" else "/v1/agent", status=503, body={})

    assert await tool.handler("x", reasoning) == "[AgenticWebSearch API returned status code 503]"


async def test_error_handling__a_response_without_results_is_an_error(fake: FakePerplexity, web: Tool) -> None:
    fake.script("/search", json_reply({"id": "1"}))

    assert await web.handler("x") == "[WebSearch API sent an unreadable answer: the response has no results]"


async def test_response_parsing_and_formatting__results_are_json_with_all_their_fields(
    fake: FakePerplexity, web: Tool
) -> None:
    results = [{"title": "Ä", "url": "https://a.com", "snippet": "s", "date": None, "new": {"field": [1]}}]
    fake.script("/search", json_reply({"results": results, "id": "1"}))

    assert await web.handler("x") == json.dumps(results, ensure_ascii=False)


async def test_response_parsing_and_formatting__an_answer_is_framed_as_specified(
    fake: FakePerplexity, agentic: Tool
) -> None:
    fake.script("/chat/completions", answered("Said.[1]"))
    frame = block(AGENTIC, "#### Standard Mode").strip()

    text = await agentic.handler("x", False)

    expected = frame.replace("{content from choices[0].message.content}", "Said.[1]")
    expected = expected.replace("{title} ({date}) [{url}]", "Source Title (2024-01-01) [https://example.com]", 1)
    assert text == "\n".join(line for line in expected.splitlines() if "{" not in line and line != "...")


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("<think>plan</think>Answer.[1]", "Answer.[1]"),
        ("<think>\nplan [9]\n</think>\n\nAnswer.[1]", "Answer.[1]"),
        ("plan</think>Answer.[1]", "Answer.[1]"),
        ("<think>a</think>b</think>c", "b</think>c"),
    ],
)
async def test_reasoning_content_stripping__text_after_the_marker_is_the_answer(
    fake: FakePerplexity, agentic: Tool, content: str, expected: str
) -> None:
    fake.script("/chat/completions", answered(content))

    assert (await agentic.handler("x", True)).startswith(f"<result>\n{expected}\n</result>\n\n<references>\n- [1]")


async def test_reasoning_content_stripping__without_a_marker_a_warning_is_logged_and_nothing_is_stripped(
    fake: FakePerplexity, agentic: Tool, caplog: pytest.LogCaptureFixture
) -> None:
    fake.script("/chat/completions", answered("Answer.[1]"))

    text = await agentic.handler("x", True)

    assert text.startswith("<result>\nAnswer.[1]\n</result>")
    assert [(record.levelname, record.message) for record in caplog.records] == [("WARNING", "answer.no_think_marker")]


async def test_reasoning_content_stripping__the_standard_mode_keeps_a_marker_in_its_text(
    fake: FakePerplexity, agentic: Tool
) -> None:
    fake.script("/chat/completions", answered("Close it with </think>."))

    assert (await agentic.handler("x", False)).startswith("<result>\nClose it with </think>.\n</result>")


async def test_citation_enrichment__every_search_result_is_a_reference_in_the_services_order(
    fake: FakePerplexity, agentic: Tool
) -> None:
    results = [
        {"title": "First", "url": "https://a.com", "date": "2024-01-01"},
        {"title": "Never cited", "url": "https://b.com", "date": None},
        {"title": "Third", "url": "https://c.com"},
    ]
    fake.script("/chat/completions", answered("One [3][1], two [1].", search_results=results))

    assert await agentic.handler("x", False) == (
        "<result>\nOne [3][1], two [1].\n</result>\n\n"
        "<references>\n"
        "- [1] First (2024-01-01) [https://a.com]\n"
        "- [2] Never cited (N/A) [https://b.com]\n"
        "- [3] Third (N/A) [https://c.com]\n"
        "</references>"
    )


@pytest.mark.parametrize(
    ("name", "document", "types"),
    [
        ("WebSearch", WEB, {"query": "string"}),
        ("AgenticWebSearch", AGENTIC, {"prompt": "string", "reasoning": "boolean"}),
    ],
)
def test_tool_specifications__are_those_of_the_document(
    web: Tool, agentic: Tool, name: str, document: str, types: dict[str, str]
) -> None:
    spec = {tool.name: tool.spec() for tool in (web, agentic)}[name]
    written = block(document, "### Tool Specification")
    told, _, parameters = written.partition("\nParameters:\n")
    listed = re.findall(r"^- (\w+) \((\w+), required\): (.+)$", parameters, re.MULTILINE)

    assert told == f"Name: {name}\n\nDescription:\n{spec['description']}\n"
    assert {argument: kind.replace("bool", "boolean") for argument, kind, _ in listed} == types
    assert spec["parameters"] == {
        "type": "object",
        "properties": {argument: {"type": types[argument], "description": said} for argument, _, said in listed},
        "required": list(types),
        "additionalProperties": False,
    }
