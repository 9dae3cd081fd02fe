"""Tools in the formats of OpenAI, Anthropic and MCP: their definitions, and replies to calls.

A call of an unknown tool or with wrong arguments is answered with a text that says so; no exception is raised.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from perplexity.errors import MalformedResponse
from perplexity.tools.base import Failure, Tool
from perplexity.tools.schemas import reject_constant, short
from perplexity.types import JSON
from perplexity.wire.json import as_object, decode

ANNOTATIONS: Mapping[str, JSON] = {
    "readOnlyHint": True,
    "destructiveHint": False,
    "idempotentHint": False,
    "openWorldHint": True,
}
"""The MCP annotations of every tool: a tool reads the web and changes nothing, and its results change with the web."""


def to_openai_chat(tool: Tool) -> dict[str, JSON]:
    """Return the tool as an entry of `tools` in a request to OpenAI's Chat Completions.

    https://platform.openai.com/docs/api-reference/chat/create
    """
    return {"type": "function", "function": _function(tool)}


def to_openai_responses(tool: Tool) -> dict[str, JSON]:
    """Return the tool as an entry of `tools` in a request to OpenAI's Responses.

    https://platform.openai.com/docs/api-reference/responses/create
    """
    return {"type": "function", **_function(tool)}


def to_anthropic(tool: Tool) -> dict[str, JSON]:
    """Return the tool as an entry of `tools` in a request to Anthropic's Messages.

    https://docs.claude.com/en/api/messages
    """
    return {"name": tool.name, "description": tool.description, "input_schema": dict(tool.parameters)}


def to_mcp(tool: Tool) -> dict[str, JSON]:
    """Return the tool as an entry of an MCP server's list of tools.

    https://modelcontextprotocol.io/specification (server, tools)
    """
    listed = {
        "name": tool.name,
        "description": tool.description,
        "inputSchema": dict(tool.parameters),
        "annotations": dict(ANNOTATIONS),
    }
    return listed if tool.output is None else {**listed, "outputSchema": dict(tool.output)}


def _function(tool: Tool) -> dict[str, JSON]:
    """Return the tool as a function, in strict mode if its parameters allow that.

    In strict mode, the model writes only valid arguments.
    """
    strict = strict_schema(tool.parameters)
    return {
        "name": tool.name,
        "description": tool.description,
        "parameters": dict(tool.parameters) if strict is None else strict,
        "strict": strict is not None,
    }


def strict_schema(schema: Mapping[str, JSON]) -> dict[str, JSON] | None:
    """Return the schema in strict mode; None if that is impossible, as for an object that allows other properties.

    In strict mode, every property is required and no other is allowed, at any depth. An optional property becomes
    nullable, and null means its default.
    https://platform.openai.com/docs/guides/structured-outputs#supported-schemas
    """
    if schema.get("type") == "array":
        items = strict_schema(schema.get("items", {}))
        return None if items is None else {**schema, "items": items}
    if schema.get("type") != "object":
        return dict(schema) if "type" in schema else None
    if "properties" not in schema or schema.get("additionalProperties") is not False:
        return None
    required = schema.get("required", ())
    properties = {name: _strict(subschema, name in required) for name, subschema in schema["properties"].items()}
    if None in properties.values():
        return None
    return {**schema, "properties": properties, "required": list(properties)}


def _strict(schema: Mapping[str, JSON], required: bool) -> dict[str, JSON] | None:
    strict = strict_schema(schema)
    if strict is None or required:
        return strict
    nullable = {name: value for name, value in strict.items() if name != "default"}
    nullable["type"] = [strict["type"], "null"]
    return {**nullable, "enum": [*strict["enum"], None]} if "enum" in strict else nullable


async def reply_openai_chat(call: Mapping[str, JSON], tools: Sequence[Tool]) -> dict[str, JSON]:
    """Run one of a completion's `tool_calls`, and return the message with the result."""
    function = as_object(call.get("function"))
    text = await _run(function.get("name"), function.get("arguments"), tools)
    return {"role": "tool", "tool_call_id": call["id"], "content": str(text)}


async def reply_openai_responses(call: Mapping[str, JSON], tools: Sequence[Tool]) -> dict[str, JSON]:
    """Run a `function_call` item of a response, and return the input item with the result."""
    text = await _run(call.get("name"), call.get("arguments"), tools)
    return {"type": "function_call_output", "call_id": call["call_id"], "output": str(text)}


async def reply_anthropic(call: Mapping[str, JSON], tools: Sequence[Tool]) -> dict[str, JSON]:
    """Run a `tool_use` block of a message, and return the content block with the result."""
    text = await _run(call.get("name"), call.get("input"), tools)
    failed = isinstance(text, Failure)
    return {"type": "tool_result", "tool_use_id": call["id"], "content": str(text), "is_error": failed}


async def reply_mcp(call: Mapping[str, JSON], tools: Sequence[Tool]) -> dict[str, JSON]:
    """Run a `tools/call` request, and return its result; `call` is the `params` of the request.

    If the tool has an output schema and succeeds, the result also has structured content.
    """
    text = await _run(call.get("name"), call.get("arguments") or {}, tools)
    failed = isinstance(text, Failure)
    reply = {"content": [{"type": "text", "text": str(text)}], "isError": failed}
    structured = any(tool.name == call.get("name") and tool.output is not None for tool in tools)
    if failed or not structured:
        return reply
    try:
        return {**reply, "structuredContent": decode(text)}
    except MalformedResponse:
        return {**reply, "isError": True}


async def _run(name: JSON, arguments: JSON, tools: Sequence[Tool]) -> str:
    """Run the named tool; `arguments` are an object or its JSON text."""
    tool = next((tool for tool in tools if tool.name == name), None)
    if tool is None:
        known = ", ".join(tool.name for tool in tools)
        return Failure(f"[there is no tool {short(str(name))!r}; the tools are {known}]")
    parsed = _parse_arguments(arguments)
    if not isinstance(parsed, Mapping):
        return tool.argument_error(f"the arguments must be a JSON object, not {short(str(arguments))}", {})
    return await tool.run(parsed)


def _parse_arguments(arguments: JSON) -> JSON:
    """Return arguments, decoded if they are JSON text; None for invalid JSON. An empty text means no arguments."""
    if not isinstance(arguments, str):
        return arguments
    try:
        return json.loads(arguments, parse_constant=reject_constant) if arguments.strip() else {}
    except (ValueError, RecursionError):
        return None
