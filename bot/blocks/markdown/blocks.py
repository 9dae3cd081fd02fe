"""The blocks of an answer for Slack: tables without dropped cells, placeholders for links, and pieces that fit.

GitHub's Markdown drops the cells of a row beyond the header's columns
(https://github.github.com/gfm/#tables-extension-), so every row here gets as many cells as the longest row. A table
block of Slack takes 20 columns and 100 rows (https://docs.slack.dev/reference/block-kit/blocks/table-block), so a wider
table is shown as several.

A placeholder consists of noncharacters, and is replaced by the link when the text is rendered. Until then, the code
that splits, escapes or neutralizes the text cannot damage the link, because this code never sees the address.

The text is split before it is rendered, by upper bounds for the sizes that Slack will count. Slack counts `&` as 5
characters, `<` and `>` as 4, and about 100 more for a heading, and it accepts about 13,200 in a message. These numbers
were measured (https://github.com/slackapi/bolt-js/issues/2509); they are documented nowhere.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise, repeat
from typing import NamedTuple

from bot.blocks.escaping import WORD_JOINER
from perplexity.citations import CitedText
from perplexity.markdown import Block, BlockKind, Document, RegionKind, parse, regions

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
        """Return a table with the same header and these rows."""
        return replace(self, rows=tuple(rows))


def normalize(lines: Sequence[str]) -> MarkdownTable:
    """Parse the lines of a table (header, dashes, rows) as one table. All rows get as many cells as the longest row."""
    header, aligned, *rows = (_cells(line) for line in lines)
    return _even(header, aligned, rows)


def narrow(lines: Sequence[str]) -> list[MarkdownTable]:
    """Parse the lines of a table as one or more tables with at most 20 columns each.

    Each table repeats the first column, which identifies the rows. The first table has every row. Each other table has
    only the rows that are not empty in its columns: if every table had every row, a wide table could become millions of
    cells. In the other tables, the row's number replaces a first cell that is empty or long.
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


RICH_TEXT_KINDS = frozenset({BlockKind.PARAGRAPH, BlockKind.LIST, BlockKind.QUOTE})
"""The kinds of blocks that Slack joins into one rich text if they are neighbours."""


class MarkdownBlock(NamedTuple):
    """A segment: a top-level block of a text, or a piece of such a block.

    `text` is the Markdown of the segment; for code, which has the kind `FENCE`, it is only the code. If the segment is
    a list or a quote, `headings` counts the headings in it, and `special` counts all blocks in it that Slack renders
    separately.
    """

    kind: BlockKind
    text: str
    language: str = ""
    headings: int = 0
    special: int = 0

    @property
    def markdown(self) -> str:
        """Return the segment as Markdown that is complete on its own."""
        if self.kind is not BlockKind.FENCE:
            return self.text
        fence = "`" * max(3, _longest_run(self.text) + 1)
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
            return [MarkdownBlock(BlockKind.PARAGRAPH, document.stretch(first.start, first.end).strip())]
        case BlockKind.HEADING:
            return [_heading(first)]
        case BlockKind.FENCE | BlockKind.INDENTED:
            return [_fence(first)]
        case BlockKind.RULE:
            return [MarkdownBlock(BlockKind.RULE, "---")]
        case BlockKind.TABLE:
            tables = narrow(document.stretch(first.start, first.end).split("\n"))
            return [MarkdownBlock(BlockKind.TABLE, table.markdown) for table in tables]
    return [_holding(first.kind, document.stretch(first.start, first.end).rstrip(), blocks)]


def _heading(block: Block) -> MarkdownBlock:
    content = " ".join(block.content.split())
    if len(content) > LONGEST_HEADING:
        return MarkdownBlock(BlockKind.PARAGRAPH, as_plain_paragraph(content))
    level = len(block.markup) if block.markup.startswith("#") else "=-".index(block.markup) + 1
    return MarkdownBlock(BlockKind.HEADING, f"{'#' * level} {content}" if content else "")


def _fence(block: Block) -> MarkdownBlock:
    language, content = block.info.strip(), block.content.removesuffix("\n")
    if language and not _LANGUAGE.fullmatch(language):
        # Slack hides words that stand after a language or in its place, so these words become content.
        info = _INFO.fullmatch(language)
        language, more = (info["language"], info["more"] or "") if info else ("", language)
        content = f"{more}\n{content}" if more else content
    return MarkdownBlock(BlockKind.FENCE, content, language)


def _holding(kind: BlockKind, text: str, blocks: Sequence[Block]) -> MarkdownBlock:
    special = [block.kind for block in blocks if block.kind in _SPECIAL]
    return MarkdownBlock(kind, text, headings=special.count(BlockKind.HEADING), special=len(special))


def list_items(segment: MarkdownBlock) -> Iterator[MarkdownBlock]:
    """Yield the items of a list, each as a list of its own."""
    lines, blocks = segment.text.split("\n"), parse(segment.text).blocks
    starts = [index for index, block in enumerate(blocks) if block.kind is BlockKind.ITEM and block.depth == 1]
    for start, end in pairwise([*starts, len(blocks)]):
        source = "\n".join(lines[blocks[start].start : blocks[start].end]).rstrip()
        yield _holding(BlockKind.LIST, source, blocks[start:end])


def flatten(text: str) -> str:
    """Return the lines of a text as one paragraph."""
    return "\n".join(as_plain_paragraph(line) for line in text.split("\n") if line.strip())


Addresses = Sequence[str | None]
"""The addresses of the listed sources, in the order of their numbers; None for a source that may not be linked."""
_OPEN, _CLOSE, _ZERO = "\ufdd0", "\ufdef", 0xFDD1
_DIGITS = f"[{chr(_ZERO)}-{chr(_ZERO + 9)}]"
PLACEHOLDER: re.Pattern[str] = re.compile(f"{_OPEN}({_DIGITS}+){_CLOSE}")


def insert_placeholders(cited: CitedText) -> Document:
    """Return the text with a placeholder for every marker. The text must be clean."""
    return cited.document(_mark)


def link(number: int, addresses: Addresses) -> str:
    """Return the Markdown of a reference: `[[1]](address)` or, without an address, `[1]` that cannot become a link."""
    address = addresses[number - 1]
    return f"[[{number}]]({address})" if address else f"[{number}]{WORD_JOINER}"


def render_links(text: str, addresses: Addresses) -> str:
    """Replace the placeholders by references.

    A joiner separates a reference from an exclamation mark or a backslash before it: an exclamation mark would make an
    image of the link, and a backslash would escape its bracket.
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


MAX_BLOCK = 9_000
"""The highest weight of one markdown block, as `Splitter.weigh` returns it."""
MAX_MESSAGE = 11_000
"""The most characters, as Slack counts them, of all blocks of a message."""
PART_BLOCKS = 36
MESSAGE_BLOCKS = 44
"""The most blocks of a part and of a message; Slack accepts 50.

The blocks that Slack makes of a `markdown` block are counted, not the `markdown` block itself.
"""
HEADING = 100
_SHOWN = {"&": 5, "<": 4, ">": 4}
# The number of joiners that `neutralize` and `render_links` may put next to a character.
_JOINERS = {"&": 1, "<": 1, ".": 2, ":": 1, "/": 1, "]": 1, "@": 1, "*": 1, "\\": 1, "!": 1}
_MORE = {sign: _SHOWN.get(sign, 1) + _JOINERS.get(sign, 0) - 1 for sign in {*_SHOWN, *_JOINERS}}
_COUNTED = re.compile(f"{PLACEHOLDER.pattern}|[{re.escape(''.join(_MORE))}]")


def rendered_size(text: str) -> int:
    """Return the number of characters that Slack counts for a rendered text."""
    return len(text) + sum([text.count(sign) * (size - 1) for sign, size in _SHOWN.items() if sign in text])


def max_size(text: str, addresses: Addresses) -> int:
    """Return an upper bound for the size of a text with placeholders."""
    marks = sum(_size_of_mark(match, addresses) - len(match[0]) for match in PLACEHOLDER.finditer(text))
    return len(text) + sum([text.count(sign) * more for sign, more in _MORE.items()]) + marks


def _sizes(text: str, addresses: Addresses) -> Iterator[int]:
    """Yield each character's share of `max_size`; a placeholder's whole share is at its first character."""
    place = 0
    for match in _COUNTED.finditer(text):
        yield from repeat(1, match.start() - place)
        yield _size_of_mark(match, addresses) if match[1] else 1 + _MORE[match[0]]
        yield from repeat(0, len(match[0]) - 1)
        place = match.end()
    yield from repeat(1, len(text) - place)


def _size_of_mark(mark: re.Match[str], addresses: Addresses) -> int:
    return rendered_size(link(number_of(mark[1]), addresses)) + 1


_BORDERS = (
    re.compile(r"\n"),
    re.compile(
        rf"[.!?…。！？](?:(?<![。！？])[\"'”’)\]]*(?:\s*{PLACEHOLDER.pattern})*\s+|(?<=[。！？])(?:{PLACEHOLDER.pattern})*)(?!\ufdd0)"
    ),
    re.compile(r"\s+(?!\ufdd0)"),
)
_JOINS = frozenset("\u200d\ufe0e\ufe0f\u2060")
_LONGEST_CLUSTER = 40
_LONGEST_MARK = 12


def split_text(text: str, *, limit: int, addresses: Addresses, keep_inline_code: bool = True) -> list[str]:
    """Cut a text into pieces whose `max_size` is at most `limit` each; joined, they are the text.

    With `keep_inline_code`, no cut falls into inline code that fits into a piece. No cut ever falls into a placeholder,
    or into a single visible character (such as an emoji with its colour) of at most 40 code points.
    """
    if max_size(text, addresses) <= limit:
        return [text]
    sums = [*accumulate(_sizes(text, addresses), initial=0)]
    marks = [match.span() for match in PLACEHOLDER.finditer(text)]
    code = _inline_code(text) if keep_inline_code else []
    spans = [(start, end) for start, end in code if sums[end] - sums[start] <= limit]
    return list(_pieces(text, sums, sorted([*marks, *spans]), limit))


def _inline_code(text: str) -> list[tuple[int, int]]:
    return [(region.start, region.end) for region in regions(text) if region.kind is RegionKind.SPAN]


def _pieces(text: str, sums: Sequence[int], kept: Sequence[tuple[int, int]], room: int) -> Iterator[str]:
    borders = [_places(border, text, kept) for border in _BORDERS]
    start = 0
    while start < len(text):
        farthest = max(start + 1, bisect_right(sums, sums[start] + room) - 1)
        if farthest >= len(text):
            end = len(text)
        else:
            least = start + (farthest - start) // 3
            end = _best(borders, least, farthest) or _between_characters(text, start, farthest)
        yield text[start:end]
        start = end


def _places(border: re.Pattern[str], text: str, kept: Sequence[tuple[int, int]]) -> list[int]:
    """Return the places at which a text may be cut, in order; none of them is inside a stretch that is `kept` whole."""
    ends = [match.end() for match in border.finditer(text)]
    return [end for end in ends if not within(end, kept)]


def _best(borders: Sequence[Sequence[int]], least: int, farthest: int) -> int | None:
    """Return the last place after `least` and up to `farthest` at a border of the best possible kind.

    `borders` are the places of each kind of border, the best kind first. Return None if no kind has such a place.
    """
    for places in borders:
        index = bisect_right(places, farthest) - 1
        if index >= 0 and places[index] > least:
            return places[index]
    return None


def _between_characters(text: str, start: int, farthest: int) -> int:
    near = PLACEHOLDER.finditer(text, max(start, farthest - _LONGEST_MARK), farthest + _LONGEST_MARK)
    mark = next((m for m in near if m.start() < farthest < m.end()), None)
    if mark:
        return mark.start() if mark.start() > start else mark.end()
    for place in range(farthest, max(start, farthest - _LONGEST_CLUSTER), -1):
        if not _joined(text[place - 1], text[place]):
            return place
    return farthest


def _joined(before: str, after: str) -> bool:
    """Return whether two neighbours form one visible character, roughly as in https://unicode.org/reports/tr29/."""
    extends = unicodedata.category(after) in ("Mn", "Me", "Mc") or "\U0001f3fb" <= after <= "\U0001f3ff"
    flags = all("\U0001f1e6" <= letter <= "\U0001f1ff" for letter in (before, after))
    return extends or flags or after in _JOINS or before in _JOINS or before == "\\"


def within(place: int, spans: Sequence[tuple[int, int]]) -> bool:
    """Return whether a place is inside one of the `spans`, which are in order and do not overlap."""
    index = bisect_right(spans, (place, -1)) - 1
    return index >= 0 and place < spans[index][1]


_ITEM = re.compile(r" {0,3}(?:[-+*]|\d{1,9}[.)])(?=\s|$)[ \t]?")
_QUOTE = re.compile(r"^ {0,3}> ?", re.MULTILINE)
_DEEPEST = 2


@dataclass(frozen=True, kw_only=True)
class Splitter:
    """Splits segments into pieces for which `weigh` returns at most `limit`.

    `depth` is the number of lists and quotes around the segments. At a depth of 2, lists and quotes that are too large
    become plain paragraphs.
    """

    limit: int
    addresses: Addresses
    depth: int = 0

    def split(self, segment: MarkdownBlock) -> list[MarkdownBlock]:
        """Return the segment, or its pieces in order."""
        if self._fits(segment):
            return [segment]
        return list(self._pieces(segment))

    def weigh(self, segment: MarkdownBlock) -> int:
        """Return an upper bound of the size that Slack counts for a segment, including the blank line before it."""
        headings = segment.headings + (segment.kind is BlockKind.HEADING)
        return max_size(segment.markdown, self.addresses) + HEADING * headings + 2

    def repeats_header(self, table: MarkdownTable) -> bool:
        """Return whether a table's header is small enough to be repeated in every part of the table.

        The header may take at most half of a part.
        """
        return self._header(table) <= self.limit // 2

    def _header(self, table: MarkdownTable) -> int:
        return self.weigh(MarkdownBlock(BlockKind.TABLE, table.with_rows(()).markdown))

    def _fits(self, segment: MarkdownBlock) -> bool:
        return self.weigh(segment) <= self.limit and 2 * segment.special < PART_BLOCKS

    def _pieces(self, segment: MarkdownBlock) -> Iterator[MarkdownBlock]:
        is_nested = self.depth == _DEEPEST
        match segment.kind:
            case BlockKind.FENCE:
                return self._fence(segment)
            case BlockKind.TABLE:
                return self._table(segment)
            case BlockKind.LIST if not is_nested:
                return self._list(segment)
            case BlockKind.QUOTE if not is_nested:
                return self._quote(segment)
            case BlockKind.LIST | BlockKind.QUOTE:
                return self._text(flatten(segment.text))
        return self._text(segment.text)

    def _text(self, text: str) -> Iterator[MarkdownBlock]:
        # This leaves room for the joiner of `as_plain_paragraph`, and for the blank line between two pieces.
        for piece in split_text(text, limit=self.limit - 8, addresses=self.addresses):
            if piece.strip():
                yield MarkdownBlock(BlockKind.PARAGRAPH, as_plain_paragraph(piece))

    def _fence(self, segment: MarkdownBlock) -> Iterator[MarkdownBlock]:
        frame = self.weigh(segment._replace(text="")) + 2 * _longest_run(segment.text)
        for piece in split_text(
            segment.text, limit=max(self.limit - frame, 40), addresses=self.addresses, keep_inline_code=False
        ):
            yield segment._replace(text=piece.removesuffix("\n"))

    def _quote(self, segment: MarkdownBlock) -> Iterator[MarkdownBlock]:
        # The limit is a quarter, because every line gets its quotation mark back: even an empty line becomes longer.
        inner = replace(self, limit=self.limit // 4, depth=self.depth + 1)
        for piece in inner.pieces(_QUOTE.sub("", segment.text)):
            quoted = "\n".join(f"> {line}" for line in piece.markdown.split("\n"))
            heading, flowing = piece.kind is BlockKind.HEADING, piece.kind in RICH_TEXT_KINDS
            yield MarkdownBlock(
                kind=BlockKind.QUOTE,
                text=quoted,
                headings=piece.headings + heading,
                special=piece.special + (not flowing),
            )

    def _list(self, segment: MarkdownBlock) -> Iterator[MarkdownBlock]:
        for group in self._groups(list(list_items(segment)), self.limit):
            if len(group) > 1 or self._fits(group[0]):
                yield _one_list(group)
            else:
                yield from self._item(group[0].text)

    def _groups(self, items: Sequence[MarkdownBlock], room: int) -> Iterator[list[MarkdownBlock]]:
        """Yield groups of as many neighbouring items as fit; an item that is too large by itself is a group."""
        group: list[MarkdownBlock] = []
        used = special = 0
        for item in items:
            used, special = used + self.weigh(item), special + item.special
            if group and (used > room or 2 * special >= PART_BLOCKS):
                yield group
                group, used, special = [], self.weigh(item), item.special
            group.append(item)
        yield group

    def _item(self, item: str) -> Iterator[MarkdownBlock]:
        """Split one item: its first piece stays an item if it is text, and the other pieces come below the list."""
        sign = _ITEM.match(item)
        start = sign.end() if sign else 0
        inner = replace(self, limit=self.limit - 16, depth=self.depth + 1)
        body = re.sub(rf"^ {{1,{start}}}", "", item[start:], flags=re.MULTILINE) if start else item
        for index, piece in enumerate(inner.pieces(body)):
            first = sign is not None and index == 0 and piece.kind is BlockKind.PARAGRAPH
            yield MarkdownBlock(BlockKind.LIST, f"{item[:start].rstrip()} {piece.text}") if first else piece

    def pieces(self, text: str) -> Iterator[MarkdownBlock]:
        """Yield the segments of a text, split where needed."""
        for segment in segments(parse(text)):
            yield from self.split(segment)

    def _table(self, segment: MarkdownBlock) -> Iterator[MarkdownBlock]:
        """Split between rows and repeat the header; if the header or a row is too long, return lines of text."""
        table = normalize(segment.text.split("\n"))
        room = self.limit - self._header(table)
        rows = [MarkdownBlock(kind=BlockKind.TABLE, text=line) for line in table.lines]
        if not rows or not self.repeats_header(table) or max(map(self.weigh, rows)) > room:
            for row in (table.header, *table.rows):
                yield from self._text(as_text(row))
            return
        header = table.with_rows(()).markdown
        for group in self._groups(rows, room):
            yield MarkdownBlock(BlockKind.TABLE, "\n".join([header, *(row.text for row in group)]))


def _one_list(items: Sequence[MarkdownBlock]) -> MarkdownBlock:
    return MarkdownBlock(
        kind=BlockKind.LIST,
        text="\n".join(item.text for item in items),
        headings=sum(item.headings for item in items),
        special=sum(item.special for item in items),
    )


def _longest_run(text: str) -> int:
    return max(map(len, re.findall("`+", text)), default=0)
