"""Finds the blocks of a Markdown text, line by line.

The blocks are those of CommonMark (https://spec.commonmark.org/0.31.2/) plus GitHub's tables. Link definitions and HTML
blocks are paragraphs here, so that no text is invisible.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import StrEnum
from functools import cache, partial
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    from markdown_it import MarkdownIt
    from markdown_it.rules_block import StateBlock
    from markdown_it.token import Token

    Rule = Callable[[StateBlock, int, int, bool], bool]
    """A rule of the parser: (state, first line, line after the last, whether to test only) -> whether it matched."""

_COLUMN = "column"
_ANY_LINE_END = re.compile(r"\r\n?|\n")


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


def line_starts(text: str) -> list[int]:
    """Return the indexes at which the lines of a text begin, followed by the length of the text."""
    if "\r" in text:
        return [0, *(match.end() for match in _ANY_LINE_END.finditer(text)), len(text)]
    starts = [0, *accumulate([len(line) + 1 for line in text.split("\n")])]
    starts[-1] -= 1
    return starts


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
