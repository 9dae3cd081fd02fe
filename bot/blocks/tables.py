"""Tables of GitHub's Markdown, written so that no cell is dropped and Slack takes them.

https://github.github.com/gfm/#tables-extension- drops the cells of a row that the header has no column for; a table
block of Slack takes 20 columns and 100 rows (https://docs.slack.dev/reference/block-kit/blocks/table-block). A wider
one is shown as several.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

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
