"""`--schema`: a JSON Schema from a file, and answers held to it.

https://json-schema.org/draft/2020-12
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NoReturn

from jsonschema import Draft202012Validator, SchemaError
from referencing import Registry
from referencing.exceptions import Unresolvable
from referencing.jsonschema import DRAFT202012

from perplexity.cli.base import Failure, UsageError
from perplexity.tools.arguments import problems
from perplexity.types import JSON, Answer

_REFERENCES = ("$ref", "$dynamicRef")


def read_schema(path: Path) -> dict[str, JSON]:
    """Return the schema. Raises UsageError where the file holds none, or one that refers to what is not in it."""
    try:
        schema = json.loads(path.read_bytes())
        _check(schema)
    except OSError as error:
        raise UsageError(f"--schema: {path} cannot be read ({error.strerror})") from None
    except ValueError:
        raise UsageError(f"--schema: {path} is not JSON") from None
    except RecursionError:
        raise UsageError(f"--schema: {path} is nested too deeply") from None
    except SchemaError as error:
        raise UsageError(f"--schema: {path} is no JSON Schema: {error.message}") from None
    except Unresolvable as error:
        raise UsageError(f"--schema: {path} refers to {error.ref!r}, which it does not hold") from None
    if not isinstance(schema, dict):
        raise UsageError(f"--schema: {path} holds no JSON object; a JSON Schema is one")
    return schema


def hold(answer: Answer, schema: Mapping[str, JSON]) -> None:
    """Raise Failure unless the answer is JSON of this schema."""
    if answer.incomplete:
        raise Failure(f"the JSON broke off ({answer.incomplete}); ask for less, or try again")
    try:
        value = json.loads(answer.text, parse_constant=_no_json)
    except (ValueError, RecursionError):
        raise Failure("the answer is not JSON; try again, or with another --model") from None
    if wrong := problems(schema, value):
        raise Failure(f"the answer does not fit the schema: {wrong}; try again, or with another --model")


def _check(schema: JSON) -> None:
    Draft202012Validator.check_schema(schema)
    resolver = Registry().with_resource("", DRAFT202012.create_resource(schema)).resolver()
    for reference in _references(schema):
        resolver.lookup(reference)


def _references(schema: JSON) -> Iterator[str]:
    inner = schema.items() if isinstance(schema, dict) else enumerate(schema) if isinstance(schema, list) else ()
    for name, value in inner:
        if name in _REFERENCES and isinstance(value, str):
            yield value
        else:
            yield from _references(value)


def _no_json(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")
