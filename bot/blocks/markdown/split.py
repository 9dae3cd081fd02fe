"""Splits Markdown before it is rendered, by upper bounds for the sizes that Slack will count.

Slack counts `&` as 5 characters, `<` and `>` as 4, and about 100 more for a heading, and it accepts about 13,200 in a
message. These numbers were measured (https://github.com/slackapi/bolt-js/issues/2509); they are documented nowhere.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, repeat

from bot.blocks.markdown.blocks import (
    PLACEHOLDER,
    RICH_TEXT_KINDS,
    Addresses,
    Form,
    MarkdownBlock,
    MarkdownTable,
    Row,
    as_plain_paragraph,
    as_text,
    flatten,
    link,
    list_items,
    normalize,
    number_of,
    segments,
)
from perplexity.markdown import RegionKind, parse, regions

MAX_BLOCK = 9_000
"""The most that one markdown block may weigh."""
MAX_MESSAGE = 11_000
"""The most that all blocks of a message may weigh."""
PART_BLOCKS = 36
MESSAGE_BLOCKS = 44
"""The most blocks of a part and of a message; Slack accepts 50.

The blocks that Slack makes of a `markdown` block are counted, not the `markdown` block itself.
"""
HEADING = 100
_SHOWN = {"&": 5, "<": 4, ">": 4}
# The number of joiners that `neutralize` may put next to a character.
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
    """Yield the weight of each character; a placeholder's weight is at its first character."""
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
    re.compile(
        rf"[.!?…。！？](?:(?<![。！？])[\"'”’)\]]*(?:\s*{PLACEHOLDER.pattern})*\s+|(?<=[。！？])(?:{PLACEHOLDER.pattern})*)(?!\ufdd0)"
    ),
    re.compile(r"\s+(?!\ufdd0)"),
)
_JOINS = frozenset("\u200d\ufe0e\ufe0f\u2060")
_LONGEST_CLUSTER = 40
_LONGEST_MARK = 12


def split_text(text: str, *, limit: int, addresses: Addresses, keep_inline_code: bool = True) -> list[str]:
    """Cut a text into pieces that weigh at most `limit` each; joined, they are the text.

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
            end = (
                _line_end(text, kept, least, farthest)
                or _best(borders, least, farthest)
                or _between_characters(text, start, farthest)
            )
        yield text[start:end]
        start = end


def _places(border: re.Pattern[str], text: str, kept: Sequence[tuple[int, int]]) -> list[int]:
    """Return the places at which a text may be cut, in order; none of them is inside a stretch that is `kept` whole."""
    ends = [match.end() for match in border.finditer(text)]
    return [end for end in ends if not _within(end, kept)]


def _line_end(text: str, kept: Sequence[tuple[int, int]], least: int, farthest: int) -> int | None:
    """Return the place after the last line end before `farthest`; None if this is not after `least`."""
    place = text.rfind("\n", least, farthest) + 1
    while place > least and _within(place, kept):
        place = text.rfind("\n", least, place - 1) + 1
    return place if place > least else None


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


def _within(place: int, spans: Sequence[tuple[int, int]]) -> bool:
    index = bisect_right(spans, (place, -1)) - 1
    return index >= 0 and spans[index][0] < place < spans[index][1]


_ITEM = re.compile(r" {0,3}(?:[-+*]|\d{1,9}[.)])(?=\s|$)[ \t]?")
_QUOTE = re.compile(r"^ {0,3}> ?", re.MULTILINE)
_DEEPEST = 2


@dataclass(frozen=True, kw_only=True)
class Splitter:
    """Splits segments into pieces that weigh at most `limit` each.

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
        return list(self._ways()[segment.form](segment))

    def weigh(self, segment: MarkdownBlock) -> int:
        """Return an upper bound of the size that Slack counts for a segment, including the blank line before it."""
        headings = segment.headings + (segment.form is Form.HEADING)
        return max_size(segment.markdown, self.addresses) + HEADING * headings + 2

    def repeats_header(self, table: MarkdownTable) -> bool:
        """Return whether every part of a table repeats its header: only if it takes at most half of a part."""
        return self._header(table) <= self.limit // 2

    def _header(self, table: MarkdownTable) -> int:
        return self.weigh(MarkdownBlock(Form.TABLE, table.with_rows(()).markdown))

    def _fits(self, segment: MarkdownBlock) -> bool:
        return self.weigh(segment) <= self.limit and 2 * segment.special < PART_BLOCKS

    def _ways(self) -> dict[Form, Callable[[MarkdownBlock], Iterator[MarkdownBlock]]]:
        nested = self.depth < _DEEPEST
        return {
            Form.HEADING: self._text,
            Form.TEXT: self._text,
            Form.RULE: self._text,
            Form.LIST: self._list if nested else self._flat,
            Form.QUOTE: self._quote if nested else self._flat,
            Form.FENCE: self._fence,
            Form.TABLE: self._table,
        }

    def _text(self, segment: MarkdownBlock) -> Iterator[MarkdownBlock]:
        # Room for the joiner of `as_plain_paragraph` and the blank line in between.
        for piece in split_text(segment.text, limit=self.limit - 8, addresses=self.addresses):
            if piece.strip():
                yield MarkdownBlock(form=Form.TEXT, text=as_plain_paragraph(piece))

    def _flat(self, segment: MarkdownBlock) -> Iterator[MarkdownBlock]:
        yield from self._text(MarkdownBlock(form=Form.TEXT, text=flatten(segment.text)))

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
            heading, flowing = piece.form is Form.HEADING, piece.form in RICH_TEXT_KINDS
            yield MarkdownBlock(
                form=Form.QUOTE,
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
            first = sign is not None and index == 0 and piece.form is Form.TEXT
            yield MarkdownBlock(Form.LIST, f"{item[:start].rstrip()} {piece.text}") if first else piece

    def pieces(self, text: str) -> Iterator[MarkdownBlock]:
        """Yield the segments of a text, split where needed."""
        for segment in segments(parse(text)):
            yield from self.split(segment)

    def _table(self, segment: MarkdownBlock) -> Iterator[MarkdownBlock]:
        """Split between rows and repeat the header; a table with a row that is too long becomes lines of text."""
        table = normalize(segment.text.split("\n"))
        room = self.limit - self._header(table)
        rows = [MarkdownBlock(form=Form.TABLE, text=line) for line in table.lines]
        if not rows or not self.repeats_header(table) or max(map(self.weigh, rows)) > room:
            for row in (table.header, *table.rows):
                yield from self._row(row)
            return
        start = 0
        for group in self._groups(rows, room):
            part = table.with_rows(table.rows[start : start + len(group)])
            yield MarkdownBlock(Form.TABLE, part.markdown)
            start += len(group)

    def _row(self, row: Row) -> Iterator[MarkdownBlock]:
        yield from self._text(MarkdownBlock(form=Form.TEXT, text=as_text(row)))


def _one_list(items: Sequence[MarkdownBlock]) -> MarkdownBlock:
    return MarkdownBlock(
        form=Form.LIST,
        text="\n".join(item.text for item in items),
        headings=sum(item.headings for item in items),
        special=sum(item.special for item in items),
    )


def _longest_run(text: str) -> int:
    return max(map(len, re.findall("`+", text)), default=0)
