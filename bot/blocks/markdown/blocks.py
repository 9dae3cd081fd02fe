"""The blocks of an answer for Slack: tables without dropped cells, and placeholders for links to sources.

GitHub's Markdown drops the cells of a row beyond the header's columns
(https://github.github.com/gfm/#tables-extension-), so every row here gets as many cells as the longest has. A table
block of Slack takes 20 columns and 100 rows (https://docs.slack.dev/reference/block-kit/blocks/table-block), so a wider
table is shown as several.

A placeholder consists of noncharacters, and is replaced by the link when the text is rendered. Until then, the code
that splits, escapes or neutralizes the text cannot damage the link, because this code never sees the address.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import pairwise
from typing import NamedTuple

from bot.blocks.escaping import WORD_JOINER
from perplexity.citations import CitedText
from perplexity.markdown import Block, BlockKind, Document, parse

MOST_COLUMNS = 20
MOST_ROWS = 99
"""The most rows under the header."""
_LONGEST_NAME = 100
_EDGE = re.compile(r"(?<!\\)\|")
Row = tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class MarkdownTable:
    """A table's cells as Markdown, in rows of equal length; `aligned` is the row of dashes under the header."""

    header: Row
    aligned: Row
    rows: tuple[Row, ...]

    @property
    def markdown(self) -> str:
        """The table as Markdown."""
        return "\n".join([_line(self.header), _line(self.aligned), *self.lines])

    @property
    def lines(self) -> list[str]:
        """The rows under the header, each as a line of Markdown."""
        return [_line(row) for row in self.rows]

    def with_rows(self, rows: Sequence[Row]) -> MarkdownTable:
        """Return the same header over other rows."""
        return replace(self, rows=tuple(rows))


def normalize(lines: Sequence[str]) -> MarkdownTable:
    """Parse the lines of a table that fits: header, dashes, rows. Every row gets as many cells as the longest has."""
    header, aligned, *rows = (_cells(line) for line in lines)
    return _even(header, aligned, rows)


def narrow(lines: Sequence[str]) -> list[MarkdownTable]:
    """Parse the lines of a table as tables that fit; each repeats the first column, which identifies the rows.

    The first table has every row. Each other table has only the rows with cells in its columns; with every row in every
    table, a wide table could become millions of cells. In the other tables, the row's number replaces a first cell that
    is empty or long.
    """
    header, aligned, *rows = (_cells(line) for line in lines)
    columns = max(map(len, (header, *rows)))
    if columns <= MOST_COLUMNS:
        return [_even(header, aligned, rows)]
    count = -(-(columns - 1) // (MOST_COLUMNS - 1))
    width = -(-(columns - 1) // count)
    names = [_name(row, number) for number, row in enumerate(rows, 1)]
    parts: list[list[Row]] = [[] for _ in range(count)]
    for row, name in zip(rows, names, strict=True):
        for part in range(max(1, -(-(len(row) - 1) // width))):
            cells = row[1 + part * width : 1 + (part + 1) * width]
            if part == 0 or any(cells):
                parts[part].append(((name if part else row[0]), *cells))
    return [_part(header, aligned, cells, first=1 + part * width, width=width) for part, cells in enumerate(parts)]


def _part(header: Row, aligned: Row, rows: Sequence[Row], *, first: int, width: int) -> MarkdownTable:
    end = first + width
    name = header[0] if first == 1 or len(header[0]) <= _LONGEST_NAME else ""
    return _even((name, *header[first:end]), (*aligned[:1], *aligned[first:end]), rows)


def _name(row: Row, number: int) -> str:
    return row[0] if 0 < len(row[0]) <= _LONGEST_NAME else str(number)


def _even(header: Row, aligned: Row, rows: Sequence[Row]) -> MarkdownTable:
    columns = max(map(len, (header, *rows)))
    return MarkdownTable(
        header=_padded(header, columns),
        aligned=_padded(aligned, columns, "---"),
        rows=tuple(_padded(row, columns) for row in rows),
    )


def as_text(row: Row) -> str:
    """Return a row as one line of text."""
    # The joiner keeps the first cell from making a heading, a fence or a list of the line.
    return "\u2060" + " | ".join(cell for cell in row if cell)


def _line(row: Row) -> str:
    return f"| {' | '.join(row)} |"


def _cells(line: str) -> Row:
    line = line.strip()
    line = line.removeprefix("|")
    if line.endswith("|") and not line.endswith("\\|"):
        line = line[:-1]
    return tuple(cell.strip() for cell in _EDGE.split(line))


def _padded(row: Row, columns: int, filling: str = "") -> Row:
    return (*row, *[filling] * (columns - len(row)))


LONGEST_HEADING = 150
"""The most characters of a heading: Slack turns a heading into a header block, which takes 150."""
_LANGUAGE = re.compile(r"[\w+#.-]{1,30}")
# Matches a language and the text that may follow it, such as `title="x"`, `{1,3}`, `:main.py` or a file's name.
_INFO = re.compile(r"\{?\.?(?P<language>[\w+#-]{1,30})(?:[ \t]*(?P<more>[:{,][^\n]*|[\w-]+=[^\n]*|[\w./-]+\.\w+)|\})?")
_SPECIAL = frozenset({BlockKind.HEADING, BlockKind.FENCE, BlockKind.INDENTED, BlockKind.TABLE, BlockKind.RULE})


class Form(StrEnum):
    """The kind of a segment."""

    HEADING = "heading"
    TEXT = "text"
    LIST = "list"
    QUOTE = "quote"
    FENCE = "fence"
    TABLE = "table"
    RULE = "rule"


_FORMS = {
    BlockKind.PARAGRAPH: Form.TEXT,
    BlockKind.HEADING: Form.HEADING,
    BlockKind.LIST: Form.LIST,
    BlockKind.QUOTE: Form.QUOTE,
    BlockKind.FENCE: Form.FENCE,
    BlockKind.INDENTED: Form.FENCE,
    BlockKind.TABLE: Form.TABLE,
    BlockKind.RULE: Form.RULE,
}
RICH_TEXT_KINDS = frozenset({Form.TEXT, Form.LIST, Form.QUOTE})
"""Forms that Slack renders into one rich text together with their neighbours."""


class MarkdownBlock(NamedTuple):
    """A segment, which is one top-level block. `text` is its Markdown, for a fence only its content.

    Inside a list or a quote, `headings` counts the headings, and `special` all blocks that Slack renders separately.
    """

    form: Form
    text: str
    language: str = ""
    headings: int = 0
    special: int = 0

    @property
    def markdown(self) -> str:
        """Return the segment as Markdown that is complete on its own."""
        if self.form is not Form.FENCE:
            return self.text
        longest = max(map(len, re.findall("`+", self.text)), default=0) if "```" in self.text else 0
        fence = "`" * max(3, longest + 1)
        return f"{fence}{self.language}\n{self.text}\n{fence}"


def joined(pieces: Sequence[MarkdownBlock]) -> Document:
    """Return segments as one document, blank lines between them."""
    return parse("\n\n".join([piece.markdown for piece in pieces]))


def segments(document: Document) -> list[MarkdownBlock]:
    """Return the top-level blocks of a Markdown text; together they contain every word of it."""
    blocks = document.blocks
    starts = [index for index, block in enumerate(blocks) if block.depth == 0]
    found: list[MarkdownBlock] = []
    for start, end in pairwise([*starts, len(blocks)]):
        found += _segments(document, blocks[start:end])
    return [segment for segment in found if segment.text.strip() or segment.language]


def as_plain_paragraph(text: str) -> str:
    """Return a text that Markdown reads as a paragraph, whatever its first character is."""
    text = text.strip()
    return text if not text or text[0].isalpha() else f"{WORD_JOINER}{text}"


def _segments(document: Document, blocks: Sequence[Block]) -> list[MarkdownBlock]:
    """Return the segment of a block, or several for a table with more columns than Slack accepts."""
    first = blocks[0]
    match first.kind:
        case BlockKind.PARAGRAPH:
            return [MarkdownBlock(Form.TEXT, document.stretch(first.start, first.end).strip())]
        case BlockKind.HEADING:
            return [_heading(first)]
        case BlockKind.FENCE | BlockKind.INDENTED:
            return [_fence(first)]
        case BlockKind.RULE:
            return [MarkdownBlock(Form.RULE, "---")]
        case BlockKind.TABLE:
            tables = narrow(document.stretch(first.start, first.end).split("\n"))
            return [MarkdownBlock(Form.TABLE, table.markdown) for table in tables]
    return [_holding(_FORMS[first.kind], document.stretch(first.start, first.end).rstrip(), blocks)]


def _heading(block: Block) -> MarkdownBlock:
    content = " ".join(block.content.split())
    if len(content) > LONGEST_HEADING:
        return MarkdownBlock(Form.TEXT, as_plain_paragraph(content))
    level = len(block.markup) if block.markup.startswith("#") else "=-".index(block.markup) + 1
    return MarkdownBlock(Form.HEADING, f"{'#' * level} {content}" if content else "")


def _fence(block: Block) -> MarkdownBlock:
    language, content = block.info.strip(), block.content.removesuffix("\n")
    if language and not _LANGUAGE.fullmatch(language):
        # Slack hides words that stand after a language or in its place, so these words become content.
        info = _INFO.fullmatch(language)
        language, more = (info["language"], info["more"] or "") if info else ("", language)
        content = f"{more}\n{content}" if more else content
    return MarkdownBlock(Form.FENCE, content, language)


def _holding(form: Form, text: str, blocks: Sequence[Block]) -> MarkdownBlock:
    special = [block.kind for block in blocks if block.kind in _SPECIAL]
    headings = special.count(BlockKind.HEADING)
    return MarkdownBlock(form, text, headings=headings, special=len(special))


def list_items(segment: MarkdownBlock) -> Iterator[MarkdownBlock]:
    """Yield the items of a list, each as a list of its own."""
    lines, blocks = segment.text.split("\n"), parse(segment.text).blocks
    starts = [index for index, block in enumerate(blocks) if block.kind is BlockKind.ITEM and block.depth == 1]
    for start, end in pairwise([*starts, len(blocks)]):
        source = "\n".join(lines[blocks[start].start : blocks[start].end]).rstrip()
        yield _holding(Form.LIST, source, blocks[start:end])


def flatten(text: str) -> str:
    """Return the lines of a text as one paragraph."""
    return "\n".join(as_plain_paragraph(line) for line in text.split("\n") if line.strip())


Addresses = Sequence[str | None]
"""The address of each listed source, by its number from 1; None if it may not be linked."""
_OPEN, _CLOSE, _ZERO = "\ufdd0", "\ufdef", 0xFDD1
_DIGITS = f"[{chr(_ZERO)}-{chr(_ZERO + 9)}]"
PLACEHOLDER: re.Pattern[str] = re.compile(f"{_OPEN}({_DIGITS}+){_CLOSE}")


def insert_placeholders(cited: CitedText) -> Document:
    """Return the text with a placeholder for every marker. The text must be clean."""
    return cited.document(_mark)


def link(number: int, addresses: Addresses) -> str:
    """Return the Markdown of one reference: `[[1]](address)`, or `[1]` in a form that no renderer takes for a link."""
    address = addresses[number - 1]
    return f"[[{number}]]({address})" if address else f"[{number}]{WORD_JOINER}"


def render_links(text: str, addresses: Addresses) -> str:
    """Replace the placeholders by references.

    A joiner separates a reference from an exclamation mark, which would make an image of it, or from a backslash.
    """

    def released(match: re.Match[str]) -> str:
        shown = link(number_of(match[1]), addresses)
        return f"{WORD_JOINER}{shown}" if text.endswith(("\\", "!"), 0, match.start()) else shown

    return PLACEHOLDER.sub(released, text)


def render_numbers(text: str) -> str:
    """Replace the placeholders by plain numbers, for code, in which nothing can be a link."""
    return PLACEHOLDER.sub(lambda match: f"[{number_of(match[1])}]", text)


def number_of(digits: str) -> int:
    """Return the number in the digits of a placeholder."""
    return int("".join(str(ord(digit) - _ZERO) for digit in digits))


def _mark(number: int) -> str:
    digits = "".join(chr(_ZERO + int(digit)) for digit in str(number))
    return f"{_OPEN}{digits}{_CLOSE}"
