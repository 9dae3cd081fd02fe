"""A Markdown text as a document: its blocks, parsed once, and the places of code, LaTeX and prose.

The grammar of the markers that refer to sources, such as `[1]`, is at the end.

The blocks are those of CommonMark (https://spec.commonmark.org/0.31.2/) plus GitHub's tables. Link definitions and HTML
blocks are paragraphs here, so that no text is invisible. `markdown-it-py` does not keep the places of inline code and
does not know LaTeX, so both are found here.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache, cached_property, lru_cache, partial
from itertools import pairwise
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    from markdown_it import MarkdownIt
    from markdown_it.rules_block import StateBlock
    from markdown_it.token import Token

    Rule = Callable[[StateBlock, int, int, bool], bool]
    """A rule of the parser: (state, first line, line after the last, whether to test only) -> whether it matched."""

_LINE_END = re.compile(r"\r\n?|\n")
_CELL_EDGE = re.compile(r"(?<!\\)\|")


class BlockKind(StrEnum):
    """The kind of a block."""

    HEADING = "heading"
    PARAGRAPH = "paragraph"
    LIST = "list"
    ITEM = "item"
    QUOTE = "quote"
    FENCE = "fence"
    INDENTED = "indented"
    TABLE = "table"
    RULE = "rule"


class Block(NamedTuple):
    """A block from the line `start` up to, not including, `end`; `depth` counts the blocks around it.

    `column` is where the text of a paragraph or a heading begins in its first line. `content` is the text of a heading,
    or code; `markup` is the sign of a heading or a fence, and `info` the words after a fence's sign.
    """

    kind: BlockKind
    depth: int
    start: int
    end: int
    column: int = 0
    content: str = ""
    markup: str = ""
    info: str = ""

    @property
    def text_end(self) -> int:
        """The line after the text of a paragraph or a heading; the heading's underline is not part of its text."""
        return self.end - (self.kind is BlockKind.HEADING and not self.markup.startswith("#"))


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
        return [0, *(match.end() for match in _LINE_END.finditer(self.text)), len(self.text)]

    @cached_property
    def regions(self) -> tuple[Region, ...]:
        """The regions that together make up the text. Two neighbours are never both prose."""
        text, blocks, has_math = self.text, self.blocks, may_have_math(self.text)
        found = [Region(_CODE[one.kind], *self._range(one.start, one.end)) for one in blocks if one.kind in _CODE]
        cells = [*self._cells()] if has_math or "`" in text else []
        if "`" in text:
            # Inline code never continues beyond the end of a paragraph or a heading.
            inline = [self._range(block.start, block.text_end) for block in blocks if block.kind in _WITH_TEXT]
            found = _apart(sorted([*found, *_spans(text, [*inline, *cells])], key=_START))
        if has_math:
            found = _apart(sorted([*found, *_math(text, found, cells)], key=_START))
        return tuple(_filled(found, len(text)))

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

    def _range(self, start: int, end: int) -> tuple[int, int]:
        lines = self.lines
        return lines[start], lines[min(end, len(lines) - 1)]

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


_COLUMN = "column"
_KINDS = {
    "heading_open": BlockKind.HEADING,
    "paragraph_open": BlockKind.PARAGRAPH,
    "bullet_list_open": BlockKind.LIST,
    "ordered_list_open": BlockKind.LIST,
    "list_item_open": BlockKind.ITEM,
    "blockquote_open": BlockKind.QUOTE,
    "fence": BlockKind.FENCE,
    "code_block": BlockKind.INDENTED,
    "table_open": BlockKind.TABLE,
    "hr": BlockKind.RULE,
}
"""The kind of block that each type of token begins."""


def read_blocks(text: str) -> tuple[Block, ...]:
    """Return the blocks of a text, each before those inside it. Rows and cells of tables do not count as blocks."""
    tokens = _parser().parse(text)
    return tuple(_block(tokens, index) for index, token in enumerate(tokens) if token.type in _KINDS)


def _block(tokens: Sequence[Token], index: int) -> Block:
    token = tokens[index]
    start, end = token.map or (0, 0)
    content = tokens[index + 1].content if token.type == "heading_open" else token.content
    column = token.meta.get(_COLUMN, 0)
    return Block(_KINDS[token.type], token.level, start, end, column, content, token.markup, token.info)


@cache
def _parser() -> MarkdownIt:
    # Imported here because the library takes a while to load.
    from markdown_it import MarkdownIt, rules_block

    parser = MarkdownIt("commonmark").enable("table").disable(["reference", "html_block"])
    parser.core.ruler.enableOnly(["normalize", "block"])
    ruler, paragraph_ends = parser.block.ruler, ["paragraph", "reference"]
    ruler.at("paragraph", _with_column(rules_block.paragraph))
    ruler.at("lheading", _with_column(rules_block.lheading))
    ruler.at("heading", _with_column(rules_block.heading), {"alt": [*paragraph_ends, "blockquote"]})
    ruler.at("table", partial(_table_without_cells, rules_block.table), {"alt": paragraph_ends})
    return parser


def _with_column(rule: Rule) -> Rule:
    """Return the rule of a paragraph or a heading, extended to store the column at which the text begins."""

    def read(state: StateBlock, start: int, end: int, silent: bool) -> bool:
        opening, found = len(state.tokens), rule(state, start, end, silent)
        if found and not silent:
            place = state.bMarks[start] + state.tShift[start]
            state.tokens[opening].meta[_COLUMN] = place - state.src.rfind("\n", 0, place) - 1
        return found

    return read


def _table_without_cells(rule: Rule, state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Read a table without its cells, because even a short text can have very many cells, most of them empty.

    The library's rule decides whether the lines are a table, and where it ends.
    """
    if not rule(state, start, end, True):
        return False
    if not silent:
        line = start + 2
        while line < end and not _ends_table(state, line, end):
            line += 1
        state.push("table_open", "table", 1).map = [start, line]
        state.push("table_close", "table", -1)
        state.line = line
    return True


def _ends_table(state: StateBlock, line: int, end: int) -> bool:
    if state.sCount[line] < state.blkIndent or state.isEmpty(line) or state.is_code_block(line):
        return True
    kind, state.parentType = state.parentType, "table"
    try:
        return any(rule(state, line, end, True) for rule in state.md.block.ruler.getRules("blockquote"))
    finally:
        state.parentType = kind


_BACKTICKS = re.compile(r"\\[^`]|\\?(`+)")


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


_BLANK_LINE = re.compile(r"(?:\r\n?|\n)[ \t]*(?:\r\n?|\n)")
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
# Some models put empty lines between a displayed formula and its signs; each sign is alone on its line.
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


def _math(text: str, code: Sequence[Region], cells: Sequence[tuple[int, int]]) -> Iterator[Region]:
    """Yield LaTeX outside code.

    LaTeX never crosses the edge of a cell, and crosses blank lines only as in `_SPACED_MATH`. Prices, as in "$5 and
    $6", are no LaTeX.
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
    """Yield possible formulas as in `_SPACED_MATH`. A sign that closes an earlier formula does not open one."""
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
    """Return the places at which LaTeX environments end, by the places at which they begin."""
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
    """Finds the next place of a sign in a text without searching any part of the text twice.

    The `start` of a call must not lie before the `start` of an earlier call.
    """

    def __init__(self, sign: re.Pattern[str], text: str) -> None:
        self._sign, self._text = sign, text
        self._searched, self._found = -1, (-1, -1)

    def within(self, start: int, end: int) -> tuple[int, int] | None:
        """Return the start and the end of the first sign from `start` on; None if there is no sign before `end`."""
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


# The grammar of markers: `[1]`, `[2, 4-6]`, `[web:4]`, `【3】`, also with full-width signs.

MOST_OF_A_RANGE = 50
"""The most numbers of a range that are read; no answer has so many sources, and `[1-999999]` must stay cheap."""

DASHES = r"\-‐‑‒–—―−﹣－~～〜"
"""The signs that may stand between the ends of a range, written for the inside of a character class."""

_SPACES = r"[ \t\u00a0\u2009\u202f\u3000]{0,8}"
_DASH = rf"{_SPACES}[{DASHES}]{_SPACES}"
# `[0-9]` stays text, because no service counts from 0. A date such as `[10-2025]` stays text, too.
_ITEM = rf"(?:web:)?(?!0+{_DASH})\d{{1,3}}(?:{_DASH}(?:web:)?(?!(?:19|20)\d\d(?!\d))\d+)?"
OPEN = r"(?:\\?\[|【|［)"
NUMBERS = rf"{_SPACES}{_ITEM}(?:{_SPACES}[,;，；、]{_SPACES}{_ITEM})*{_SPACES}"
"""The inside of a marker. A number of four digits or more can only end a range; `[2024-2026]` stays text."""
CLOSE = r"(?:\\?\]|】|］)"

_RANGE = re.compile(rf"(\d+)(?:{_DASH}(?:web:)?(\d+))?")
_LONGEST_NUMBER = 9


@dataclass(frozen=True, kw_only=True)
class Range:
    """The numbers of a range, at most `MOST_OF_A_RANGE`; `cut` says whether there were more."""

    numbers: range
    cut: bool = False


def ranges(written: str) -> Iterator[Range]:
    """Yield the ranges in the text of a `NUMBERS` match; a single number is a range of one."""
    for match in _RANGE.finditer(written):
        low, high = sorted((_value(match[1]), _value(match[2] or match[1])))
        end = min(high, low + MOST_OF_A_RANGE - 1)
        yield Range(numbers=range(low, end + 1), cut=end < high)


def is_plain(marker: str) -> bool:
    """Return whether a marker has only ASCII characters and no range, so that every program can read it."""
    return marker.isascii() and not any(dash in marker for dash in "-~")


def written(numbers: Sequence[int]) -> str:
    """Return markers for these numbers."""
    return "".join(f"[{number}]" for number in numbers)


def _value(digits: str) -> int:
    # Turning many digits into a number takes time in proportion to the square of their count.
    return int(digits) if len(digits) <= _LONGEST_NUMBER else 10**_LONGEST_NUMBER
