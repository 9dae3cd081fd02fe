"""A segment that is too long for one message, as several that are not: nothing cut that can stay whole."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from bot.blocks.cutting import cut
from bot.blocks.marks import Addresses
from bot.blocks.segments import FLOWING, Form, Segment, flattened, inert, list_items, segments
from bot.blocks.tables import Row, Table, flat, tidy
from bot.blocks.weights import HEADING, PART_BLOCKS, weight

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
