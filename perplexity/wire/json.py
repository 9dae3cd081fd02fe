"""Reads and writes JSON; the `as_` functions return a value of the expected type, or an empty one or None."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import isfinite
from typing import Any

import jiter

from perplexity.errors import MalformedResponse
from perplexity.types import JSON


def loads(text: bytes | str) -> JSON:
    """Return the value of a JSON text. Raises as `json.loads` does.

    NaN becomes null; a number that no float can hold becomes null or infinite. Half a surrogate pair, which JSON can
    escape but UTF-8 cannot hold, becomes a question mark.
    """
    try:
        return jiter.from_json(text.encode() if isinstance(text, str) else text, allow_inf_nan=False)
    except ValueError:
        return _encodable(_loads_leniently(text))


def _loads_leniently(text: bytes | str) -> JSON:
    """Return the value of a text that only Python's `json` accepts: with NaN, half surrogate pairs, or in UTF-16."""
    if not isinstance(text, str):
        text = text.decode(json.detect_encoding(text), "surrogatepass")
    return _without_nan(json.loads(text))


def _encodable(value: JSON) -> JSON:
    if isinstance(value, dict):
        return {encodable_text(name): _encodable(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_encodable(part) for part in value]
    return encodable_text(value) if isinstance(value, str) else value


def encodable_text(text: str) -> str:
    """Return a text with question marks for half surrogate pairs, as `loads` does for the texts that it reads."""
    return text if text.isascii() else text.encode(errors="replace").decode()


def decode(body: bytes | str) -> dict[str, JSON]:
    """Return the JSON object in a body. Raises MalformedResponse for anything else, such as HTML or an empty body."""
    try:
        decoded = loads(body)
    except (ValueError, RecursionError):
        raise MalformedResponse("the response is not JSON") from None
    if not isinstance(decoded, dict):
        raise MalformedResponse("the response is not a JSON object")
    return decoded


def as_text(value: JSON) -> str:
    """Return a string that `loads` read, without NUL, which a database cannot hold; empty for anything else."""
    if not isinstance(value, str):
        return ""
    return value.replace("\0", "") if "\0" in value else value


def as_texts(value: JSON) -> tuple[str, ...]:
    """Return the strings of a list that are not empty."""
    return tuple(kept for part in value if (kept := as_text(part))) if isinstance(value, list) else ()


def as_object(value: JSON) -> Mapping[str, JSON]:
    """Return an object, empty for anything else."""
    return value if isinstance(value, dict) else {}


def as_objects(value: JSON) -> Sequence[Mapping[str, JSON]]:
    """Return the objects of a list, without its other values."""
    return [part for part in value if isinstance(part, dict)] if isinstance(value, list) else []


def as_count(value: JSON) -> int | None:
    """Return a whole number of 0 or more; None for anything else, including a boolean."""
    return value if type(value) is int and value >= 0 else None


_TYPES = {bool: "boolean", int: "number", float: "number", str: "string", dict: "object", list: "array"}
_MOST_FIELDS = 300


def shape_of(value: JSON) -> tuple[str, ...]:
    """Return the names and types of at most 300 fields, such as "usage.cost: object", sorted; no values.

    A null has no type, so its field is left out. A name that could be text from outside becomes a star.
    """
    fields, pending = set[str](), [("", value)]
    while pending and len(fields) < _MOST_FIELDS:
        path, part = pending.pop()
        if path and type(part) in _TYPES:
            fields.add(f"{path}: {_TYPES[type(part)]}")
        if isinstance(part, dict):
            pending += [(f"{path}.{_field_name(name)}".removeprefix("."), inner) for name, inner in part.items()]
        elif isinstance(part, list):
            pending += [(f"{path}[]", inner) for inner in part]
    return tuple(sorted(fields))


def _field_name(name: str) -> str:
    return name if name.isascii() and name.isidentifier() and len(name) <= 40 else "*"


def cost_of(usage: JSON) -> float | None:
    """Return the dollars in a response's `usage`; None if unknown.

    The field `cost` is either the amount itself, or an object with the amount in `total_cost`.
    """
    cost = as_object(usage).get("cost")
    return as_dollars(as_object(cost).get("total_cost") if isinstance(cost, dict) else cost)


def as_dollars(value: JSON) -> float | None:
    """Return an amount of 0 or more, None for anything else."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        amount = float(value)
    except OverflowError:  # JSON's whole numbers have no limit.
        return None
    return amount if isfinite(amount) and amount >= 0 else None


def encode(
    value: JSON,
    *,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    default: Callable[[Any], JSON] | None = None,
) -> str:
    """Return the value as JSON; NaN and Infinity, which JSON does not have, become null.

    The keywords are those of `json.dumps`. https://www.rfc-editor.org/rfc/rfc8259#section-6
    """
    write = partial(
        json.dumps, ensure_ascii=False, allow_nan=False, indent=indent, separators=separators, default=default
    )
    try:
        return write(value)
    except ValueError:
        return write(_without_nan(value))


def _without_nan(value: JSON) -> JSON:
    """Return the value with null in place of numbers that JSON does not have, also in keys."""
    if isinstance(value, dict):
        return {_without_nan(name): _without_nan(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_without_nan(part) for part in value]
    return None if isinstance(value, float) and not isfinite(value) else value
