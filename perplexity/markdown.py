"""Where code, LaTeX and prose stand in a Markdown text.

What is a block is CommonMark's own decision (https://spec.commonmark.org/0.31.2/) plus GitHub's tables, taken from
`markdown-it-py` without its inline parser; what stands inside a line is found here, because that parser keeps no
places of inline code and knows no LaTeX.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_block import table as _is_table
from markdown_it.token import Token

from perplexity.markers import NUMBERS


def _table(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Take a table as one token without its cells: a short text can have millions, most of them empty.

    What is a table is the parser's decision; it ends as in the parser's own rule.
    """
    if not _is_table(state, start, end, True):
        return False
    if silent:
        return True
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


_PARSER = MarkdownIt("commonmark", {"html": False}).enable("table").disable(["inline", "reference"])
_PARSER.block.ruler.at("table", _table, {"alt": ["paragraph", "reference"]})
_LINE_END = re.compile(r"\r\n?|\n")
_BLANK_LINE = re.compile(r"(?:\r\n?|\n)[ \t]*(?:\r\n?|\n)")
_BACKTICKS = re.compile(r"\\[^`]|\\?(`+)")
_CELL_EDGE = re.compile(r"(?<!\\)\|")
OPENER = re.compile(r"\\[\[(]|\\begin\{[A-Za-z]{1,20}\*?\}|(?<!\$)\$\$(?!\$)|(?<![\\$\w])\$(?![\s$])|\\.", re.DOTALL)
_MATH_CLOSERS = {
    r"\[": re.compile(r"\\\]"),
    r"\(": re.compile(r"\\\)"),
    "$$": re.compile(r"(?<!\$)\$\$(?!\$)"),
    "$": re.compile(r"(?<![\s\\$])\$(?!\w)"),
}
# A formula holds no other that is opened by the same sign.
_MATH_INSIDE = {
    r"\[": re.compile(r"(?<!\\)\\\["),
    r"\(": re.compile(r"(?<!\\)\\\("),
    "$$": re.compile(r"(?!)"),
    "$": re.compile(r"(?<!\\)\$"),
}
_ENVIRONMENT = re.compile(r"\\(?:(begin)|end)\{([A-Za-z]{1,20}\*?)\}")
# Some models put empty lines around a displayed formula, whose signs are then alone on their lines.
_SPACED_MATH = re.compile(
    r"^[ \t]*(?P<all>(?:(\$\$)|\\\[)[ \t]*\n(?:[ \t]*\n)++(?P<body>(?:[ \t]*[^\s][^\n]*\n)++)"
    r"(?:[ \t]*\n)++[ \t]*(?(2)\$\$|\\\]))(?=[ \t]*$)",
    re.MULTILINE,
)
_COMMAND = re.compile(r"\\[A-Za-z]{2}")
_OF_A_FORMULA = re.compile(r"[\\^_={}]")
_MARKER_NUMBERS = re.compile(NUMBERS)
_TWO_WORDS = re.compile(r"(?<![^\W\d_])[^\W\d_]{2,}+[ \t,;:]++[^\W\d_]{2}")
_WORD = re.compile(r"(?<![\\A-Za-z])[A-Za-z]{2}")
_LONGER_WORD = re.compile(r"[^\W\d_]{3}")
_ARITHMETIC = re.compile(
    r"(?!\d[\d.,]*[-–][\d.,]+[A-Za-z]?\Z)\d+(?:[.,]\d+)*[A-Za-z]?(?:[-+*/<>(!|][\w.,+*/<>()!|-]*+)?"
)
_AROUND_WORDS = re.compile(r"[\s\d.,;:!?'’“”\"()\[\]/&*–—…-]+")


class Kind(StrEnum):
    """What a stretch of a text is."""

    PROSE = "prose"
    FENCE = "fence"
    INDENTED = "indented"
    SPAN = "span"
    MATH = "math"


@dataclass(frozen=True, kw_only=True)
class Region:
    """A stretch of a text: from `start` up to, not including, `end`, in characters."""

    kind: Kind
    start: int
    end: int


DISPLAYED = ("$$", r"\[", r"\begin")
"""What opens a formula that is shown on lines of its own; `$` and `\\(` open one inside a line."""


def blocks(text: str) -> list[Token]:
    """Return the block tokens of a Markdown text, their inline content unparsed. A table has no tokens for its cells.

    Link definitions and HTML blocks are not known: both are paragraphs here, so that nothing in the text is invisible.
    """
    return _PARSER.parse(text)


def regions(text: str) -> tuple[Region, ...]:
    """Cut a text into regions that, joined, are the text; neighbours differ in kind or are two of a kind of code."""
    lines = [0, *(match.end() for match in _LINE_END.finditer(text)), len(text)]
    tokens = blocks(text)
    code = [*_block_code(tokens, lines)]
    cells = [*_cells(text, tokens, lines)]
    code += _spans(text, [*_inline_ranges(tokens, lines), *cells])
    code = _apart(sorted(code, key=lambda region: (region.start, -region.end)))
    return tuple(_filled(_apart(sorted([*code, *_math(text, code, cells)], key=lambda r: r.start)), len(text)))


def _block_code(tokens: Sequence[Token], lines: Sequence[int]) -> Iterator[Region]:
    for token in tokens:
        if token.type in ("fence", "code_block") and token.map:
            kind = Kind.FENCE if token.type == "fence" else Kind.INDENTED
            yield Region(kind=kind, start=lines[token.map[0]], end=lines[min(token.map[1], len(lines) - 1)])


def _inline_ranges(tokens: Sequence[Token], lines: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield the stretches that inline code cannot leave: a paragraph, a heading."""
    for token in tokens:
        if token.type == "inline" and token.map:
            yield lines[token.map[0]], lines[min(token.map[1], len(lines) - 1)]


def _cells(text: str, tokens: Sequence[Token], lines: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield the cells of the tables, which inline code and LaTeX cannot leave."""
    for token in tokens:
        if token.type == "table_open" and token.map:
            for line, after in pairwise(lines[token.map[0] : token.map[1] + 1]):
                edges = [line, *(line + m.start() for m in _CELL_EDGE.finditer(text[line:after])), after]
                yield from pairwise(edges)


def _spans(text: str, ranges: Sequence[tuple[int, int]]) -> Iterator[Region]:
    """Find inline code: a run of backticks up to the next run of the same length."""
    for start, end in ranges:
        runs = [m.span(1) for m in _BACKTICKS.finditer(text, start, end) if m[1]]
        literal = {m.start(1) for m in _BACKTICKS.finditer(text, start, end) if m[1] and m[0].startswith("\\")}
        yield from _paired(runs, literal)


def _paired(runs: Sequence[tuple[int, int]], literal: set[int]) -> Iterator[Region]:
    last = {end - start: index for index, (start, end) in enumerate(runs)}
    index = 0
    while index < len(runs):
        start, end = runs[index]
        # An escaped backtick opens nothing by itself; the rest of its run does.
        start += start in literal
        index += 1
        if end == start or last.get(end - start, -1) < index:
            continue
        closing = next((i for i in range(index, len(runs)) if runs[i][1] - runs[i][0] == end - start), None)
        if closing is not None:
            yield Region(kind=Kind.SPAN, start=start, end=runs[closing][1])
            index = closing + 1


def _math(text: str, code: Sequence[Region], cells: Sequence[tuple[int, int]]) -> Iterator[Region]:
    """Find LaTeX between code, never across a blank line, out of a cell or in prices: "$5 and $6" has none."""
    edges = [(0, 0), *((region.start, region.end) for region in code), (len(text), len(text))]
    for (_, start), (end, _) in pairwise(edges):
        spaced = [m for m in _SPACED_MATH.finditer(text, start, end) if looks_like_maths(m["body"], "$$")]
        yield from (Region(kind=Kind.MATH, start=m.start("all"), end=m.end("all")) for m in spaced)
        breaks = [(start, start), *_breaks(text, start, end, spaced), (end, end)]
        breaks += [(place, place) for place in _edges_between(cells, start, end)]
        for (_, first), (last, _) in pairwise(sorted(breaks)):
            yield from _math_between(text, first, last)


def _breaks(text: str, start: int, end: int, spaced: Sequence[re.Match[str]]) -> Iterator[tuple[int, int]]:
    edges = [start, *(place for m in spaced for place in m.span("all")), end]
    for first, last in zip(edges[::2], edges[1::2], strict=True):
        yield from (m.span() for m in _BLANK_LINE.finditer(text, first, last))
    yield from (m.span("all") for m in spaced)


def _edges_between(cells: Sequence[tuple[int, int]], start: int, end: int) -> Iterator[int]:
    """Yield where cells of tables begin between two places."""
    for index in range(bisect_left(cells, (start, 0)), len(cells)):
        if cells[index][0] > end:
            return
        yield cells[index][0]


def _math_between(text: str, start: int, end: int) -> Iterator[Region]:
    if not OPENER.search(text, start, end):
        return
    closers = {opener: _Next(sign, text) for opener, sign in _MATH_CLOSERS.items()}
    inside = {opener: _Next(sign, text) for opener, sign in _MATH_INSIDE.items()}
    environments: dict[int, int] | None = None
    line_end = start - 1
    while opener := OPENER.search(text, start, end):
        start, sign = opener.end(), opener[0]
        if sign.startswith("\\begin"):
            if environments is None:
                environments = _environments(text, opener.start(), end)
            if opener.start() in environments:
                start = environments[opener.start()]
                yield Region(kind=Kind.MATH, start=opener.start(), end=start)
            continue
        if sign not in closers:
            continue
        if start > line_end:
            line_end = _line_end(text, start, end)
        # A single dollar sign never reaches over a line's end.
        last = line_end if sign == "$" else end
        closer = closers[sign].within(start, last)
        if closer is None or inside[sign].within(start, closer[0]) is not None:
            continue
        if looks_like_maths(text[start : closer[0]], sign):
            start = closer[1]
            yield Region(kind=Kind.MATH, start=opener.start(), end=start)


def _environments(text: str, start: int, end: int) -> dict[int, int]:
    """Return where each LaTeX environment ends, by its beginning."""
    ends: dict[int, int] = {}
    opened: list[re.Match[str]] = []
    for match in _ENVIRONMENT.finditer(text, start, end):
        if match[1]:
            opened.append(match)
        elif opened and opened[-1][2] == match[2]:
            ends[opened.pop().start()] = match.end()
    return ends


def looks_like_maths(content: str, opener: str) -> bool:
    r"""Return whether what is between an opener of LaTeX and its closer is a formula.

    It is none between two prices, in brackets that are only escaped, as in `\[sic\]`, and if it is words.
    """
    # Brackets that are only escaped are no lines of their own.
    if _COMMAND.search(content) or (opener == r"\[" and content.startswith("\n") and content.strip()):
        return True
    content = content.strip()
    if "$" in content or (opener == r"\[" and _MARKER_NUMBERS.fullmatch(content)):
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
    """The next place of a sign in a text. Asked for places that only go up, it looks at no part of the text twice."""

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
    """Drop what begins inside the region before it."""
    kept: list[Region] = []
    for region in ordered:
        if not kept or region.start >= kept[-1].end:
            kept.append(region)
    return kept


def _filled(found: Sequence[Region], length: int) -> Iterator[Region]:
    place = 0
    for region in found:
        if region.start > place:
            yield Region(kind=Kind.PROSE, start=place, end=region.start)
        yield region
        place = region.end
    if length > place:
        yield Region(kind=Kind.PROSE, start=place, end=length)
