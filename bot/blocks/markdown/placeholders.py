"""Places in a text where a link to a source will stand, held by noncharacters until the text is rendered.

Held so, a link cannot be split, escaped or defused, and its address is nowhere near the code that does these things.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from bot.blocks.escaping import WORD_JOINER
from perplexity.citations import Cited, Marker

Addresses = Sequence[str | None]
"""The address of each listed source, by its number from 1; None where it may not be linked."""

_OPEN, _CLOSE, _ZERO = "\ufdd0", "\ufdef", 0xFDD1
_DIGITS = f"[{chr(_ZERO)}-{chr(_ZERO + 9)}]"
MARK: re.Pattern[str] = re.compile(f"{_OPEN}({_DIGITS}+){_CLOSE}")
_MARK_AND_BEFORE = re.compile(rf"([\\!]?){MARK.pattern}")


def hold(cited: Cited) -> str:
    """Return the text with a mark in the place of every marker. The text must be clean."""
    return "".join(_mark(piece) if isinstance(piece, Marker) else piece for piece in cited.pieces)


def link(number: int, addresses: Addresses) -> str:
    """Return the Markdown of one reference: `[[1]](address)`, or `[1]` that no renderer takes for a link."""
    address = addresses[number - 1]
    return f"[[{number}]]({address})" if address else f"[{number}]{WORD_JOINER}"


def release_links(text: str, addresses: Addresses) -> str:
    """Put the references where they are held. An exclamation mark before one would make it an image: broken."""
    return _MARK_AND_BEFORE.sub(
        lambda match: f"{match[1]}{WORD_JOINER if match[1] else ''}{link(_number(match[2]), addresses)}", text
    )


def release_numbers(text: str) -> str:
    """Put plain numbers where references are held: inside code nothing can be a link."""
    return MARK.sub(lambda match: f"[{_number(match[1])}]", text)


def number_of(mark: re.Match[str]) -> int:
    """Return the number that a match of `MARK` holds."""
    return _number(mark[1])


def _mark(marker: Marker) -> str:
    digits = "".join(chr(_ZERO + int(digit)) for digit in str(marker.number))
    return f"{_OPEN}{digits}{_CLOSE}"


def _number(digits: str) -> int:
    return int("".join(str(ord(digit) - _ZERO) for digit in digits))
