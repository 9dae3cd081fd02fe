"""Every tool is a function with a real signature, made from its schema, for libraries that read it."""

from __future__ import annotations

import inspect
import typing
from typing import Any, Literal

import pytest

from perplexity.tools import TOOLS, Failure, Tool

each_tool = pytest.mark.parametrize("tool", TOOLS, ids=[tool.name for tool in TOOLS])
FORMS = ("tool", "call", "handler")


def functions(tool: Tool) -> dict[str, Any]:
    return {"tool": tool, "call": tool.__call__, "handler": tool.handler}


@each_tool
@pytest.mark.parametrize("form", FORMS)
def test_the_signature_is_the_schema_s(tool: Tool, form: str) -> None:
    function = functions(tool)[form]
    signature, properties = inspect.signature(function), tool.parameters["properties"]
    required = tool.parameters["required"]

    assert signature.parameters.keys() == properties.keys()
    assert [name for name, one in signature.parameters.items() if one.default is one.empty] == required
    assert {n: one.default for n, one in signature.parameters.items() if n not in required} == {
        name: told.get("default") for name, told in properties.items() if name not in required
    }
    hints = {name: one.annotation for name, one in signature.parameters.items()}
    assert typing.get_type_hints(function) == {**hints, "return": str}
    assert function.__name__ == tool.name
    assert inspect.iscoroutinefunction(tool.__call__)
    assert inspect.iscoroutinefunction(tool.handler)


@each_tool
@pytest.mark.parametrize("form", FORMS)
def test_the_docstring_is_the_description_and_the_arguments(tool: Tool, form: str) -> None:
    told = inspect.getdoc(functions(tool)[form]) or ""

    assert told.startswith(tool.description.strip())
    for name, schema in tool.parameters["properties"].items():
        assert any(
            line.strip().startswith(f"{name} (") and line.endswith(f": {' '.join(schema['description'].split())}")
            for line in told.splitlines()
        )


def made(**properties: Any) -> Tool:
    async def handler(**arguments: Any) -> str:
        return repr(arguments)

    parameters = {"type": "object", "properties": properties, "required": ["q"], "additionalProperties": False}
    return Tool(name="t", description="d", parameters=parameters, handler=handler)


@pytest.mark.parametrize(
    ("schema", "hint"),
    [
        ({"type": "string"}, str),
        ({"type": "boolean"}, bool),
        ({"type": "integer"}, int),
        ({"type": "number"}, float),
        ({"type": "null"}, type(None)),
        ({"type": ["string", "null"]}, str | None),
        ({"type": "string", "enum": ["a", "b"]}, Literal["a", "b"]),
        ({"type": "array", "items": {"type": "integer"}}, list[int]),
        ({"type": "array"}, list[Any]),
        ({"type": "object"}, dict[str, Any]),
        ({}, Any),
        (True, Any),
        ({"type": 3}, Any),
        ({"enum": [["a"]]}, Any),
    ],
)
def test_a_type_of_json_is_one_of_python(schema: Any, hint: Any) -> None:
    assert typing.get_type_hints(made(q=schema))["q"] == hint


def test_required_arguments_come_first_and_what_python_cannot_name_is_left_out() -> None:
    text = {"type": "string"}
    tool = made(n={"type": "integer", "default": 3}, d=text, q=text, **{"max-n": text, "class": text})

    assert str(inspect.signature(tool)) == "(q: str, n: int = 3, d: str | None = None) -> str"
    assert str(inspect.signature(Tool(name="t", description="d", parameters={}, handler=tool.handler))) == "() -> str"


async def test_values_may_be_given_in_the_order_of_the_signature() -> None:
    tool = made(n={"type": "integer", "default": 3}, q={"type": "string"})

    assert await tool("x", 4) == await tool(q="x", n=4)
    assert await tool.handler("x") == "{'q': 'x'}"


async def test_wrong_arguments_are_explained_and_never_a_type_error() -> None:
    tool = made(q={"type": "string"})

    told = [await tool(), await tool("x", "y"), await tool("x", q="y"), await tool(3)]

    assert all(isinstance(one, Failure) for one in told)
    assert told == [
        f"[t was called with wrong arguments: {wrong}]"
        for wrong in ("q is missing", "it takes 1 at most, not 2", "q is given twice", "q must be a string, not 3")
    ]
