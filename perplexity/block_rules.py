"""The rules that begin and end blocks: those of `markdown-it-py`, without its inline parser.

The rules below give what the library's own would give, without the work that has no use here.
"""

from __future__ import annotations

import re
from typing import Literal, cast

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_block import fence as _is_fence
from markdown_it.rules_block import table as _is_table
from markdown_it.token import Token

# What begins a line that can only be a paragraph's, unless the line below makes a table or a heading of it.
_ORDINARY = re.compile(r"[^#>\-+*_`~=|:\d\s]|[*_]{1,3}[^\W\d_]|\d{1,9}(?:[^\d.)\n]|[.)][^\s])")
# What begins a line that can only be the next item of a list.
_ITEM = re.compile(r"-[ ][^-\s]|\+[ ]\S|\*[ ](?:[^*\s]|\*{1,3}[^\W\d_])")
_NUMBERED_ITEM = re.compile(r"\d{1,9}[.)][ ]")
_FENCE_SIGN = re.compile(r"`{3,}|~{3,}")


class OpeningToken(Token):
    """A token that begins a block; of the parser's own, only what is needed is kept."""

    __slots__ = ("column",)

    map: list[int]

    def __init__(self, type: str, level: int) -> None:
        self.type = type
        self.level = level
        self.map = [0, 0]
        self.column = 0
        self.content = self.markup = self.info = ""


class _State(StateBlock):
    """The parser's state, which keeps the tokens that begin a block."""

    def __init__(self, text: str, starts: list[int]) -> None:
        # Tabs are counted by the parser; other lines are found at once.
        super().__init__(text if "\t" in text else "", _PARSER, {}, [])
        if not self.src and text:
            self._find_lines(text, starts)
        self.opened: list[OpeningToken] = []
        self.begun = self.bMarks.copy()
        self._other = OpeningToken("paragraph_open", 0)

    def _find_lines(self, text: str, starts: list[int]) -> None:
        count = len(starts) - 1
        ends = [start - 1 for start in starts[1:]]
        ends[-1] = len(text)
        if not text[starts[-2] :].strip(" "):
            count -= 1
        self.src = text
        self.bMarks = [*starts[:count], len(text)]
        self.eMarks = [*ends[:count], len(text)]
        self.tShift = [0] * (count + 1)
        if text.startswith(" ") or "\n " in text:
            self.tShift[:-1] = [len(line) - len(line.lstrip(" ")) for line in text.split("\n")[:count]]
        self.sCount = self.tShift.copy()
        self.bsCount = [0] * len(self.tShift)
        self.lineMax = count

    def push(self, ttype: str, tag: str, nesting: Literal[-1, 0, 1]) -> Token:
        """Return the token that a rule fills in."""
        if nesting < 0:
            self.level -= 1
            if ttype == "heading_close":
                self.opened[-1].content = self._other.content
                self.place(self.opened[-1])
            return self._other
        if ttype == "inline":
            return self._other
        opened = OpeningToken(ttype, self.level)
        self.level += nesting
        self.opened.append(opened)
        return opened

    def add(self, type: str, start: int, end: int) -> OpeningToken:
        """Add a block that holds no other, and go on below it."""
        opened = OpeningToken(type, self.level)
        opened.map = [start, end]
        self.opened.append(opened)
        self.line = end
        return opened

    def place(self, opened: OpeningToken) -> None:
        """Note where the text of a block begins."""
        line = opened.map[0]
        opened.column = self.bMarks[line] + self.tShift[line] - self.begun[line]

    def first(self, line: int) -> int:
        """Return the place of a line's first sign."""
        return self.bMarks[line] + self.tShift[line]


def tokenize(text: str, starts: list[int]) -> list[OpeningToken]:
    """Return the tokens that begin the blocks of a text whose lines end in a line feed and begin at `starts`."""
    state = _State(text, starts)
    _PARSER.block.tokenize(state, 0, state.lineMax)
    return state.opened


def _ordinary(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Take a paragraph whose lines begin as nothing else can; other rules need not be asked about it."""
    src, first, last, stop = state.src, state.bMarks, state.eMarks, state.lineMax
    shift, indent, own = state.tShift, state.sCount, state.blkIndent
    if indent[start] - own > 3 or not _ORDINARY.match(src, first[start] + shift[start]):
        return False
    line = start + 1
    while line < stop:
        place = first[line] + shift[line]
        if place >= last[line]:
            break
        if 0 <= indent[line] <= own + 3 and not _ORDINARY.match(src, place):
            if _is_next_item(state, line, place):
                break
            return False
        line += 1
    _add_paragraph(state, start, line)
    return True


def _is_next_item(state: StateBlock, line: int, place: int) -> bool:
    """Return whether a line surely ends the paragraph above it, for it begins an item of a list."""
    if state.sCount[line] >= state.listIndent + 4 and state.listIndent >= 0 and state.sCount[line] < state.blkIndent:
        return False
    if _ITEM.match(state.src, place):
        return True
    return state.sCount[line] < state.blkIndent and _NUMBERED_ITEM.match(state.src, place) is not None


def _paragraph(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Take a paragraph without its text."""
    line, rules = start + 1, state.md.block.ruler.getRules("paragraph")
    kind, state.parentType = state.parentType, "paragraph"
    while line < state.lineMax and not state.isEmpty(line):
        # A line that is indented so far, or is a quotation's without its sign, goes on with the paragraph.
        goes_on = state.sCount[line] - state.blkIndent > 3 or state.sCount[line] < 0
        if not goes_on and any(rule(state, line, state.lineMax, True) for rule in rules):
            break
        line += 1
    state.parentType = kind
    _add_paragraph(state, start, line)
    return True


def _add_paragraph(state: StateBlock, start: int, end: int) -> None:
    own = cast("_State", state)
    own.place(own.add("paragraph_open", start, end))


def _fence(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Take code between fences as one stretch if it is in no other block and not indented."""
    if silent or state.level or state.sCount[start] or state.src[state.bMarks[start]] not in "`~":
        return _is_fence(state, start, end, silent)
    src, place = state.src, state.bMarks[start]
    sign = _FENCE_SIGN.match(src, place)
    info = src[sign.end() : state.eMarks[start]] if sign else ""
    if sign is None or (sign[0][0] == "`" and "`" in info):
        return False
    closing = _closing_fence(src, sign[0], state.eMarks[start] + 1)
    lines = end - start if closing is None else src.count("\n", place, closing)
    code = src[state.eMarks[start] + 1 : state.eMarks[end - 1] + 1 if closing is None else closing]
    opened = cast("_State", state).add("fence", start, start + lines + (closing is not None))
    opened.content, opened.markup, opened.info = code, sign[0], info
    return True


def _closing_fence(src: str, sign: str, place: int) -> int | None:
    """Return where the line begins that ends code: up to three spaces, no fewer signs, and nothing after them."""
    while (found := src.find(sign, place)) >= 0:
        line, end = src.rfind("\n", 0, found) + 1, src.find("\n", found)
        end = len(src) if end < 0 else end
        is_alone = not src[found:end].lstrip(sign[0]).strip(" \t")
        if is_alone and found - line <= 3 and not src[line:found].strip(" "):
            return line
        place = end
    return None


def _table(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Take a table without its cells: a short text can have millions, most of them empty.

    What is a table is the parser's decision; it ends as in the parser's own rule.
    """
    signs = state.bMarks[start + 1] + state.tShift[start + 1] if start + 2 <= end else len(state.src)
    if not state.src.startswith(("|", "-", ":"), signs) or not _is_table(state, start, end, True):
        return False
    if not silent:
        line = start + 2
        while line < end and not _ends_table(state, line, end):
            line += 1
        cast("_State", state).add("table_open", start, line)
    return True


def _ends_table(state: StateBlock, line: int, end: int) -> bool:
    if state.sCount[line] < state.blkIndent or state.isEmpty(line) or state.is_code_block(line):
        return True
    kind, state.parentType = state.parentType, "table"
    try:
        return any(rule(state, line, end, True) for rule in state.md.block.ruler.getRules("blockquote"))
    finally:
        state.parentType = kind


def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False}).enable("table").disable(["inline", "reference", "html_block"])
    ruler = parser.block.ruler
    ruler.at("table", _table, {"alt": ["paragraph", "reference"]})
    ruler.at("fence", _fence, {"alt": ["paragraph", "reference", "blockquote", "list"]})
    ruler.at("paragraph", _paragraph)
    ruler.before("table", "ordinary", _ordinary)
    return parser


_PARSER = _parser()
