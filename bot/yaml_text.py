"""Plain values as YAML with comments: as much of YAML as a manifest needs, written and never read.

https://yaml.org/spec/1.2.2/
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from textwrap import wrap

Plain = str | bool | int | Sequence["Plain"] | Mapping[str, "Plain"]

WIDTH = 118
_BARE = re.compile(r"(?!(?:true|false|yes|no|on|off|null)$)[A-Za-z/](?:[\w /.,;:?!…-]*[\w/.?!…])?", re.IGNORECASE)
"""Texts that mean themselves without quotes; a colon with a space behind it would make a mapping."""


def dump(value: Mapping[str, Plain], *, comments: Mapping[str, str]) -> str:
    """Write a mapping of printable texts; `comments` holds, by a list's entry, what is said in the lines above it."""
    return "\n".join(_lines(value, comments)) + "\n"


def comment(text: str, *, indent: int = 0) -> Iterator[str]:
    """Yield a text as lines of a comment."""
    start = " " * indent + "# "
    yield from wrap(text, WIDTH, initial_indent=start, subsequent_indent=start)


def _lines(value: Plain, comments: Mapping[str, str], *, indent: int = 0) -> Iterator[str]:
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _entry(f"{name}:", inner, comments, indent=indent)
    elif not isinstance(value, str | bool | int):
        for inner in value:
            yield from comment(comments.get(str(inner), ""), indent=indent)
            yield from _item(inner, comments, indent=indent)


def _entry(name: str, value: Plain, comments: Mapping[str, str], *, indent: int) -> Iterator[str]:
    if isinstance(value, str | bool | int):
        yield f"{' ' * indent}{name} {_scalar(value)}"
    else:
        yield f"{' ' * indent}{name}"
        yield from _lines(value, comments, indent=indent + 2)


def _item(value: Plain, comments: Mapping[str, str], *, indent: int) -> Iterator[str]:
    if isinstance(value, str | bool | int):
        yield f"{' ' * indent}- {_scalar(value)}"
        return
    first, *rest = _lines(value, comments, indent=indent + 2)
    yield f"{' ' * indent}- {first.lstrip()}"
    yield from rest


def _scalar(value: str | bool | int) -> str:
    bare = isinstance(value, str) and ": " not in value and " #" not in value and _BARE.fullmatch(value)
    return str(value) if bare else json.dumps(value, ensure_ascii=False)
