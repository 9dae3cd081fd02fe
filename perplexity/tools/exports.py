"""A tool as the protocols of models and agents define one. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from perplexity.tools.base import Tool
from perplexity.types import JSON

ANNOTATIONS: Mapping[str, JSON] = {
    "readOnlyHint": True,
    "destructiveHint": False,
    "idempotentHint": False,
    "openWorldHint": True,
}
"""Every tool reads the web and changes nothing, and the web changes."""


def to_openai_chat(tool: Tool) -> dict[str, JSON]:
    """Return an entry of `tools` of a chat completion: https://platform.openai.com/docs/api-reference/chat/create."""
    return {"type": "function", "function": _function(tool)}


def to_openai_responses(tool: Tool) -> dict[str, JSON]:
    """Return an entry of `tools` of a response: https://platform.openai.com/docs/api-reference/responses/create."""
    return {"type": "function", **_function(tool)}


def to_anthropic(tool: Tool) -> dict[str, JSON]:
    """Return an entry of `tools` of a message: https://docs.claude.com/en/api/messages."""
    return {"name": tool.name, "description": tool.description, "input_schema": dict(tool.parameters)}


def to_mcp(tool: Tool) -> dict[str, JSON]:
    """Return an entry of a server's list of tools: https://modelcontextprotocol.io/specification (server, tools)."""
    listed = {
        "name": tool.name,
        "description": tool.description,
        "inputSchema": dict(tool.parameters),
        "annotations": dict(ANNOTATIONS),
    }
    return listed if tool.output is None else {**listed, "outputSchema": dict(tool.output)}


def _function(tool: Tool) -> dict[str, JSON]:
    """Return the function, strict where its parameters can be: the model is then held to them as it writes."""
    strict = strict_schema(tool.parameters)
    return {
        "name": tool.name,
        "description": tool.description,
        "parameters": dict(tool.parameters) if strict is None else strict,
        "strict": strict is not None,
    }


def strict_schema(schema: Mapping[str, JSON]) -> dict[str, JSON] | None:
    """Return the schema as strict mode takes it, None where it cannot: an object whose properties are not known.

    There every property is required and no other allowed, at any depth; an optional one becomes one that may be null,
    and takes its default then. https://platform.openai.com/docs/guides/structured-outputs#supported-schemas
    """
    if schema.get("type") == "array":
        items = strict_schema(schema.get("items", {}))
        return None if items is None else {**schema, "items": items}
    if schema.get("type") != "object":
        return dict(schema) if "type" in schema else None
    if "properties" not in schema or schema.get("additionalProperties") is not False:
        return None
    required = schema.get("required", ())
    properties = {name: _strict(told, name in required) for name, told in schema["properties"].items()}
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
