"""Values → JSON text that any reader takes. Pure."""

from __future__ import annotations

import json
from collections.abc import Callable
from math import isfinite
from typing import Any

from perplexity.types import JSON


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
        return json.dumps(
            _finite(value), ensure_ascii=False, allow_nan=False, indent=indent, separators=separators, default=default
        )


def _finite(value: JSON) -> JSON:
    """Return the value with null in place of each number that JSON does not have, as a value or as a key."""
    if isinstance(value, dict):
        return {_finite(name): _finite(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(part) for part in value]
    return None if isinstance(value, float) and not isfinite(value) else value
