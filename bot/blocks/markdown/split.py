"""What a text costs of the room that Slack gives a message, known before it is rendered and never less than it will be.

Slack counts `&` as 5 characters, `<` and `>` as 4, and about 100 more for a heading, up to some 13,200 in a message; it
is found by measuring (https://github.com/slackapi/bolt-js/issues/2509) and documented nowhere.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from bot.blocks.markdown.blocks import (
    FLOWING,
    Form,
    Row,
    Segment,
    Table,
    flat,
    flattened,
    inert,
    list_items,
    segments,
    tidy,
)
from bot.blocks.markdown.placeholders import MARK, Addresses, link, number_of
from perplexity.markdown import Kind, regions

PART = 9_000
"""The most that one markdown block may weigh."""
MESSAGE = 11_000
"""The most that all blocks of a message may weigh."""
PART_BLOCKS = 36
MESSAGE_BLOCKS = 44
"""The most blocks, after Slack has taken a markdown block apart; Slack's own limit is 50."""
HEADING = 100

_SHOWN = {"&": 5, "<": 4, ">": 4}
# The joiners that `defusing` may put beside a character.
_JOINERS = {"&": 1, "<": 1, ".": 2, ":": 1, "/": 1, "]": 1, "@": 1, "*": 1, "\\": 1, "!": 1}
_WEIGHTS = {sign: _SHOWN.get(sign, 1) + _JOINERS.get(sign, 0) for sign in {*_SHOWN, *_JOINERS}}


def counted(text: str) -> int:
    """Return how many characters Slack counts for a text that is already rendered."""
    return len(text) + sum(text.count(sign) * (weight - 1) for sign, weight in _SHOWN.items())


def weight(text: str, addresses: Addresses) -> int:
    """Return the most that a text with marks can come to."""
    return sum(_of_characters(text, addresses))


def running(text: str, addresses: Addresses) -> list[int]:
    """Return the weight of the first n characters for every n from 0 to the length."""
    return list(accumulate(_of_characters(text, addresses), initial=0))


def _of_characters(text: str, addresses: Addresses) -> Iterator[int]:
    place = 0
    for mark in MARK.finditer(text):
        yield from (_WEIGHTS.get(character, 1) for character in text[place : mark.start()])
        yield counted(link(number_of(mark), addresses)) + 1
        yield from [0] * (len(mark[0]) - 1)
        place = mark.end()
    yield from (_WEIGHTS.get(character, 1) for character in text[place:])


_BORDERS = (
    re.compile(r"\n"),
    re.compile(rf"(?:[.!?…][\"'”’)\]]*(?:\s*{MARK.pattern})*\s+|[。！？](?:{MARK.pattern})*)(?!\ufdd0)"),
    re.compile(r"\s+(?!\ufdd0)"),
)
_JOINS = frozenset("\u200d\ufe0e\ufe0f\u2060")
_LONGEST_CLUSTER = 40
_LONGEST_MARK = 12


def cut(text: str, *, room: int, addresses: Addresses, whole: bool = True) -> list[str]:
    """Cut a text into pieces that weigh at most `room` each; joined, they are the text.

    With `whole`, no cut falls into inline code that fits a piece. None ever falls into a mark, and none into what is
    seen as one character (an emoji with its colour) unless that is longer than 40.
    """
    sums = running(text, addresses)
    if sums[-1] <= room:
        return [text]
    marks = [match.span() for match in MARK.finditer(text)]
    spans = [(start, end) for start, end in _inline_code(text) if whole and sums[end] - sums[start] <= room]
    kept = sorted([*marks, *spans])
    borders = [[m.end() for m in border.finditer(text) if not _within(m.end(), kept)] for border in _BORDERS]
    return list(_pieces(text, sums, borders, room))


def _inline_code(text: str) -> list[tuple[int, int]]:
    return [(region.start, region.end) for region in regions(text) if region.kind is Kind.SPAN]


def _pieces(text: str, sums: Sequence[int], borders: Sequence[Sequence[int]], room: int) -> Iterator[str]:
    start = 0
    while start < len(text):
        farthest = max(start + 1, bisect_right(sums, sums[start] + room) - 1)
        if farthest >= len(text):
            end = len(text)
        else:
            end = _best(borders, start, farthest) or _between_characters(text, start, farthest)
        yield text[start:end]
        start = end


def _best(borders: Sequence[Sequence[int]], start: int, farthest: int) -> int | None:
    """Return the last place of the best kind, as long as the piece does not become much too short for it."""
    for places in borders:
        index = bisect_right(places, farthest) - 1
        if index >= 0 and places[index] > start + (farthest - start) // 3:
            return places[index]
    return None


def _between_characters(text: str, start: int, farthest: int) -> int:
    near = MARK.finditer(text, max(start, farthest - _LONGEST_MARK), farthest + _LONGEST_MARK)
    mark = next((m for m in near if m.start() < farthest < m.end()), None)
    if mark:
        return mark.start() if mark.start() > start else mark.end()
    for place in range(farthest, max(start, farthest - _LONGEST_CLUSTER), -1):
        if not _joined(text[place - 1], text[place]):
            return place
    return farthest


def _joined(before: str, after: str) -> bool:
    """Tell whether two neighbours are seen as one character, near enough to https://unicode.org/reports/tr29/."""
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
    """Splits by weight: `room` is what one piece may weigh, `addresses` are those of the sources.

    `depth` counts the lists and quotes around; so deep inside, structure is given up and text kept.
    """

    room: int
    addresses: Addresses
    depth: int = 0

    def split(self, segment: Segment) -> list[Segment]:
        """Return the segment, or its pieces in order."""
        if self._fits(segment):
            return [segment]
        return list(self._ways()[segment.form](segment))

    def weigh(self, segment: Segment) -> int:
        """Return the most that Slack will count for a segment, with the blank line before it."""
        headings = segment.headings + (segment.form is Form.HEADING)
        return weight(segment.markdown, self.addresses) + HEADING * headings + 2

    def repeats_header(self, table: Table) -> bool:
        """Return whether every part of a table has its header, which may take up half of a part at most."""
        return self._header(table) <= self.room // 2

    def _header(self, table: Table) -> int:
        return self.weigh(Segment(form=Form.TABLE, text=table.with_rows(()).markdown))

    def _fits(self, segment: Segment) -> bool:
        return self.weigh(segment) <= self.room and 2 * segment.special < PART_BLOCKS

    def _ways(self) -> dict[Form, Callable[[Segment], Iterator[Segment]]]:
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

    def _text(self, segment: Segment) -> Iterator[Segment]:
        # Room for the joiner of `inert` and the blank line between.
        for piece in cut(segment.text, room=self.room - 8, addresses=self.addresses):
            if piece.strip():
                yield Segment(form=Form.TEXT, text=inert(piece))

    def _flat(self, segment: Segment) -> Iterator[Segment]:
        yield from self._text(Segment(form=Form.TEXT, text=flattened(segment.text)))

    def _fence(self, segment: Segment) -> Iterator[Segment]:
        frame = self.weigh(replace(segment, text="")) + 2 * _longest_run(segment.text)
        for piece in cut(segment.text, room=max(self.room - frame, 40), addresses=self.addresses, whole=False):
            yield replace(segment, text=piece.removesuffix("\n"))

    def _quote(self, segment: Segment) -> Iterator[Segment]:
        # Every line gets its sign back, and a line may be empty.
        inner = replace(self, room=self.room // 4, depth=self.depth + 1)
        for piece in inner.pieces(_QUOTE.sub("", segment.text)):
            quoted = "\n".join(f"> {line}" for line in piece.markdown.split("\n"))
            heading, flowing = piece.form is Form.HEADING, piece.form in FLOWING
            yield Segment(
                form=Form.QUOTE,
                text=quoted,
                headings=piece.headings + heading,
                special=piece.special + (not flowing),
            )

    def _list(self, segment: Segment) -> Iterator[Segment]:
        for group in self._groups(list(list_items(segment.text)), self.room):
            if len(group) > 1 or self._fits(group[0]):
                yield _one_list(group)
            else:
                yield from self._item(group[0].text)

    def _groups(self, items: Sequence[Segment], room: int) -> Iterator[list[Segment]]:
        """Put as many neighbours together as fit; what does not fit alone comes alone."""
        group: list[Segment] = []
        used = special = 0
        for item in items:
            used, special = used + self.weigh(item), special + item.special
            if group and (used > room or 2 * special >= PART_BLOCKS):
                yield group
                group, used, special = [], self.weigh(item), item.special
            group.append(item)
        yield group

    def _item(self, item: str) -> Iterator[Segment]:
        """Split one item: what follows its first paragraph stands below the list, no longer in it."""
        sign = _ITEM.match(item)
        start = sign.end() if sign else 0
        inner = replace(self, room=self.room - 16, depth=self.depth + 1)
        body = re.sub(rf"^ {{1,{start}}}", "", item[start:], flags=re.MULTILINE) if start else item
        for index, piece in enumerate(inner.pieces(body)):
            first = sign is not None and index == 0 and piece.form is Form.TEXT
            yield replace(piece, form=Form.LIST, text=f"{item[:start].rstrip()} {piece.text}") if first else piece

    def pieces(self, text: str) -> Iterator[Segment]:
        """Yield the segments of a text, split where needed."""
        for segment in segments(text):
            yield from self.split(segment)

    def _table(self, segment: Segment) -> Iterator[Segment]:
        """Split between rows and repeat the header; a table with a row that is too long alone becomes lines of text."""
        table = tidy(segment.text.split("\n"))
        room = self.room - self._header(table)
        rows = [Segment(form=Form.TABLE, text=line) for line in table.lines]
        if not rows or not self.repeats_header(table) or max(map(self.weigh, rows)) > room:
            for row in (table.header, *table.rows):
                yield from self._row(row)
            return
        start = 0
        for group in self._groups(rows, room):
            part = table.with_rows(table.rows[start : start + len(group)])
            yield replace(segment, text=part.markdown)
            start += len(group)

    def _row(self, row: Row) -> Iterator[Segment]:
        yield from self._text(Segment(form=Form.TEXT, text=flat(row)))


def _one_list(items: Sequence[Segment]) -> Segment:
    return Segment(
        form=Form.LIST,
        text="\n".join(item.text for item in items),
        headings=sum(item.headings for item in items),
        special=sum(item.special for item in items),
    )


def _longest_run(text: str) -> int:
    return max((len(run) for run in re.findall("`+", text)), default=0)
