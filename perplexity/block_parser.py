"""The blocks of a Markdown text, read line by line.

What is a block is CommonMark's own decision (https://spec.commonmark.org/0.31.2/) plus GitHub's tables. Link
definitions and HTML blocks are paragraphs here, so that nothing in a text is invisible.
"""

from __future__ import annotations

import re
from enum import StrEnum
from itertools import accumulate
from typing import NamedTuple

_LINE_END = re.compile(r"\r\n?")
_ANY_LINE_END = re.compile(r"\r\n?|\n")


class BlockKind(StrEnum):
    """What a block is."""

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

    `column` is the place in its first line at which the text of a paragraph or a heading begins. `content` is the text
    of a heading, or code; `markup` the sign of a heading or a fence, and `info` what follows the sign of a fence.
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
        """The line after the text of a paragraph or a heading, whose last line may be its sign."""
        return self.end - (self.kind is BlockKind.HEADING and not self.markup.startswith("#"))

    def moved(self, lines: int, last: int) -> Block:
        """Return the block moved down by so many lines; it ends at the line `last` at the latest."""
        kind, depth, start, end, column, content, markup, info = self
        return Block(kind, depth, start + lines, min(end + lines, last), column, content, markup, info)


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
"""The tokens that begin a block."""


def line_starts(text: str) -> list[int]:
    """Return the places at which the lines of a text begin, and its end."""
    if "\r" in text:
        return [0, *(match.end() for match in _ANY_LINE_END.finditer(text)), len(text)]
    starts = [0, *accumulate([len(line) + 1 for line in text.split("\n")])]
    starts[-1] -= 1
    return starts


def read_blocks(text: str, starts: list[int] | None = None) -> tuple[Block, ...]:
    """Return the blocks of a text, each before those inside it. A table's rows and cells are no blocks.

    `starts` are the text's `line_starts`, if they are known.
    """
    # Here and not above, since the library that has the rules takes a while to import.
    from perplexity.block_rules import tokenize

    if "\r" in text:
        text, starts = _LINE_END.sub("\n", text), None
    return tuple(
        Block(_KINDS[t.type], t.level, t.map[0], t.map[1], t.column, t.content, t.markup, t.info)
        for t in tokenize(text.replace("\0", "\ufffd"), starts or line_starts(text))
    )
