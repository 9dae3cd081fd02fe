"""A Markdown text as a document: its blocks, parsed once, and the places of code, LaTeX and prose.

`markdown-it-py` does not keep the places of inline code and does not know LaTeX, so both are found here.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property, lru_cache
from itertools import pairwise
from operator import itemgetter
from typing import NamedTuple

from perplexity.block_parser import Block, BlockKind, line_starts, read_blocks
from perplexity.markers import NUMBERS

_LINE_END = re.compile(r"\r\n?|\n")
_BLANK_LINE = re.compile(r"(?:\r\n?|\n)[ \t]*(?:\r\n?|\n)")
_BACKTICKS = re.compile(r"\\[^`]|\\?(`+)")
_CELL_EDGE = re.compile(r"(?<!\\)\|")
# Each alternative begins with a fixed sign, so that the search jumps from sign to sign.
OPENER = re.compile(
    r"\\(?:[\[(]|begin\{[A-Za-z]{1,20}\*?\}|.)|\$(?:(?<!\$\$)\$(?!\$)|(?<![\\$\w]\$)(?![\s$]))", re.DOTALL
)
_MATH_CLOSERS = {
    r"\[": re.compile(r"\\\]"),
    r"\(": re.compile(r"\\\)"),
    "$$": re.compile(r"(?<!\$)\$\$(?!\$)"),
    "$": re.compile(r"(?<![\s\\$])\$(?!\w)"),
}
# A formula does not contain another one that is opened by the same sign.
_MATH_INSIDE = {
    r"\[": re.compile(r"(?<!\\)\\\["),
    r"\(": re.compile(r"(?<!\\)\\\("),
    "$$": re.compile(r"(?!)"),
    "$": re.compile(r"(?<!\\)\$"),
}
_ENVIRONMENT = re.compile(r"\\(?:(begin)|end)\{([A-Za-z]{1,20}\*?)\}")
# Some models put empty lines around a displayed formula; its signs then stand alone on their lines.
_SPACED_MATH = re.compile(
    r"^[ \t]*(?P<all>(?:(\$\$)|\\\[)[ \t]*\n(?:[ \t]*\n)++(?P<body>(?:[ \t]*[^\s][^\n]*\n)++)"
    r"(?:[ \t]*\n)++[ \t]*(?(2)\$\$|\\\]))(?=[ \t]*$)",
    re.MULTILINE,
)
_COMMAND = re.compile(r"\\[A-Za-z]{2}")
_OF_A_FORMULA = re.compile(r"[\\^_={}]")
_TWO_WORDS = re.compile(r"(?<![^\W\d_])[^\W\d_]{2,}+[ \t,;:]++[^\W\d_]{2}")
_WORD = re.compile(r"(?<![\\A-Za-z])[A-Za-z]{2}")
_LONGER_WORD = re.compile(r"[^\W\d_]{3}")
_ARITHMETIC = re.compile(
    r"(?!\d[\d.,]*[-–][\d.,]+[A-Za-z]?\Z)\d+(?:[.,]\d+)*[A-Za-z]?(?:[-+*/<>(!|][\w.,+*/<>()!|-]*+)?"
)
_AROUND_WORDS = re.compile(r"[\s\d.,;:!?'’“”\"()\[\]/&*–—…-]+")


class RegionKind(StrEnum):
    """The kind of a stretch of a text."""

    PROSE = "prose"
    FENCE = "fence"
    INDENTED = "indented"
    SPAN = "span"
    MATH = "math"


class Region(NamedTuple):
    """A stretch of a text: from `start` up to, not including, `end`, in characters."""

    kind: RegionKind
    start: int
    end: int


Edit = tuple[int, int, str]
"""The start and the end of a stretch of a text, and its replacement."""


DISPLAYED = ("$$", r"\[", r"\begin")
r"""The signs that open a formula on lines of its own; `$` and `\(` open one inside a line."""


@dataclass(frozen=True, eq=False)
class Document:
    """A Markdown text with its blocks, each before those inside it. Regions are computed when they are needed."""

    text: str
    blocks: tuple[Block, ...]

    @cached_property
    def lines(self) -> list[int]:
        """The places at which the lines begin, and the text's end."""
        return line_starts(self.text)

    @cached_property
    def regions(self) -> tuple[Region, ...]:
        """The regions that together make up the text. Neighbours differ in kind, unless both are code."""
        text = self.text
        code = [*self._block_code()]
        cells: list[tuple[int, int]] = []
        has_math = may_have_math(text)
        if has_math or "`" in text:
            cells = [*self._cells()]
        if "`" in text:
            spans = _spans(text, [*self._inline_ranges(), *cells])
            code = _apart(sorted([*code, *spans], key=_START))
        if has_math:
            code = _apart(sorted([*code, *_math(text, code, cells)], key=_START))
        return tuple(_filled(code, len(text)))

    def line_at(self, place: int) -> int:
        """Return the number of the line that a place is in, from 0."""
        return bisect_right(self.lines, place, 0, max(1, len(self.lines) - 1)) - 1

    def stretch(self, start: int, end: int) -> str:
        """Return the text from one line up to, not including, another, without its last line end."""
        lines = self.lines
        last = len(lines) - 1
        return self.text[lines[min(start, last)] : lines[min(end, last)]].removesuffix("\n")

    def replace(self, edits: Sequence[Edit]) -> Document:
        """Return the document with stretches replaced; `edits` are in order and do not overlap."""
        kept, place = [], 0
        for start, end, new in edits:
            kept += [self.text[place:start], new]
            place = end
        return parse("".join([*kept, self.text[place:]]))

    def _block_code(self) -> Iterator[Region]:
        for block in self.blocks:
            if block.kind in _CODE:
                start, end = self._range(block.start, block.end)
                yield Region(_CODE[block.kind], start, end)

    def _range(self, start: int, end: int) -> tuple[int, int]:
        lines = self.lines
        return lines[start], lines[min(end, len(lines) - 1)]

    def _inline_ranges(self) -> Iterator[tuple[int, int]]:
        """Yield the ranges of paragraphs and headings; inline code never continues beyond their ends."""
        for block in self.blocks:
            if block.kind in _WITH_TEXT:
                yield self._range(block.start, block.text_end)

    def _cells(self) -> Iterator[tuple[int, int]]:
        """Yield the ranges of the cells of tables; inline code and LaTeX never continue beyond their edges."""
        for block in self.blocks:
            if block.kind is BlockKind.TABLE:
                for line, after in pairwise(self.lines[block.start : block.end + 1]):
                    edges = [line, *(m.start() for m in _CELL_EDGE.finditer(self.text, line, after)), after]
                    yield from pairwise(edges)


_START = itemgetter(1)
_CODE = {BlockKind.FENCE: RegionKind.FENCE, BlockKind.INDENTED: RegionKind.INDENTED}
_WITH_TEXT = frozenset({BlockKind.PARAGRAPH, BlockKind.HEADING})


@lru_cache(maxsize=4)
def parse(text: str) -> Document:
    """Return a Markdown text as a document. Recent documents are cached: an answer is first checked, then shown."""
    return Document(text, read_blocks(text))


def regions(text: str) -> tuple[Region, ...]:
    """Cut a text into the regions of its document."""
    return parse(text).regions


def may_have_math(text: str) -> bool:
    """Return whether a text contains a sign that could open a formula."""
    return "$" in text or ("\\" in text and any(opener in text for opener in (r"\(", r"\[", r"\begin{")))


def _spans(text: str, ranges: Sequence[tuple[int, int]]) -> Iterator[Region]:
    """Yield inline code: from a run of backticks to the next run of the same length."""
    for start, end in ranges:
        if text.find("`", start, end) < 0:
            continue
        runs, literal = [], set()
        for match in _BACKTICKS.finditer(text, start, end):
            if match[1]:
                runs.append(match.span(1))
                if match[0][0] == "\\":
                    literal.add(match.start(1))
        yield from _paired(runs, literal)


def _paired(runs: Sequence[tuple[int, int]], literal: set[int]) -> Iterator[Region]:
    last = {end - start: index for index, (start, end) in enumerate(runs)}
    index = 0
    while index < len(runs):
        start, end = runs[index]
        # An escaped backtick opens nothing by itself, but the rest of its run does.
        start += start in literal
        index += 1
        if end == start or last.get(end - start, -1) < index:
            continue
        closing = next((i for i in range(index, len(runs)) if runs[i][1] - runs[i][0] == end - start), None)
        if closing is not None:
            yield Region(RegionKind.SPAN, start, runs[closing][1])
            index = closing + 1


def _math(text: str, code: Sequence[Region], cells: Sequence[tuple[int, int]]) -> Iterator[Region]:
    """Yield LaTeX outside code.

    LaTeX never crosses a blank line or the edge of a cell. Prices, as in "$5 and $6", are no LaTeX.
    """
    edges = [(0, 0), *((region.start, region.end) for region in code), (len(text), len(text))]
    for (_, start), (end, _) in pairwise(edges):
        if not may_have_math(text[start:end]):
            continue
        spaced = [m for m in _spaced(text, start, end) if looks_like_maths(m["body"], "$$")]
        yield from (Region(RegionKind.MATH, start=m.start("all"), end=m.end("all")) for m in spaced)
        breaks = [(start, start), *_breaks(text, start, end, spaced), (end, end)]
        breaks += [(place, place) for place in _edges_between(cells, start, end)]
        for (_, first), (last, _) in pairwise(sorted(breaks)):
            yield from _math_between(text, first, last)


def _spaced(text: str, start: int, end: int) -> Iterator[re.Match[str]]:
    """Yield candidates for formulas with empty lines around them, without signs that close an earlier formula."""
    while match := _SPACED_MATH.search(text, start, end):
        sign = match.start("all")
        above = text.rfind("\n\n", start, sign)
        if text.count("$$", max(above, start), sign) % 2:
            start = sign + 2
        else:
            yield match
            start = match.end()


def _breaks(text: str, start: int, end: int, spaced: Sequence[re.Match[str]]) -> Iterator[tuple[int, int]]:
    edges = [start, *(place for m in spaced for place in m.span("all")), end]
    for first, last in zip(edges[::2], edges[1::2], strict=True):
        yield from (m.span() for m in _BLANK_LINE.finditer(text, first, last))
    yield from (m.span("all") for m in spaced)


def _edges_between(cells: Sequence[tuple[int, int]], start: int, end: int) -> Iterator[int]:
    """Yield the places from `start` to `end` at which cells of tables begin."""
    for index in range(bisect_left(cells, (start, 0)), len(cells)):
        if cells[index][0] > end:
            return
        yield cells[index][0]


def _math_between(text: str, start: int, end: int) -> Iterator[Region]:
    closers: dict[str, _Next] = {}
    inside: dict[str, _Next] = {}
    environments: dict[int, int] | None = None
    line_end = start - 1
    while opener := OPENER.search(text, start, end):
        start, sign = opener.end(), opener[0]
        if sign.startswith("\\begin"):
            if environments is None:
                environments = _environments(text, opener.start(), end)
            if opener.start() in environments:
                start = environments[opener.start()]
                yield Region(RegionKind.MATH, start=opener.start(), end=start)
            continue
        if sign not in _MATH_CLOSERS:
            continue
        if sign not in closers:
            closers[sign], inside[sign] = _Next(_MATH_CLOSERS[sign], text), _Next(_MATH_INSIDE[sign], text)
        if start > line_end:
            line_end = _line_end(text, start, end)
        # A formula in single dollar signs never crosses a line's end.
        last = line_end if sign == "$" else end
        closer = closers[sign].within(start, last)
        if closer is None or inside[sign].within(start, closer[0]) is not None:
            continue
        if looks_like_maths(text[start : closer[0]], sign):
            start = closer[1]
            yield Region(RegionKind.MATH, start=opener.start(), end=start)


def _environments(text: str, start: int, end: int) -> dict[int, int]:
    """Return the end of each LaTeX environment by its start."""
    ends: dict[int, int] = {}
    opened: list[re.Match[str]] = []
    for match in _ENVIRONMENT.finditer(text, start, end):
        if match[1]:
            opened.append(match)
        elif opened and opened[-1][2] == match[2]:
            ends[opened.pop().start()] = match.end()
    return ends


def looks_like_maths(content: str, opener: str) -> bool:
    r"""Return whether the text between an opener of LaTeX and its closer is a formula.

    The following texts are no formulas: words, a text between two prices, and a text in brackets that are only escaped,
    as in `\[sic\]`.
    """
    # A text that begins a new line after its opening bracket is a formula, since brackets that are only escaped stand
    # inside a line.
    if _COMMAND.search(content) or (opener == r"\[" and content.startswith("\n") and content.strip()):
        return True
    content = content.strip()
    if "$" in content or (opener == r"\[" and re.fullmatch(NUMBERS, content)):
        return False
    signs = _OF_A_FORMULA.search(content) is not None
    if not any(character.isalnum() for character in content) or _TWO_WORDS.search(content):
        return signs and opener != "$"
    if opener == r"\[":
        words = _AROUND_WORDS.sub("", content)
        return signs or (words != "" and not (words.isalpha() and _LONGER_WORD.search(words)))
    if opener == "$" and content[0].isdecimal():
        return _ARITHMETIC.fullmatch(content) is not None or (signs and _WORD.search(content) is None)
    return True


class _Next:
    """Finds the next place of a sign in a text. Starts must increase; no part of the text is searched twice."""

    def __init__(self, sign: re.Pattern[str], text: str) -> None:
        self._sign, self._text = sign, text
        self._searched, self._found = -1, (-1, -1)

    def within(self, start: int, end: int) -> tuple[int, int] | None:
        """Return the first place of the sign that begins at `start` or later, None if none ends by `end`."""
        if self._found[0] < start and self._searched < end:
            match = self._sign.search(self._text, max(start, self._searched), end)
            self._found, self._searched = (match.span(), match.start()) if match else ((-1, -1), end)
        return self._found if start <= self._found[0] and self._found[1] <= end else None


def _line_end(text: str, start: int, end: int) -> int:
    match = _LINE_END.search(text, start, end)
    return match.start() if match else end


def _apart(ordered: Sequence[Region]) -> list[Region]:
    """Return the regions without those that begin inside the region before them."""
    kept: list[Region] = []
    for region in ordered:
        if not kept or region.start >= kept[-1].end:
            kept.append(region)
    return kept


def _filled(found: Sequence[Region], length: int) -> Iterator[Region]:
    place = 0
    for region in found:
        if region.start > place:
            yield Region(RegionKind.PROSE, start=place, end=region.start)
        yield region
        place = region.end
    if length > place:
        yield Region(RegionKind.PROSE, start=place, end=length)
