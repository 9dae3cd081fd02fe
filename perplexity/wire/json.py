"""Narrowing of decoded JSON: the value if it has the type that is expected, else an empty one."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from typing import Any

from perplexity.errors import MalformedResponse
from perplexity.types import JSON


def loads(text: bytes | str) -> JSON:
    """Return the value of a JSON text; NaN and numbers that no float can hold are null. Raises as `json.loads` does."""
    if not isinstance(text, str):
        text = text.decode(json.detect_encoding(text), "surrogatepass")
    # A shared decoder, and no search for the white space around: half the time for the short text of a stream's event.
    text = text.strip(" \t\n\r")
    value, end = _DECODER.raw_decode(text)
    if end < len(text):
        raise json.JSONDecodeError("Extra data", text, end)
    return value


def decode(body: bytes | str) -> dict[str, JSON]:
    """Return the object that a body holds. Raises MalformedResponse for HTML, nothing, or anything else."""
    try:
        decoded = loads(body)
    except (ValueError, RecursionError):
        raise MalformedResponse("the response is not JSON") from None
    if not isinstance(decoded, dict):
        raise MalformedResponse("the response is not a JSON object")
    return decoded


def as_text(value: JSON) -> str:
    """Return a string, empty for anything else; without what JSON can escape but UTF-8 or a database cannot hold."""
    if not isinstance(value, str):
        return ""
    known: str = value
    if not known.isascii():
        try:
            if b"\0" not in known.encode():
                return known
        except UnicodeEncodeError:
            known = known.encode(errors="replace").decode()
    return known.replace("\0", "")


def as_texts(value: JSON) -> tuple[str, ...]:
    """Return the strings of a list that are not empty."""
    return tuple(kept for part in value if (kept := as_text(part))) if isinstance(value, list) else ()


def as_object(value: JSON) -> Mapping[str, JSON]:
    """Return an object, empty for anything else."""
    return value if isinstance(value, dict) else {}


def as_objects(value: JSON) -> Sequence[Mapping[str, JSON]]:
    """Return the objects of a list; what else it holds is left out."""
    return [part for part in value if isinstance(part, dict)] if isinstance(value, list) else []


def as_count(value: JSON) -> int | None:
    """Return a whole number of 0 or more, None for anything else; a boolean is no number."""
    return value if type(value) is int and value >= 0 else None


def cost_of(usage: JSON) -> float | None:
    """Return the dollars that a response's `usage` names: its `cost`, or the `total_cost` in that."""
    cost = as_object(usage).get("cost")
    return as_dollars(as_object(cost).get("total_cost") if isinstance(cost, dict) else cost)


def as_dollars(value: JSON) -> float | None:
    """Return an amount of 0 or more, None for anything else."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        amount = float(value)
    except OverflowError:  # JSON's whole numbers have no end
        return None
    return amount if isfinite(amount) and amount >= 0 else None


def _none(constant: str) -> None:
    """Return None for NaN, Infinity and -Infinity, which Python reads although JSON does not have them."""


def _finite_float(number: str) -> float | None:
    read = float(number)
    return read if isfinite(read) else None


_DECODER = json.JSONDecoder(parse_constant=_none, parse_float=_finite_float)


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
    try:
        return json.dumps(
            value, ensure_ascii=False, allow_nan=False, indent=indent, separators=separators, default=default
        )
    except ValueError:
        known = _without_nan(value)
        return json.dumps(
            known, ensure_ascii=False, allow_nan=False, indent=indent, separators=separators, default=default
        )


def _without_nan(value: JSON) -> JSON:
    """Return the value with null in place of each number that JSON does not have, as a value or as a key."""
    if isinstance(value, dict):
        return {_without_nan(name): _without_nan(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_without_nan(part) for part in value]
    return None if isinstance(value, float) and not isfinite(value) else value
