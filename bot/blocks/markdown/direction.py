"""The direction of lines in scripts that run from right to left, such as Arabic and Hebrew.

Slack takes the direction of a paragraph, a list item or a cell from its first strong letter, so an Arabic item that
begins with a Latin name would run the wrong way (https://www.unicode.org/reports/tr9/#P2). An invisible mark before the
name keeps it; isolates would not pass the gate.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import cast

from perplexity.block_parser import BlockKind
from perplexity.markdown import Document, Edit, RegionKind

RIGHT_TO_LEFT, LEFT_TO_RIGHT = "\u200f", "\u200e"
"""Marks that cannot be seen and count as a letter of their direction."""
_RIGHT = (
    "[\u05be\u05c0\u05c3\u05c6\u05d0-\u05f4\u0608\u060b\u060d\u061b-\u064a\u066d-\u066f\u0671-\u06d5\u06e5\u06e6\u06ee"
    "\u06ef\u06fa-\u08c9\u200f\ufb1d-\ufdcf\ufdf0-\ufdff\ufe70-\ufefc]"
)
_STRONG = re.compile(rf"(?P<right>{_RIGHT})|[^\W\d_]|{LEFT_TO_RIGHT}")
_RIGHT_LETTER = re.compile(_RIGHT)
_CODE = frozenset({RegionKind.FENCE, RegionKind.INDENTED, RegionKind.SPAN})
_CELL_EDGE = re.compile(r"(?<!\\)\|")
_ADDRESS = re.compile(r"https?://[^\s)\]|]+")


def has_direction(text: str) -> bool:
    """Return whether a text has any strong letter."""
    return _STRONG.search(text) is not None


def runs_right_to_left(text: str) -> bool:
    """Return whether the first strong letter of a text is of a script that runs from right to left."""
    first = None if text.isascii() else _STRONG.search(text)
    return first is not None and first["right"] is not None


class _Strength(dict[int, str]):
    """The direction of characters: `R` and `L` for letters that run from right and from left, a space for others."""

    def __missing__(self, code: int) -> str:
        strong = _STRONG.match(chr(code))
        self[code] = " " if strong is None else "L" if strong["right"] is None else "R"
        return self[code]


_STRENGTH = _Strength()


def directed(document: Document) -> Document:
    """Return a document whose right-to-left lines and cells begin with a letter or a mark of that direction.

    A line is one if it has more such letters than others, or any of them if most letters of the whole text are such;
    code and addresses do not count.
    """
    text = document.text
    if text.isascii() or not _RIGHT_LETTER.search(text):
        return document
    units = [unit for unit in _units(document) if _begins_from_left(text, *unit)]
    if not units:
        return document
    code = [region for region in document.regions if region.kind in _CODE]
    words = _ADDRESS.sub(lambda match: " " * len(match[0]), _without(text, [(r.start, r.end) for r in code]))
    strengths = words.translate(_STRENGTH)
    mostly = _more_right(strengths, 0, len(words))
    edits: list[Edit] = []
    for start, end in units:
        if "R" in strengths[start:end] and (mostly or _more_right(strengths, start, end)):
            first = cast("re.Match[str]", _STRONG.search(text, start, end)).start()
            inside = bisect_right(code, first, key=lambda region: region.start) - 1
            held = inside >= 0 and first < code[inside].end
            place = max(edits[-1][0] if edits else 0, code[inside].start if held else first)
            edits.append((place, place, RIGHT_TO_LEFT))
    return document.replace(edits)


def _begins_from_left(text: str, start: int, end: int) -> bool:
    """Return whether the first strong letter between two places is of a script that runs from left to right."""
    first = _STRONG.search(text, start, end)
    return first is not None and first["right"] is None


def _without(text: str, spans: list[tuple[int, int]]) -> str:
    """Return a text with spaces in the place of some stretches."""
    pieces, place = [], 0
    for start, end in spans:
        pieces += [text[place:start], " " * (end - start)]
        place = end
    return "".join([*pieces, text[place:]])


def _more_right(strengths: str, start: int, end: int) -> bool:
    return strengths.count("R", start, end) > strengths.count("L", start, end)


def _units(document: Document) -> Iterator[tuple[int, int]]:
    """Yield what has a direction of its own: lines, and cells of tables."""
    lines = document.lines
    for block in document.blocks:
        if block.kind not in (BlockKind.PARAGRAPH, BlockKind.HEADING, BlockKind.TABLE):
            continue
        for line in range(block.start, min(block.text_end, len(lines) - 1)):
            start, end = lines[line], lines[line + 1]
            if block.kind is BlockKind.TABLE:
                for edge in _CELL_EDGE.finditer(document.text, start, end):
                    yield start, edge.start()
                    start = edge.end()
            yield start, end
