"""A JSON Schema that somebody hands in, and answers held to it. Pure.

https://json-schema.org/draft/2020-12
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import NoReturn

from jsonschema import Draft202012Validator
from referencing import Registry
from referencing.jsonschema import DRAFT202012

from perplexity.tools.arguments import problems
from perplexity.types import JSON

_REFERENCES = ("$ref", "$dynamicRef")


def check(schema: JSON) -> None:
    """Raise SchemaError for what is no schema, Unresolvable for one that refers to what it does not hold.

    Raises RecursionError for one that is nested too deeply. Nothing is fetched.
    """
    Draft202012Validator.check_schema(schema)
    resolver = Registry().with_resource("", DRAFT202012.create_resource(schema)).resolver()
    for reference in _references(schema):
        resolver.lookup(reference)


def misfit(text: str, schema: Mapping[str, JSON]) -> str:
    """Return why an answer is not JSON of a schema that `check` has let pass; empty where it is."""
    try:
        value = json.loads(text, parse_constant=_no_json)
    except (ValueError, RecursionError):
        return "the answer is not JSON"
    wrong = problems(schema, value)
    return f"the answer does not fit the schema: {wrong}" if wrong else ""


def _references(schema: JSON) -> Iterator[str]:
    inner = schema.items() if isinstance(schema, dict) else enumerate(schema) if isinstance(schema, list) else ()
    for name, value in inner:
        if name in _REFERENCES and isinstance(value, str):
            yield value
        else:
            yield from _references(value)


def _no_json(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")
