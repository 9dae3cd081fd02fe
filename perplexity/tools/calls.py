"""What a model sent to call a tool → what it is sent back, in the words of each protocol.

A call that cannot be made, since there is no such tool or its arguments are wrong, is answered with a text that says
so, never with an exception.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import NoReturn

from perplexity.errors import MalformedResponse
from perplexity.tools.base import Failure, Tool
from perplexity.types import JSON
from perplexity.wire.reading import decode, mapping

_LONGEST = 80


async def reply_openai_chat(call: Mapping[str, JSON], tools: Sequence[Tool]) -> dict[str, JSON]:
    """Return the message for one of a completion's `tool_calls`."""
    function = mapping(call.get("function"))
    text = await _run(function.get("name"), function.get("arguments"), tools)
    return {"role": "tool", "tool_call_id": call["id"], "content": str(text)}


async def reply_openai_responses(call: Mapping[str, JSON], tools: Sequence[Tool]) -> dict[str, JSON]:
    """Return the input item for a response's `function_call` item."""
    text = await _run(call.get("name"), call.get("arguments"), tools)
    return {"type": "function_call_output", "call_id": call["call_id"], "output": str(text)}


async def reply_anthropic(call: Mapping[str, JSON], tools: Sequence[Tool]) -> dict[str, JSON]:
    """Return the content block for a message's `tool_use` block."""
    text = await _run(call.get("name"), call.get("input"), tools)
    failed = isinstance(text, Failure)
    return {"type": "tool_result", "tool_use_id": call["id"], "content": str(text), "is_error": failed}


async def reply_mcp(call: Mapping[str, JSON], tools: Sequence[Tool]) -> dict[str, JSON]:
    """Return the result of a `tools/call` with these `params`; structured too where the tool has an output schema."""
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
    """Run the tool of that name; `arguments` are an object, or JSON text of one."""
    tool = next((tool for tool in tools if tool.name == name), None)
    if tool is None:
        known = ", ".join(tool.name for tool in tools)
        return Failure(f"[there is no tool {_short(str(name))!r}; the tools are {known}]")
    read = _read(arguments)
    if not isinstance(read, Mapping):
        return tool.wrong(f"the arguments must be a JSON object, not {_short(str(arguments))}", {})
    return await tool.run(read)


def _read(arguments: JSON) -> JSON:
    """Return the arguments out of JSON text, where they are one; an empty text stands for none."""
    if not isinstance(arguments, str):
        return arguments
    try:
        return json.loads(arguments, parse_constant=_refused) if arguments.strip() else {}
    except (ValueError, RecursionError):
        return None


def _refused(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
