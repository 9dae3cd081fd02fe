"""The arguments of a call, held to a tool's JSON Schema; what is wrong is said so that a model can put it right. Pure.

https://json-schema.org/draft/2020-12
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from jsonschema import Draft202012Validator, ValidationError

from perplexity.types import JSON

_LONGEST = 80
_KINDS: Mapping[str, str] = {
    "string": "a string",
    "boolean": "true or false",
    "integer": "a whole number",
    "number": "a number",
    "array": "a list",
    "object": "an object",
    "null": "null",
}
_DESCRIBED = frozenset({"type", "enum", "minimum", "maximum"})


def completed(schema: Mapping[str, JSON], arguments: Mapping[str, JSON]) -> dict[str, JSON]:
    """Return the arguments with the defaults of those that are left out.

    An optional argument that is null counts as left out: a model that must name every argument says so.
    """
    properties = schema["properties"]
    optional = properties.keys() - schema.get("required", ())
    given = {name: value for name, value in arguments.items() if value is not None or name not in optional}
    defaults = {name: told["default"] for name, told in properties.items() if "default" in told}
    return {**defaults, **given}


def problems(schema: Mapping[str, JSON], arguments: JSON) -> str:
    """Return what is wrong with the arguments: the name, the value and what is allowed; empty for right ones."""
    try:
        errors = Draft202012Validator(schema).iter_errors(arguments)
        return "; ".join(dict.fromkeys(told for error in errors for told in _told(error)))
    except (RecursionError, ValueError):
        return "they are nested too deeply, or hold a number of thousands of digits"


def _told(error: ValidationError) -> list[str]:
    place = _place(error)
    instance: JSON = error.instance
    schema: JSON = error.schema
    if error.validator == "required":
        return [f"{_inside(place, name)} is missing" for name in schema["required"] if name not in instance]
    if error.validator == "additionalProperties" and isinstance(schema.get("properties"), Mapping):
        known = schema["properties"]
        taken = _listed(list(known), "and")
        return [f"{_inside(place, name)} is unknown (it takes {taken})" for name in instance if name not in known]
    if error.validator in _DESCRIBED:
        return [f"{place or 'the arguments'} must be {_allowed(schema)}, not {_shown(instance)}"]
    return [f"{place or 'the arguments'}: {_short(error.message)}"]


def _allowed(schema: Mapping[str, JSON]) -> str:
    if "enum" in schema:
        return _listed([str(value) for value in schema["enum"]], "or")
    kinds = schema["type"] if isinstance(schema.get("type"), list) else [schema.get("type", "number")]
    return _listed([_KINDS[kind] for kind in kinds], "or") + _range(schema)


def _range(schema: Mapping[str, JSON]) -> str:
    least, most = schema.get("minimum"), schema.get("maximum")
    if least is not None and most is not None:
        return f" from {least} to {most}"
    return f" from {least} on" if least is not None else "" if most is None else f" up to {most}"


def _place(error: ValidationError) -> str:
    steps = [f"[{step}]" if isinstance(step, int) else f".{step}" for step in error.absolute_path]
    return "".join(steps).removeprefix(".")


def _inside(place: str, name: str) -> str:
    return f"{place}.{_short(name)}" if place else _short(name)


def _listed(words: Sequence[str], last: str) -> str:
    return f"{', '.join(words[:-1])} {last} {words[-1]}" if len(words) > 1 else "".join(words)


def _shown(value: JSON) -> str:
    # A part of a sentence, in which NaN is called that.
    return _short(json.dumps(value, ensure_ascii=False))


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
