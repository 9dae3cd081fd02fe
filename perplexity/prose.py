"""Where code, LaTeX and prose stand in a Markdown text.

What is a block is CommonMark's own decision (https://spec.commonmark.org/0.31.2/) plus GitHub's tables, taken from
`markdown-it-py` without its inline parser; what stands inside a line is found here, because that parser keeps no
places of inline code and knows no LaTeX.
"""

from __future__ import annotations

import re
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
_MATH_OPENER = re.compile(r"\\[\[(]|\$\$|(?<![\\$\w])\$(?![\s$])|\\.", re.DOTALL)
_MATH_CLOSERS = {
    r"\[": re.compile(r"\\\]"),
    r"\(": re.compile(r"\\\)"),
    "$$": re.compile(r"\$\$"),
    "$": re.compile(r"(?<![\s\\$])\$(?!\w)"),
}
_OF_A_FORMULA = re.compile(r"[\\^_={}]")
_ONLY_A_NUMBER = re.compile(rf"\\\[{NUMBERS}\\\]")


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
    code += _spans(text, [*_inline_ranges(text, tokens, lines)])
    code = _apart(sorted(code, key=lambda region: (region.start, -region.end)))
    return tuple(_filled(_apart(sorted([*code, *_math(text, code)], key=lambda r: r.start)), len(text)))


def _block_code(tokens: Sequence[Token], lines: Sequence[int]) -> Iterator[Region]:
    for token in tokens:
        if token.type in ("fence", "code_block") and token.map:
            kind = Kind.FENCE if token.type == "fence" else Kind.INDENTED
            yield Region(kind=kind, start=lines[token.map[0]], end=lines[min(token.map[1], len(lines) - 1)])


def _inline_ranges(text: str, tokens: Sequence[Token], lines: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield the stretches that inline code cannot leave: a paragraph, a heading, a cell of a table."""
    table_end = 0
    for token in tokens:
        if not token.map or token.map[1] <= table_end:
            continue
        start, end = lines[token.map[0]], lines[min(token.map[1], len(lines) - 1)]
        if token.type == "table_open":
            table_end = token.map[1]
            for line, after in pairwise(lines[token.map[0] : token.map[1] + 1]):
                edges = [line, *(line + m.start() for m in _CELL_EDGE.finditer(text[line:after])), after]
                yield from pairwise(edges)
        elif token.type == "inline":
            yield start, end


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


def _math(text: str, code: Sequence[Region]) -> Iterator[Region]:
    """Find LaTeX between code, never across a blank line, and never in prices: "$5 and $6" holds none."""
    edges = [(0, 0), *((region.start, region.end) for region in code), (len(text), len(text))]
    for (_, start), (end, _) in pairwise(edges):
        breaks = [(start, start), *(m.span() for m in _BLANK_LINE.finditer(text, start, end)), (end, end)]
        for (_, first), (last, _) in pairwise(breaks):
            yield from _math_between(text, first, last)


def _math_between(text: str, start: int, end: int) -> Iterator[Region]:
    closers = {opener: _Next(sign, text) for opener, sign in _MATH_CLOSERS.items()}
    formula = _Next(_OF_A_FORMULA, text)
    line_end = start - 1
    while opener := _MATH_OPENER.search(text, start, end):
        start = opener.end()
        if opener[0] not in closers:
            continue
        if start > line_end:
            line_end = _line_end(text, start, end)
        # A single dollar sign never reaches over a line's end.
        last = line_end if opener[0] == "$" else end
        closer = closers[opener[0]].within(start, last)
        if closer is not None and _is_math(text, opener, closer, formula):
            start = closer[1]
            yield Region(kind=Kind.MATH, start=opener.start(), end=start)


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


def _is_math(text: str, opener: re.Match[str], closer: tuple[int, int], formula: _Next) -> bool:
    """Return whether it is LaTeX and neither a price nor an escaped marker."""
    if opener[0] == "$":
        return not text[opener.end()].isdecimal() or formula.within(opener.end(), closer[0]) is not None
    return not _ONLY_A_NUMBER.fullmatch(text, opener.start(), closer[1])


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
