"""Tables of GitHub's Markdown, written so that no cell is dropped and Slack takes them.

https://github.github.com/gfm/#tables-extension- drops the cells of a row that the header has no column for; a table
block of Slack takes 20 columns and 100 rows (https://docs.slack.dev/reference/block-kit/blocks/table-block). A wider
one is shown as several.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import pairwise

from markdown_it.token import Token

from bot.blocks.escaping import WORD_JOINER
from perplexity.markdown import blocks

MOST_COLUMNS = 20
MOST_ROWS = 99
"""Rows under the header."""

_LONGEST_NAME = 100
_EDGE = re.compile(r"(?<!\\)\|")

Row = tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table's cells as Markdown, in rows of one length; `aligned` is the row of dashes under the header."""

    header: Row
    aligned: Row
    rows: tuple[Row, ...]

    @property
    def markdown(self) -> str:
        """The table."""
        return "\n".join([_line(self.header), _line(self.aligned), *self.lines])

    @property
    def lines(self) -> list[str]:
        """The rows under the header, each as a line of Markdown."""
        return [_line(row) for row in self.rows]

    def with_rows(self, rows: Sequence[Row]) -> Table:
        """Return the same header over other rows."""
        return replace(self, rows=tuple(rows))


def tidy(lines: Sequence[str]) -> Table:
    """Read the lines of a table that fits: header, dashes, rows. Every row gets as many cells as the longest has."""
    header, aligned, *rows = (_cells(line) for line in lines)
    return _even(header, aligned, rows)


def narrow(lines: Sequence[str]) -> list[Table]:
    """Read the lines of a table as tables that fit; each repeats the first column, which says whose cells they are.

    A row is in the tables that it has something for, and in the first: filled up, a wide table could have millions of
    cells. A first cell that is empty or long is repeated as the row's number.
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


def _part(header: Row, aligned: Row, rows: Sequence[Row], *, first: int, width: int) -> Table:
    end = first + width
    name = header[0] if first == 1 or len(header[0]) <= _LONGEST_NAME else ""
    return _even((name, *header[first:end]), (*aligned[:1], *aligned[first:end]), rows)


def _name(row: Row, number: int) -> str:
    return row[0] if 0 < len(row[0]) <= _LONGEST_NAME else str(number)


def _even(header: Row, aligned: Row, rows: Sequence[Row]) -> Table:
    columns = max(map(len, (header, *rows)))
    return Table(
        header=_padded(header, columns),
        aligned=_padded(aligned, columns, "---"),
        rows=tuple(_padded(row, columns) for row in rows),
    )


def flat(row: Row) -> str:
    """Return a row as one line of text."""
    # A joiner first: the cell may begin with what would make a heading, a fence or a list of the line.
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
"""Slack makes a header block of a heading, which takes 150 characters."""

_LANGUAGE = re.compile(r"[\w+#.-]{1,30}")
# What follows a language: attributes such as `title="x"`, `{1,3}`, `:main.py` or a file's name.
_INFO = re.compile(r"\{?\.?(?P<language>[\w+#-]{1,30})(?:[ \t]*(?P<more>[:{,][^\n]*|[\w-]+=[^\n]*|[\w./-]+\.\w+)|\})?")
_SPECIAL = frozenset({"heading_open", "fence", "code_block", "table_open", "hr"})


class Form(StrEnum):
    """What a segment is."""

    HEADING = "heading"
    TEXT = "text"
    LIST = "list"
    QUOTE = "quote"
    FENCE = "fence"
    TABLE = "table"
    RULE = "rule"


_FORMS = {
    "heading_open": Form.HEADING,
    "bullet_list_open": Form.LIST,
    "ordered_list_open": Form.LIST,
    "blockquote_open": Form.QUOTE,
    "fence": Form.FENCE,
    "code_block": Form.FENCE,
    "table_open": Form.TABLE,
    "hr": Form.RULE,
}
FLOWING = frozenset({Form.TEXT, Form.LIST, Form.QUOTE})
"""Forms that Slack renders into one rich text together with their neighbours."""


@dataclass(frozen=True, kw_only=True)
class Segment:
    """One top-level block. `text` is its Markdown, for a fence only what stands inside.

    `headings` and `special` count the headings, and all blocks that Slack renders apart, inside a list or a quote.
    """

    form: Form
    text: str
    language: str = ""
    headings: int = 0
    special: int = 0

    @property
    def markdown(self) -> str:
        """The segment as Markdown that stands on its own."""
        if self.form is not Form.FENCE:
            return self.text
        longest = max((len(run) for run in re.findall("`+", self.text)), default=0)
        fence = "`" * max(3, longest + 1)
        return f"{fence}{self.language}\n{self.text}\n{fence}"


def segments(text: str) -> list[Segment]:
    """Cut a Markdown text into its top-level blocks; together they hold every word of it."""
    tokens, lines = blocks(text), text.split("\n")
    starts = [i for i, token in enumerate(tokens) if token.level == 0 and token.nesting >= 0]
    found = (segment for a, b in pairwise([*starts, len(tokens)]) for segment in _segments(tokens[a:b], lines))
    return [segment for segment in found if segment.text.strip() or segment.language]


def inert(text: str) -> str:
    """Return text that begins a paragraph, and nothing else, whatever its first character is."""
    text = text.strip()
    return text if not text or text[0].isalpha() else f"{WORD_JOINER}{text}"


def _segments(tokens: Sequence[Token], lines: Sequence[str]) -> Iterator[Segment]:
    """Yield the segment of a block; of a table with more columns than Slack takes, several."""
    if tokens[0].type != "table_open":
        yield _segment(tokens, lines)
        return
    for table in narrow(lines[slice(*(tokens[0].map or (0, 0)))]):
        yield Segment(form=Form.TABLE, text=table.markdown)


def _segment(tokens: Sequence[Token], lines: Sequence[str]) -> Segment:
    first = tokens[0]
    form = _FORMS.get(first.type, Form.TEXT)
    source = lines[slice(*(first.map or (0, 0)))]
    match form:
        case Form.HEADING:
            return _heading(first, tokens[1].content)
        case Form.FENCE:
            return _fence(first)
        case Form.RULE:
            return Segment(form=form, text="---")
        case Form.TEXT:
            return Segment(form=form, text="\n".join(source).strip())
    return _holding(form, "\n".join(source).rstrip(), tokens)


def _heading(token: Token, content: str) -> Segment:
    content = " ".join(content.split())
    if len(content) > LONGEST_HEADING:
        return Segment(form=Form.TEXT, text=inert(content))
    return Segment(form=Form.HEADING, text=f"{'#' * int(token.tag[1])} {content}" if content else "")


def _fence(token: Token) -> Segment:
    language, content = token.info.strip(), token.content.removesuffix("\n")
    if language and not _LANGUAGE.fullmatch(language):
        # Words in the place of a language, or behind it, would not be shown.
        info = _INFO.fullmatch(language)
        language, more = (info["language"], info["more"] or "") if info else ("", language)
        content = f"{more}\n{content}" if more else content
    return Segment(form=Form.FENCE, text=content, language=language)


def _holding(form: Form, text: str, tokens: Sequence[Token]) -> Segment:
    kinds = [token.type for token in tokens]
    special = sum(kind in _SPECIAL for kind in kinds)
    return Segment(form=form, text=text, headings=kinds.count("heading_open"), special=special)


def list_items(text: str) -> Iterator[Segment]:
    """Yield the items of a list, each as a list of its own."""
    lines = text.split("\n")
    for token in blocks(text):
        if token.type == "list_item_open" and token.level == 1 and token.map:
            source = "\n".join(lines[slice(*token.map)]).rstrip()
            yield _holding(Form.LIST, source, blocks(source))


def flattened(text: str) -> str:
    """Return the lines of a text as one paragraph, whatever they were."""
    return "\n".join(inert(line) for line in text.split("\n") if line.strip())
