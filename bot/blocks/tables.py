"""Tables of GitHub's Markdown, written so that no cell is dropped and Slack takes them.

https://github.github.com/gfm/#tables-extension- drops the cells of a row that the header has no column for; a table
block of Slack takes 20 columns and 100 rows (https://docs.slack.dev/reference/block-kit/blocks/table-block).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

MOST_COLUMNS = 20
MOST_ROWS = 99
"""Rows under the header."""

_EDGE = re.compile(r"(?<!\\)\|")

Row = tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table's cells as Markdown; `aligned` is the row of dashes under the header.

    All rows of a table that fits are equally long. Those of a wider one are as they were: it becomes lines of text, and
    filled up it could have millions of cells.
    """

    header: Row
    aligned: Row
    rows: tuple[Row, ...]

    @property
    def fits(self) -> bool:
        """Whether Slack shows so many columns as a table."""
        return max(map(len, (self.header, *self.rows))) <= MOST_COLUMNS

    @property
    def markdown(self) -> str:
        """The table, or where it is too wide a list with one item for each row."""
        if self.fits:
            return "\n".join([_line(self.header), _line(self.aligned), *self.lines])
        return "\n".join(f"- {flat(row)}" for row in (self.header, *self.rows) if any(row))

    @property
    def lines(self) -> list[str]:
        """The rows under the header, each as a line of Markdown."""
        return [_line(row) for row in self.rows]

    def with_rows(self, rows: Sequence[Row]) -> Table:
        """Return the same header over other rows."""
        return replace(self, rows=tuple(rows))


def tidy(lines: Sequence[str]) -> Table:
    """Read the lines of a table: header, dashes, rows. If it fits, every row gets as many cells as the longest has."""
    header, aligned, *rows = (_cells(line) for line in lines)
    columns = max(map(len, (header, *rows)))
    if columns > MOST_COLUMNS:
        return Table(header=header, aligned=aligned, rows=tuple(rows))
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
