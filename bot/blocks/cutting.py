"""Cuts running text that is too long for one message: after a line, else a sentence, else a word, else a character."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator, Sequence

from bot.blocks.marks import MARK, Addresses
from bot.blocks.weights import running
from perplexity.prose import Kind, regions

_BORDERS = (
    re.compile(r"\n"),
    re.compile(rf"(?:[.!?…][\"'”’)\]]*(?:\s*{MARK.pattern})*\s+|[。！？](?:{MARK.pattern})*)(?!\ufdd0)"),
    re.compile(r"\s+(?!\ufdd0)"),
)
_JOINS = frozenset("\u200d\ufe0e\ufe0f\u2060")
_LONGEST_CLUSTER = 40
_LONGEST_MARK = 12


def cut(text: str, *, room: int, addresses: Addresses, whole: bool = True) -> list[str]:
    """Cut a text into pieces that weigh at most `room` each; joined, they are the text.

    With `whole`, no cut falls into inline code that fits a piece. None ever falls into a mark, and none into what is
    seen as one character (an emoji with its colour) unless that is longer than 40.
    """
    sums = running(text, addresses)
    if sums[-1] <= room:
        return [text]
    marks = [match.span() for match in MARK.finditer(text)]
    spans = [(start, end) for start, end in _inline_code(text) if whole and sums[end] - sums[start] <= room]
    kept = sorted([*marks, *spans])
    borders = [[m.end() for m in border.finditer(text) if not _within(m.end(), kept)] for border in _BORDERS]
    return list(_pieces(text, sums, borders, room))


def _inline_code(text: str) -> list[tuple[int, int]]:
    return [(region.start, region.end) for region in regions(text) if region.kind is Kind.SPAN]


def _pieces(text: str, sums: Sequence[int], borders: Sequence[Sequence[int]], room: int) -> Iterator[str]:
    start = 0
    while start < len(text):
        farthest = max(start + 1, bisect_right(sums, sums[start] + room) - 1)
        if farthest >= len(text):
            end = len(text)
        else:
            end = _best(borders, start, farthest) or _between_characters(text, start, farthest)
        yield text[start:end]
        start = end


def _best(borders: Sequence[Sequence[int]], start: int, farthest: int) -> int | None:
    """Return the last place of the best kind, as long as the piece does not become much too short for it."""
    for places in borders:
        index = bisect_right(places, farthest) - 1
        if index >= 0 and places[index] > start + (farthest - start) // 3:
            return places[index]
    return None


def _between_characters(text: str, start: int, farthest: int) -> int:
    near = MARK.finditer(text, max(start, farthest - _LONGEST_MARK), farthest + _LONGEST_MARK)
    mark = next((m for m in near if m.start() < farthest < m.end()), None)
    if mark:
        return mark.start() if mark.start() > start else mark.end()
    for place in range(farthest, max(start, farthest - _LONGEST_CLUSTER), -1):
        if not _joined(text[place - 1], text[place]):
            return place
    return farthest


def _joined(before: str, after: str) -> bool:
    """Tell whether two neighbours are seen as one character, near enough to https://unicode.org/reports/tr29/."""
    extends = unicodedata.category(after) in ("Mn", "Me", "Mc") or "\U0001f3fb" <= after <= "\U0001f3ff"
    flags = all("\U0001f1e6" <= letter <= "\U0001f1ff" for letter in (before, after))
    return extends or flags or after in _JOINS or before in _JOINS or before == "\\"


def _within(place: int, spans: Sequence[tuple[int, int]]) -> bool:
    index = bisect_right(spans, (place, -1)) - 1
    return index >= 0 and spans[index][0] < place < spans[index][1]
