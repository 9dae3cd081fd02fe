"""The direction of lines in scripts that run from right to left, such as Arabic and Hebrew.

Slack takes the direction of a paragraph, a list item or a cell from its first strong letter, so an Arabic item that
begins with a Latin name would run the wrong way (https://www.unicode.org/reports/tr9/#P2). An invisible mark before the
name keeps it; isolates would not pass the gate.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator

from perplexity.markdown import Kind, blocks, regions

RIGHT_TO_LEFT, LEFT_TO_RIGHT = "\u200f", "\u200e"
"""Marks that cannot be seen and count as a letter of their direction."""

_RIGHT = (
    "[\u05be\u05c0\u05c3\u05c6\u05d0-\u05f4\u0608\u060b\u060d\u061b-\u064a\u066d-\u066f\u0671-\u06d5\u06e5\u06e6\u06ee"
    "\u06ef\u06fa-\u08c9\u200f\ufb1d-\ufdcf\ufdf0-\ufdff\ufe70-\ufefc]"
)
_STRONG = re.compile(rf"(?P<right>{_RIGHT})|[^\W\d_]|{LEFT_TO_RIGHT}")
_RIGHT_LETTER = re.compile(_RIGHT)
_LINE_END = re.compile(r"\n")
_CELL_EDGE = re.compile(r"(?<!\\)\|")
_ADDRESS = re.compile(r"https?://[^\s)\]|]+")


def runs_right_to_left(text: str) -> bool:
    """Return whether the first strong letter of a text is of a script that runs from right to left."""
    first = _STRONG.search(text)
    return first is not None and first["right"] is not None


def directed(text: str) -> str:
    """Return a Markdown text whose right-to-left lines and cells begin with a letter or a mark of that direction.

    A line is one if it has more such letters than others, or any of them if most letters of the whole text are such;
    code and addresses do not count.
    """
    if not _RIGHT_LETTER.search(text):
        return text
    code = [region for region in regions(text) if region.kind in (Kind.FENCE, Kind.INDENTED, Kind.SPAN)]
    words = _ADDRESS.sub(lambda match: " " * len(match[0]), _without(text, [(r.start, r.end) for r in code]))
    mostly = _more_right(words, 0, len(words))
    pieces, place = [], 0
    for start, end in _units(text):
        first = _STRONG.search(text, start, end)
        if first is None or first["right"] or not _RIGHT_LETTER.search(words, start, end):
            continue
        if mostly or _more_right(words, start, end):
            inside = bisect_right(code, first.start(), key=lambda region: region.start) - 1
            held = inside >= 0 and first.start() < code[inside].end
            mark = max(place, code[inside].start if held else first.start())
            pieces += [text[place:mark], RIGHT_TO_LEFT]
            place = mark
    return "".join([*pieces, text[place:]])


def _without(text: str, spans: list[tuple[int, int]]) -> str:
    """Return a text with spaces in the place of some stretches."""
    pieces, place = [], 0
    for start, end in spans:
        pieces += [text[place:start], " " * (end - start)]
        place = end
    return "".join([*pieces, text[place:]])


def _more_right(words: str, start: int, end: int) -> bool:
    letters = right = 0
    for match in _STRONG.finditer(words, start, end):
        letters += 1
        right += match["right"] is not None
    return 2 * right > letters


def _units(text: str) -> Iterator[tuple[int, int]]:
    """Yield what has a direction of its own: lines, and cells of tables."""
    lines = [0, *(match.end() for match in _LINE_END.finditer(text)), len(text)]
    for token in blocks(text):
        if token.type not in ("inline", "table_open") or not token.map:
            continue
        for line in range(token.map[0], min(token.map[1], len(lines) - 1)):
            start, end = lines[line], lines[line + 1]
            if token.type == "inline":
                yield start, end
                continue
            for edge in _CELL_EDGE.finditer(text, start, end):
                yield start, edge.start()
                start = edge.end()
            yield start, end
