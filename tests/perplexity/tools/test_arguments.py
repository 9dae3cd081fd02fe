from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perplexity.tools import TOOLS, Failure, Tool
from perplexity.tools.perplexity_search import PARAMETERS
from perplexity.tools.schemas import validation_errors, with_defaults

INNER = {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"], "additionalProperties": False}


def described(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "additionalProperties": False}


@pytest.mark.parametrize(
    ("schema", "value", "told"),
    [
        ({"type": "string"}, 3, "it must be a string, not 3"),
        ({"type": "boolean"}, "yes", 'it must be true or false, not "yes"'),
        ({"type": "boolean"}, 1, "it must be true or false, not 1"),
        ({"type": "integer"}, True, "it must be a whole number, not true"),
        ({"type": "integer"}, 2.5, "it must be a whole number, not 2.5"),
        ({"type": "integer"}, 2.0, ""),
        ({"type": "integer", "minimum": 1, "maximum": 4}, 5, "it must be a whole number from 1 to 4, not 5"),
        ({"type": "integer", "minimum": 1, "maximum": 4}, "5", 'it must be a whole number from 1 to 4, not "5"'),
        ({"type": "number", "minimum": 0}, -1, "it must be a number from 0 on, not -1"),
        ({"type": "number", "maximum": 9}, 10, "it must be a number up to 9, not 10"),
        ({"enum": ["a", "b", "c"]}, "d", 'it must be a, b or c, not "d"'),
        ({"type": "string", "enum": ["a"]}, None, "it must be a, not null"),
        ({"type": ["string", "null"]}, 3, "it must be a string or null, not 3"),
        ({"type": "array", "items": {"type": "string"}}, ["a", 3, 4], "it[1] must be a string, not 3; it[2] must be a"),
        ({"type": "array", "items": INNER}, [{"x": 1}, {"x": "1"}], 'it[1].x must be a whole number, not "1"'),
        ({"type": "array", "maxItems": 1}, [1, 2], "it: [1, 2] is too long"),
        ({"type": "string", "pattern": "^a"}, "b", "it: 'b' does not match '^a'"),
        (INNER, {}, "it.x is missing"),
        (INNER, {"x": 1, "y": 2}, "it.y is unknown (it takes x)"),
        (INNER, [], "it must be an object, not []"),
        ({"type": "string"}, "ü" * 500, ""),
        ({"type": "integer"}, "ü" * 500, 'it must be a whole number, not "' + "ü" * 78 + "…"),
    ],
)
def test_what_is_wrong_names_the_argument_the_value_and_what_is_allowed(schema: Any, value: Any, told: str) -> None:
    found = validation_errors({**described(it=schema), "required": ["it"]}, {"it": value})

    assert found.startswith(told) if told else found == ""


def test_every_problem_is_reported_at_once_and_only_once() -> None:
    schema = {**described(a={"type": "string"}, b={"type": "string"}, c={"type": "string"}), "required": ["a", "b"]}

    assert validation_errors(schema, {"c": 1, "d": 2, "e": 3}) == (
        "c must be a string, not 1; d is unknown (it takes a, b and c); e is unknown (it takes a, b and c); "
        "a is missing; b is missing"
    )


def test_arguments_that_are_no_object_are_wrong() -> None:
    assert validation_errors(described(), []) == "the arguments must be an object, not []"


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize("value", [nested(100_000), 10**5_000], ids=["nested", "long"])
def test_a_value_that_cannot_be_shown_is_wrong(value: Any) -> None:
    found = validation_errors(described(it={"type": "string"}), {"it": value})

    assert found == "they are nested too deeply, or contain a number of thousands of digits"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"q": "x"}, {"q": "x", "n": 3}),
        ({"q": "x", "n": 5, "d": None}, {"q": "x", "n": 5}),
        ({"q": None, "n": None}, {"q": None, "n": 3}),
        ({"q": "x", "unknown": None}, {"q": "x", "n": 3, "unknown": None}),
    ],
)
def test_defaults_stand_for_what_is_left_out_or_null(arguments: dict[str, Any], expected: dict[str, Any]) -> None:
    schema = {**described(q={}, n={"default": 3}, d={}), "required": ["q"]}

    assert with_defaults(schema, arguments) == expected


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
names = st.sampled_from([*PARAMETERS["properties"], "prompt", "reasoning"]) | st.text(max_size=5)


@given(arguments=st.dictionaries(names, json_values, max_size=5), tool=st.sampled_from(TOOLS))
async def test_any_arguments_are_either_valid_or_reported_as_wrong(arguments: dict[str, Any], tool: Tool) -> None:
    calls = []

    async def handler(**given: Any) -> str:
        calls.append(given)
        return "done"

    told = await Tool(name="t", description="d", parameters=tool.parameters, handler=handler).run(arguments)

    assert isinstance(told, Failure) != (told == "done")
    assert [validation_errors(tool.parameters, call) for call in calls] == ([""] if calls else [])


@given(query=json_values)
@settings(max_examples=50, deadline=None)
async def test_a_structured_tool_refuses_in_its_own_form(query: Any) -> None:
    (tool,) = [tool for tool in TOOLS if tool.output is not None]

    told = json.loads(await tool.run({"query": query, "depth": 1}))

    assert (told["success"], told["results"]) == (False, [])
    assert "depth is unknown" in told["error"]
