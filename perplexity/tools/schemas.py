"""JSON Schemas of tools and answers: checks, defaults, and the signatures and docstrings made from schemas.

https://json-schema.org/draft/2020-12, https://docs.python.org/3/library/inspect.html#inspect.Signature
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from functools import reduce
from keyword import iskeyword
from operator import or_
from types import NoneType
from typing import Any, Literal, NoReturn

from jsonschema import Draft202012Validator, ValidationError
from referencing import Registry
from referencing.jsonschema import DRAFT202012

from perplexity.types import JSON

_LONGEST = 80
_TYPE_NAMES: Mapping[str, str] = {
    "string": "a string",
    "boolean": "true or false",
    "integer": "a whole number",
    "number": "a number",
    "array": "a list",
    "object": "an object",
    "null": "null",
}
_TYPE_KEYWORDS = frozenset({"type", "enum", "minimum", "maximum"})


def object_schema(properties: Mapping[str, JSON], *, required: Sequence[str]) -> dict[str, JSON]:
    """Return the JSON Schema of an object with these properties and no others."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(required),
        "additionalProperties": False,
    }


def with_defaults(schema: Mapping[str, JSON], arguments: Mapping[str, JSON]) -> dict[str, JSON]:
    """Return the arguments with defaults for omitted ones.

    An optional argument that is null counts as omitted, since a model that must name every argument omits one that way.
    """
    properties = schema["properties"]
    optional = properties.keys() - schema.get("required", ())
    given = {name: value for name, value in arguments.items() if value is not None or name not in optional}
    defaults = {name: subschema["default"] for name, subschema in properties.items() if "default" in subschema}
    return {**defaults, **given}


def validation_errors(schema: Mapping[str, JSON], arguments: JSON) -> str:
    """Return the name and value of each wrong argument, and what is allowed instead; empty if all are valid."""
    try:
        errors = Draft202012Validator(schema).iter_errors(arguments)
        return "; ".join(dict.fromkeys(text for error in errors for text in _describe(error)))
    except (RecursionError, ValueError):
        return "they are nested too deeply, or contain a number of thousands of digits"


def _describe(error: ValidationError) -> list[str]:
    place = _path(error)
    instance: JSON = error.instance
    schema: JSON = error.schema
    if error.validator == "required":
        return [f"{_inside(place, name)} is missing" for name in schema["required"] if name not in instance]
    if error.validator == "additionalProperties" and isinstance(schema.get("properties"), Mapping):
        known = schema["properties"]
        taken = _listed(list(known), "and")
        return [f"{_inside(place, name)} is unknown (it takes {taken})" for name in instance if name not in known]
    if error.validator in _TYPE_KEYWORDS:
        return [f"{place or 'the arguments'} must be {_allowed(schema)}, not {_format_value(instance)}"]
    return [f"{place or 'the arguments'}: {short(error.message)}"]


def _allowed(schema: Mapping[str, JSON]) -> str:
    if "enum" in schema:
        return _listed([str(value) for value in schema["enum"]], "or")
    kinds = schema["type"] if isinstance(schema.get("type"), list) else [schema.get("type", "number")]
    return _listed([_TYPE_NAMES[kind] for kind in kinds], "or") + _range(schema)


def _range(schema: Mapping[str, JSON]) -> str:
    least, most = schema.get("minimum"), schema.get("maximum")
    if least is not None and most is not None:
        return f" from {least} to {most}"
    return f" from {least} on" if least is not None else "" if most is None else f" up to {most}"


def _path(error: ValidationError) -> str:
    steps = [f"[{step}]" if isinstance(step, int) else f".{step}" for step in error.absolute_path]
    return "".join(steps).removeprefix(".")


def _inside(place: str, name: str) -> str:
    return f"{place}.{short(name)}" if place else short(name)


def _listed(words: Sequence[str], last: str) -> str:
    return f"{', '.join(words[:-1])} {last} {words[-1]}" if len(words) > 1 else "".join(words)


def _format_value(value: JSON) -> str:
    # NaN may appear here, since the text becomes part of a sentence and not of JSON.
    return short(json.dumps(value, ensure_ascii=False))


def short(text: str) -> str:
    """Return a text for a quotation: cut to 80 characters if it is longer."""
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


_REFERENCES = ("$ref", "$dynamicRef")


def validate_schema(schema: JSON) -> None:
    """Raise SchemaError for an invalid schema, Unresolvable for one that refers to anything outside itself.

    Raise RecursionError for one that is nested too deeply. Nothing is fetched.
    """
    Draft202012Validator.check_schema(schema)
    resolver = Registry().with_resource("", DRAFT202012.create_resource(schema)).resolver()
    for reference in _references(schema):
        resolver.lookup(reference)


def schema_mismatch(text: str, schema: Mapping[str, JSON]) -> str:
    """Return why an answer is not JSON that fits the schema, which must be valid; empty if the answer fits."""
    try:
        value = json.loads(text, parse_constant=reject_constant)
    except (ValueError, RecursionError):
        return "the answer is not JSON"
    wrong = validation_errors(schema, value)
    return f"the answer does not fit the schema: {wrong}" if wrong else ""


def _references(schema: JSON) -> Iterator[str]:
    inner = schema.items() if isinstance(schema, dict) else enumerate(schema) if isinstance(schema, list) else ()
    for name, value in inner:
        if name in _REFERENCES and isinstance(value, str):
            yield value
        else:
            yield from _references(value)


def reject_constant(name: str) -> NoReturn:
    """Raise ValueError, since NaN and Infinity are not JSON."""
    raise ValueError(f"{name} is not JSON")


Function = Callable[..., Awaitable[str]]

_TYPES: Mapping[str, Any] = {"string": str, "boolean": bool, "integer": int, "number": float, "null": NoneType}


def add_metadata(function: Function, *, name: str, description: str, parameters: Mapping[str, JSON]) -> Function:
    """Set the name, signature, annotations and docstring of a function, and return it.

    `parameters` is a JSON Schema of type object. A required argument has no default; an optional one without a default
    in the schema may be None.
    """
    signature = build_signature(parameters)
    hints = {parameter.name: parameter.annotation for parameter in signature.parameters.values()}
    named: Any = function
    named.__name__ = named.__qualname__ = name
    named.__doc__ = build_docstring(description, parameters)
    named.__annotations__ = {**hints, "return": str}
    named.__signature__ = signature
    return function


def build_signature(parameters: Mapping[str, JSON]) -> inspect.Signature:
    """Return the signature for a JSON Schema of type object, with its required arguments before the optional ones."""
    listed = [_parameter(name, schema, required=required) for name, schema, required in _arguments(parameters)]
    return inspect.Signature(sorted(listed, key=lambda one: one.default is not one.empty), return_annotation=str)


def build_docstring(description: str, parameters: Mapping[str, JSON]) -> str:
    """Return a docstring of the description and the arguments, in the style that agent libraries parse.

    https://google.github.io/styleguide/pyguide.html#383-functions-and-methods
    """
    listed = []
    for name, schema, required in _arguments(parameters):
        kind = inspect.formatannotation(_type(schema)).replace("typing.", "")
        about = " ".join(str(schema.get("description", "")).split())
        listed.append(f"    {name} ({kind}{'' if required else ', optional'}): {about}")
    arguments = ["Args:", *listed, ""] if listed else []
    return "\n".join([description.strip(), "", *arguments, "Returns:", "    str: The result, as text for a model."])


def _arguments(parameters: Mapping[str, JSON]) -> Iterator[tuple[str, Mapping[str, JSON], bool]]:
    """Yield the name and schema of each argument that Python can name, and whether the argument is required."""
    required = parameters.get("required", ())
    for name, schema in parameters.get("properties", {}).items():
        if name.isidentifier() and not iskeyword(name):
            yield name, schema if isinstance(schema, Mapping) else {}, name in required


def _parameter(name: str, schema: Mapping[str, JSON], *, required: bool) -> inspect.Parameter:
    kind, annotation = inspect.Parameter.POSITIONAL_OR_KEYWORD, _type(schema)
    if required:
        return inspect.Parameter(name, kind, annotation=annotation)
    if "default" in schema:
        return inspect.Parameter(name, kind, annotation=annotation, default=schema["default"])
    return inspect.Parameter(name, kind, annotation=annotation | None, default=None)


def _type(schema: Mapping[str, JSON]) -> Any:
    """Return the Python type of a value of the schema; Any if the schema does not define it."""
    enum = schema.get("enum")
    if isinstance(enum, list) and enum and all(isinstance(value, (str, int, NoneType)) for value in enum):
        return Literal[tuple(enum)]
    kind = schema.get("type")
    if isinstance(kind, list):
        return reduce(or_, (_type({**schema, "type": one}) for one in kind))
    if kind == "array":
        return list[_type(schema.get("items", {}))]  # type: ignore[misc]
    if kind == "object":
        return dict[str, Any]
    return _TYPES.get(kind, Any) if isinstance(kind, str) else Any
