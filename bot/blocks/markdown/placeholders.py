"""Places in a text for links to sources, marked by noncharacters until the text is rendered.

Held so, a link cannot be split, escaped or defused, and its address is nowhere near the code that does these things.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from bot.blocks.escaping import WORD_JOINER
from perplexity.citations import Cited
from perplexity.markdown import Document

Addresses = Sequence[str | None]
"""The address of each listed source, by its number from 1; None if it may not be linked."""
_OPEN, _CLOSE, _ZERO = "\ufdd0", "\ufdef", 0xFDD1
_DIGITS = f"[{chr(_ZERO)}-{chr(_ZERO + 9)}]"
MARK: re.Pattern[str] = re.compile(f"{_OPEN}({_DIGITS}+){_CLOSE}")


def hold(cited: Cited) -> Document:
    """Return the text with a mark in the place of every marker. The text must be clean."""
    return cited.document(_mark)


def has_marks(text: str) -> bool:
    """Return whether there is any mark in a text."""
    return _OPEN in text


def link(number: int, addresses: Addresses) -> str:
    """Return the Markdown of one reference: `[[1]](address)`, or `[1]` that no renderer takes for a link."""
    address = addresses[number - 1]
    return f"[[{number}]]({address})" if address else f"[{number}]{WORD_JOINER}"


def release_links(text: str, addresses: Addresses) -> str:
    """Put the references where they are held. An exclamation mark before one would make it an image: broken."""
    if not has_marks(text):
        return text
    links: dict[str, str] = {}

    def released(match: re.Match[str]) -> str:
        shown = links.get(match[1]) or links.setdefault(match[1], link(number_of(match[1]), addresses))
        return f"{WORD_JOINER}{shown}" if text.endswith(("\\", "!"), 0, match.start()) else shown

    return MARK.sub(released, text)


def release_numbers(text: str) -> str:
    """Put plain numbers where references are held: inside code nothing can be a link."""
    return MARK.sub(lambda match: f"[{number_of(match[1])}]", text) if has_marks(text) else text


def number_of(digits: str) -> int:
    """Return the number that the digits of a mark are."""
    return int("".join(str(ord(digit) - _ZERO) for digit in digits))


def _mark(number: int) -> str:
    digits = "".join(chr(_ZERO + int(digit)) for digit in str(number))
    return f"{_OPEN}{digits}{_CLOSE}"
