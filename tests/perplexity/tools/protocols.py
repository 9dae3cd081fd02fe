"""The protocols of models and agents, each by the types of its own SDK: a definition, a call and what answers it."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any

from pydantic import TypeAdapter

from perplexity.tools import Tool
from perplexity.tools.formats import (
    reply_anthropic,
    reply_mcp,
    reply_openai_chat,
    reply_openai_responses,
    to_anthropic,
    to_mcp,
    to_openai_chat,
    to_openai_responses,
)

Reply = Callable[[Mapping[str, Any], Sequence[Tool]], Awaitable[dict[str, Any]]]


@dataclass(frozen=True, kw_only=True)
class Protocol:
    """How a tool is exported, how a model calls it (name, arguments), how it is replied to, and where the text is.

    `defined`, `called` and `replied` read what goes over the wire with the SDK's type and write it again: what the type
    does not know is lost on the way.
    """

    export: Callable[[Tool], dict[str, Any]]
    defined: Callable[[Any], Any]
    call: Callable[[str, Any], dict[str, Any]]
    called: Callable[[Any], Any]
    reply: Reply
    replied: Callable[[Any], Any]
    text: Callable[[Any], str]
    failed: Callable[[Any], bool | None]


def typed(module: str, name: str) -> Callable[[Any], Any]:
    """Return what reads and writes by a type of an SDK, which takes long to import: that is done at its first use."""

    @cache
    def adapter() -> TypeAdapter[Any]:
        return TypeAdapter(getattr(import_module(module), name))

    return lambda value: adapter().dump_python(
        adapter().validate_python(value), mode="json", by_alias=True, exclude_unset=True
    )


def _said(arguments: Any) -> str:
    return arguments if isinstance(arguments, str) else json.dumps(arguments)


PROTOCOLS: Mapping[str, Protocol] = {
    "openai_chat": Protocol(
        export=to_openai_chat,
        defined=typed("openai.types.chat", "ChatCompletionFunctionToolParam"),
        call=lambda name, arguments: {
            "id": "call_1",
            "type": "function",
            "function": {"name": name, "arguments": _said(arguments)},
        },
        called=typed("openai.types.chat", "ChatCompletionMessageFunctionToolCall"),
        reply=reply_openai_chat,
        replied=typed("openai.types.chat", "ChatCompletionToolMessageParam"),
        text=lambda reply: str(reply["content"]),
        failed=lambda reply: None,
    ),
    "openai_responses": Protocol(
        export=to_openai_responses,
        defined=typed("openai.types.responses", "FunctionToolParam"),
        call=lambda name, arguments: {
            "type": "function_call",
            "call_id": "call_1",
            "name": name,
            "arguments": _said(arguments),
        },
        called=typed("openai.types.responses", "ResponseFunctionToolCall"),
        reply=reply_openai_responses,
        replied=typed("openai.types.responses.response_input_param", "FunctionCallOutput"),
        text=lambda reply: str(reply["output"]),
        failed=lambda reply: None,
    ),
    "anthropic": Protocol(
        export=to_anthropic,
        defined=typed("anthropic.types", "ToolParam"),
        call=lambda name, arguments: {"type": "tool_use", "id": "toolu_1", "name": name, "input": arguments},
        called=typed("anthropic.types", "ToolUseBlock"),
        reply=reply_anthropic,
        replied=typed("anthropic.types", "ToolResultBlockParam"),
        text=lambda reply: str(reply["content"]),
        failed=lambda reply: bool(reply["is_error"]),
    ),
    "mcp": Protocol(
        export=to_mcp,
        defined=typed("mcp.types", "Tool"),
        call=lambda name, arguments: {"name": name, "arguments": arguments},
        called=typed("mcp.types", "CallToolRequestParams"),
        reply=reply_mcp,
        replied=typed("mcp.types", "CallToolResult"),
        text=lambda reply: str(reply["content"][0]["text"]),
        failed=lambda reply: bool(reply["isError"]),
    ),
}
