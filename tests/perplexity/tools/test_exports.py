"""Every tool through every protocol: defined, called and replied to in the words of its official SDK."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from perplexity.tools import TOOLS, Failure, Tool
from perplexity.tools.formats import reply_openai_chat, strict_schema, to_openai_chat, to_openai_responses
from tests.fakes.perplexity import FakePerplexity
from tests.perplexity.tools.protocols import PROTOCOLS, Protocol

CALLS: dict[str, tuple[dict[str, Any], str]] = {
    "WebSearch": ({"query": "python"}, '[{"title": "Example A"'),
    "AgenticWebSearch": ({"prompt": "python", "reasoning": False}, "<result>\nExample answer"),
    "perplexity_search": ({"query": "python", "max_tokens": 200}, '{"success": true, "content": "Example answer'),
    "web_search": ({"query": "python"}, "Title: Python\nSnippet: Free threads are here.\nURL: https://python.org/"),
    "websearch": ({"query": "python"}, "<result>\nExample answer"),
    "news_summary": ({"category": "technology", "topic": "python"}, "<result>\n- Example B"),
    "news_deepdive": (
        {"topic": "python"},
        "<result>\n# Deep Dive Report: python\n\n## THE SITUATION\n\nExample answer",
    ),
}
each_protocol = pytest.mark.parametrize("protocol", PROTOCOLS.values(), ids=PROTOCOLS)
each_tool = pytest.mark.parametrize("tool", TOOLS, ids=[tool.name for tool in TOOLS])


def test_every_tool_is_in_the_list_once() -> None:
    assert [tool.name for tool in TOOLS] == list(CALLS)


@each_protocol
@each_tool
def test_a_definition_is_of_the_sdks_own_type(protocol: Protocol, tool: Tool) -> None:
    exported = protocol.export(tool)

    assert protocol.defined(exported) == json.loads(json.dumps(exported)) == exported


@each_tool
def test_a_tool_can_be_offered_under_its_name_by_a_valid_schema(tool: Tool) -> None:
    assert re.fullmatch("[a-zA-Z0-9_-]{1,64}", tool.name)
    assert tool.description
    for schema in filter(None, [tool.parameters, tool.output]):
        Draft202012Validator.check_schema(schema)


@each_protocol
@each_tool
@pytest.mark.usefixtures("services")
async def test_a_call_is_replied_to_with_what_the_tool_found(protocol: Protocol, tool: Tool) -> None:
    arguments, beginning = CALLS[tool.name]
    call = protocol.called(protocol.call(tool.name, arguments))

    reply = await protocol.reply(call, TOOLS)

    assert protocol.replied(reply) == reply
    assert protocol.text(reply).startswith(beginning)
    assert not protocol.failed(reply)


@each_protocol
@pytest.mark.parametrize("name", ["WebSearch", "AgenticWebSearch", "perplexity_search", "news_deepdive"])
async def test_a_call_without_a_key_is_a_failure_that_says_which_is_missing(protocol: Protocol, name: str) -> None:
    reply = await protocol.reply(protocol.call(name, CALLS[name][0]), TOOLS)

    assert "PERPLEXITY_API_KEY" in protocol.text(reply)
    assert protocol.replied(reply) == reply
    assert protocol.failed(reply) in {True, None}


@each_protocol
@each_tool
async def test_wrong_arguments_are_a_failure_and_nothing_is_asked(
    services: FakePerplexity, protocol: Protocol, tool: Tool
) -> None:
    reply = await protocol.reply(protocol.call(tool.name, {"depth": 3}), TOOLS)

    assert "is missing" in protocol.text(reply)
    assert "depth is unknown (it takes " in protocol.text(reply)
    assert protocol.failed(reply) in {True, None}
    assert services.requests == []


@each_protocol
async def test_an_unknown_tool_is_a_failure(protocol: Protocol) -> None:
    reply = await protocol.reply(protocol.call("search_everything", {}), TOOLS)

    assert protocol.text(reply) == (
        "[there is no tool 'search_everything'; the tools are "
        "WebSearch, AgenticWebSearch, perplexity_search, web_search, websearch, news_summary, "
        "news_deepdive]"
    )
    assert protocol.failed(reply) in {True, None}


@each_protocol
@pytest.mark.parametrize("name", [None, 3, ["WebSearch"], {}])
async def test_a_name_that_is_none_is_a_failure(protocol: Protocol, name: Any) -> None:
    reply = await protocol.reply(protocol.call(name, {}), TOOLS)

    assert protocol.text(reply).startswith("[there is no tool ")
    assert protocol.failed(reply) in {True, None}


@pytest.mark.parametrize("call", [{"id": "c"}, {"id": "c", "function": None}, {"id": "c", "function": {}}])
async def test_a_call_of_nothing_is_a_failure(call: dict[str, Any]) -> None:
    assert (await reply_openai_chat(call, TOOLS))["content"].startswith("[there is no tool 'None'; ")


async def test_a_call_without_arguments_is_a_failure() -> None:
    reply = await reply_openai_chat({"id": "c", "function": {"name": "WebSearch"}}, TOOLS)

    assert reply["content"].startswith("[WebSearch was called with wrong arguments: ")


@each_tool
async def test_an_argument_whose_name_is_no_text_is_a_failure(tool: Tool) -> None:
    wrong: dict[Any, Any] = {1: 2, "query": "x"}

    told = await tool.run(wrong)

    assert isinstance(told, Failure)
    assert "the name of an argument must be a string, not 1" in told


@pytest.mark.parametrize("protocol", [PROTOCOLS["openai_chat"], PROTOCOLS["openai_responses"]])
@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ('{"query": ', 'the arguments must be a JSON object, not {"query": '),
        ('["python"]', 'the arguments must be a JSON object, not ["python"]'),
        ("3", "the arguments must be a JSON object, not 3"),
        ('{"query": NaN}', 'the arguments must be a JSON object, not {"query": NaN}'),
        ("[" * 100_000, "the arguments must be a JSON object, not [[["),
        ("", "query is missing"),
    ],
)
async def test_arguments_that_are_no_object_are_a_failure(protocol: Protocol, arguments: str, told: str) -> None:
    reply = await protocol.reply(protocol.call("WebSearch", arguments), TOOLS)

    assert protocol.text(reply).startswith(f"[WebSearch was called with wrong arguments: {told}")


async def test_a_structured_result_is_of_its_schema_for_mcp(services: FakePerplexity) -> None:
    (tool,) = [tool for tool in TOOLS if tool.output is not None]

    reply = await PROTOCOLS["mcp"].reply({"name": tool.name, "arguments": {"query": "x"}}, TOOLS)

    Draft202012Validator(tool.output or {}).validate(reply["structuredContent"])
    assert json.loads(reply["content"][0]["text"]) == reply["structuredContent"]


@pytest.mark.parametrize(
    ("text", "structured"), [('{"n": NaN, "m": 1e999}', {"n": None, "m": None}), ("no JSON", None), ("[1]", None)]
)
async def test_a_structured_result_is_json_or_a_failure(text: str, structured: Any) -> None:
    async def handler(q: str) -> str:
        return text

    tool = Tool(name="t", description="d", parameters=described(q=Q), output={"type": "object"}, handler=handler)

    reply = await PROTOCOLS["mcp"].reply({"name": "t", "arguments": {"q": "x"}}, [tool])

    assert reply.get("structuredContent") == structured
    assert reply["isError"] == (structured is None)


async def test_a_failure_of_a_structured_tool_is_text_for_mcp() -> None:
    tool = Tool(
        name="t", description="d", parameters=described(q=Q), output={"type": "object"}, handler=TOOLS[0].handler
    )

    reply = await PROTOCOLS["mcp"].reply({"name": "t"}, [tool])

    told = "[t was called with wrong arguments: q is missing]"
    assert reply == {"content": [{"type": "text", "text": told}], "isError": True}


async def test_a_failure_can_be_sent_whatever_the_model_wrote() -> None:
    call = PROTOCOLS["openai_chat"].call("AgenticWebSearch", '{"prompt": "x", "reasoning": "\\ud800 \\u0000"}')

    reply = await PROTOCOLS["openai_chat"].reply(call, TOOLS)

    assert reply["content"].encode().endswith(b'reasoning must be true or false, not "? \\u0000"]')


@pytest.mark.parametrize(
    ("name", "strict"),
    [
        ("WebSearch", True),
        ("AgenticWebSearch", True),
        ("perplexity_search", False),
        ("web_search", True),
        ("websearch", True),
        ("news_summary", True),
        ("news_deepdive", True),
    ],
)
def test_a_tool_is_strict_where_its_schema_can_be(name: str, strict: bool) -> None:
    (tool,) = [tool for tool in TOOLS if tool.name == name]

    assert (to_openai_chat(tool)["function"]["strict"], to_openai_responses(tool)["strict"]) == (strict, strict)


def described(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": ["q"], "additionalProperties": False}


Q = {"type": "string"}


@pytest.mark.parametrize(
    ("schema", "strict"),
    [
        (described(q=Q), described(q=Q)),
        (
            described(q=Q, n={"type": "integer", "default": 3, "minimum": 1}),
            {**described(q=Q, n={"type": ["integer", "null"], "minimum": 1}), "required": ["q", "n"]},
        ),
        (
            described(q=Q, m={"type": "string", "enum": ["a", "b"], "default": "a"}),
            {**described(q=Q, m={"type": ["string", "null"], "enum": ["a", "b", None]}), "required": ["q", "m"]},
        ),
        (
            described(q={"type": "array", "items": described(q=Q, d=Q)}),
            described(
                q={
                    "type": "array",
                    "items": {**described(q=Q, d={"type": ["string", "null"]}), "required": ["q", "d"]},
                }
            ),
        ),
        (described(q={"type": "object"}), None),
        (described(q=Q, o=described(q={"type": "array", "items": {"type": "object"}})), None),
        (described(q={"type": "array"}), None),
        ({**described(q=Q), "additionalProperties": True}, None),
    ],
)
def test_a_strict_schema_requires_all_and_lets_the_optional_be_null(schema: Any, strict: Any) -> None:
    assert strict_schema(schema) == strict


async def test_a_null_for_an_optional_argument_is_its_default() -> None:
    async def handler(**arguments: Any) -> str:
        return json.dumps(arguments)

    properties = {"q": Q, "n": {"type": "integer", "default": 3}, "d": Q}
    tool = Tool(name="t", description="d", parameters=described(**properties), handler=handler)

    assert json.loads(await tool.run({"q": "x", "n": None, "d": None})) == {"q": "x", "n": 3}
    assert await tool.run({"q": None}) == "[t was called with wrong arguments: q must be a string, not null]"
