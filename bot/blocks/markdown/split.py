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
from functools import cached_property
from itertools import accumulate, pairwise, repeat

from bot.blocks.markdown.blocks import (
    PLACEHOLDER,
    RICH_TEXT_KINDS,
    Addresses,
    Form,
    MarkdownBlock,
    Row,
    Table,
    as_plain_paragraph,
    as_text,
    blocks_of,
    flatten,
    has_placeholders,
    link,
    list_items,
    normalize,
    number_of,
    segments,
    table_segment,
)
from perplexity.markdown import Document, RegionKind, parse, regions

MAX_BLOCK = 9_000
"""The most that one markdown block may weigh."""
MAX_MESSAGE = 11_000
"""The most that all blocks of a message may weigh."""
PART_BLOCKS = 36
MESSAGE_BLOCKS = 44
"""The most blocks, after Slack has taken a markdown block apart; Slack's own limit is 50."""
HEADING = 100
_SHOWN = {"&": 5, "<": 4, ">": 4}
# The joiners that `neutralize` may put next to a character.
_JOINERS = {"&": 1, "<": 1, ".": 2, ":": 1, "/": 1, "]": 1, "@": 1, "*": 1, "\\": 1, "!": 1}
_MORE = {sign: _SHOWN.get(sign, 1) + _JOINERS.get(sign, 0) - 1 for sign in {*_SHOWN, *_JOINERS}}
_PIECE = 250
_COUNTED = re.compile(f"{PLACEHOLDER.pattern}|[{re.escape(''.join(_MORE))}]")


def rendered_size(text: str) -> int:
    """Return how many characters Slack counts for a text that is already rendered."""
    return len(text) + sum([text.count(sign) * (size - 1) for sign, size in _SHOWN.items() if sign in text])


class MaxSizes:
    """What texts with marks weigh at the most, each found out once; they have no signs but those of one `text`."""

    def __init__(self, text: str, addresses: Addresses) -> None:
        self._addresses = addresses
        self._more = [(sign, more) for sign, more in _MORE.items() if sign in text]
        self._marks: dict[str, int] = {}
        self._texts: dict[str, int] = {}

    def of(self, text: str) -> int:
        """Return the most that a text with marks can come to."""
        if text not in self._texts:
            more = sum([text.count(sign) * more for sign, more in self._more])
            self._texts[text] = len(text) + more + self._of_marks(text)
        return self._texts[text]

    def prefix_sizes(self, text: str) -> PrefixSizes:
        """Return the weights of the text's beginnings."""
        return PrefixSizes(text, self)

    def of_characters(self, text: str) -> Iterator[int]:
        """Yield the weight of each character; that of a mark is its first character's."""
        place = 0
        for match in _COUNTED.finditer(text):
            yield from repeat(1, match.start() - place)
            if match[1]:
                yield self._of_mark(match[1]) + len(match[0])
                yield from repeat(0, len(match[0]) - 1)
            else:
                yield 1 + _MORE[match[0]]
            place = match.end()
        yield from repeat(1, len(text) - place)

    def _of_marks(self, text: str) -> int:
        return sum(map(self._of_mark, PLACEHOLDER.findall(text))) if has_placeholders(text) else 0

    def _of_mark(self, digits: str) -> int:
        """Return what a mark weighs more than its characters."""
        if digits not in self._marks:
            self._marks[digits] = rendered_size(link(number_of(digits), self._addresses)) + 1 - len(digits) - 2
        return self._marks[digits]


class PrefixSizes:
    """The weight of the first n characters of a text, for every n, found out by pieces."""

    def __init__(self, text: str, weights: MaxSizes) -> None:
        self._text, self._weights = text, weights
        self._starts = [0]
        while self._starts[-1] < len(text):
            self._starts.append(_outside_a_mark(text, self._starts[-1] + _PIECE))
        pieces = [text[start:end] for start, end in pairwise(self._starts)]
        self._sums = [*accumulate(map(weights.of, pieces), initial=0)]

    def until(self, place: int) -> int:
        """Return the weight of what is before a place that is in no mark."""
        piece = bisect_right(self._starts, place) - 1
        return self._sums[piece] + self._weights.of(self._text[self._starts[piece] : place])

    def farthest(self, weight: int) -> int:
        """Return the last place before which there is no more than this."""
        piece = bisect_right(self._sums, weight) - 1
        if piece == len(self._starts) - 1:
            return len(self._text)
        characters = self._weights.of_characters(self._text[self._starts[piece] : self._starts[piece + 1]])
        sums = [*accumulate(characters, initial=self._sums[piece])]
        return self._starts[piece] + bisect_right(sums, weight) - 1


def _outside_a_mark(text: str, place: int) -> int:
    while place < len(text) and "\ufdd0" < text[place] <= "\ufdef":
        place += 1
    return min(place, len(text))


_BORDERS = (
    re.compile(
        rf"[.!?…。！？](?:(?<![。！？])[\"'”’)\]]*(?:\s*{PLACEHOLDER.pattern})*\s+|(?<=[。！？])(?:{PLACEHOLDER.pattern})*)(?!\ufdd0)"
    ),
    re.compile(r"\s+(?!\ufdd0)"),
)
_JOINS = frozenset("\u200d\ufe0e\ufe0f\u2060")
_LONGEST_CLUSTER = 40
_LONGEST_MARK = 12


def split_text(text: str, *, limit: int, weights: MaxSizes, keep_inline_code: bool = True) -> list[str]:
    """Cut a text into pieces that weigh at most `limit` each; joined, they are the text.

    With `keep_inline_code`, no cut falls into inline code that fits a piece. None ever falls into a mark, and none into
    what is seen as one character (an emoji with its colour) unless that is longer than 40.
    """
    if weights.of(text) <= limit:
        return [text]
    sums = weights.prefix_sizes(text)
    marks = [match.span() for match in PLACEHOLDER.finditer(text)] if has_placeholders(text) else []
    code = _inline_code(text) if keep_inline_code and "`" in text else []
    spans = [(start, end) for start, end in code if sums.until(end) - sums.until(start) <= limit]
    return list(_pieces(text, sums, sorted([*marks, *spans]), limit))


def _inline_code(text: str) -> list[tuple[int, int]]:
    return [(region.start, region.end) for region in regions(text) if region.kind is RegionKind.SPAN]


def _pieces(text: str, sums: PrefixSizes, kept: Sequence[tuple[int, int]], room: int) -> Iterator[str]:
    borders = [_Borders(border, text, kept) for border in _BORDERS]
    start = 0
    while start < len(text):
        farthest = max(start + 1, sums.farthest(sums.until(start) + room))
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


_NEAR = 500


@dataclass
class _Borders:
    """The places of a text at which it may be cut, of one kind; they are looked for when it is needed."""

    border: re.Pattern[str]
    text: str
    kept: Sequence[tuple[int, int]]

    def last(self, least: int, farthest: int) -> int | None:
        """Return the last place after `least`, not after `farthest`, or None if there is none."""
        return self._last_near(least, farthest) or self._last(least, farthest)

    def _last_near(self, least: int, farthest: int) -> int | None:
        """Return the last place if it is near `farthest`: most texts need not be searched as a whole."""
        near, found = max(least, farthest - _NEAR), None
        # A border may look at one character after it.
        for match in self.border.finditer(self.text, near, farthest + 2):
            end = match.end()
            if end > farthest:
                break
            # What begins at the first sign may have begun before it.
            if match.start() > near and not (self.kept and _within(end, self.kept)):
                found = end
        return found

    def _last(self, least: int, farthest: int) -> int | None:
        index = bisect_right(self._places, farthest) - 1
        return self._places[index] if index >= 0 and self._places[index] > least else None

    @cached_property
    def _places(self) -> list[int]:
        """The places, in order, outside of what is kept whole."""
        ends = [match.end() for match in self.border.finditer(self.text)]
        return [end for end in ends if not _within(end, self.kept)] if self.kept else ends


def _line_end(text: str, kept: Sequence[tuple[int, int]], least: int, farthest: int) -> int | None:
    """Return the last place after a line, as long as the piece does not become much too short for it."""
    place = text.rfind("\n", least, farthest) + 1
    while place > least and _within(place, kept):
        place = text.rfind("\n", least, place - 1) + 1
    return place if place > least else None


def _best(borders: Sequence[_Borders], least: int, farthest: int) -> int | None:
    """Return the last place of the best kind after `least`."""
    return next((place for border in borders if (place := border.last(least, farthest))), None)


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
    """Return whether two neighbours are seen as one character, near enough to https://unicode.org/reports/tr29/."""
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
    """Splits by weight: `limit` is what one piece may weigh.

    `depth` counts the lists and quotes around; so deep inside, structure is given up and text kept.
    """

    limit: int
    weights: MaxSizes
    depth: int = 0

    def split(self, segment: MarkdownBlock) -> list[MarkdownBlock]:
        """Return the segment, or its pieces in order."""
        if self._fits(segment):
            return [segment]
        return list(self._ways()[segment.form](segment))

    def weigh(self, segment: MarkdownBlock) -> int:
        """Return the most that Slack will count for a segment, with the blank line before it."""
        headings = segment.headings + (segment.form is Form.HEADING)
        return self.weights.of(segment.markdown) + HEADING * headings + 2

    def takes_all(self, document: Document, segments: Sequence[MarkdownBlock]) -> bool:
        """Return whether a document needs no splitting, which is so if all of its segments fit one piece together."""
        headings = sum([segment.headings + (segment.form is Form.HEADING) for segment in segments])
        weight = self.weights.of(document.text) + HEADING * headings + 2
        return weight <= self.limit and all(2 * segment.special < PART_BLOCKS for segment in segments)

    def repeats_header(self, table: Table) -> bool:
        """Return whether every part of a table has its header, which may take up half of a part at most."""
        return self._header(table) <= self.limit // 2

    def _header(self, table: Table) -> int:
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
        # Room for the joiner of `as_plain_paragraph` and the blank line between.
        for piece in split_text(segment.text, limit=self.limit - 8, weights=self.weights):
            if piece.strip():
                yield MarkdownBlock(form=Form.TEXT, text=as_plain_paragraph(piece))

    def _flat(self, segment: MarkdownBlock) -> Iterator[MarkdownBlock]:
        yield from self._text(MarkdownBlock(form=Form.TEXT, text=flatten(segment.text)))

    def _fence(self, segment: MarkdownBlock) -> Iterator[MarkdownBlock]:
        frame = self.weigh(segment._replace(text="")) + 2 * _longest_run(segment.text)
        for piece in split_text(
            segment.text, limit=max(self.limit - frame, 40), weights=self.weights, keep_inline_code=False
        ):
            yield segment._replace(text=piece.removesuffix("\n"))

    def _quote(self, segment: MarkdownBlock) -> Iterator[MarkdownBlock]:
        # Every line gets its sign back, and a line may be empty.
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
        """Put as many neighbours together as fit; what does not fit alone comes alone."""
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
        """Split one item: what follows its first paragraph comes below the list, no longer in it."""
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
        """Split between rows and repeat the header; a table with a row that is too long alone becomes lines of text."""
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
            yield table_segment(part.markdown)
            start += len(group)

    def _row(self, row: Row) -> Iterator[MarkdownBlock]:
        yield from self._text(MarkdownBlock(form=Form.TEXT, text=as_text(row)))


def _one_list(items: Sequence[MarkdownBlock]) -> MarkdownBlock:
    return MarkdownBlock(
        form=Form.LIST,
        text="\n".join(item.text for item in items),
        headings=sum(item.headings for item in items),
        special=sum(item.special for item in items),
        blocks=tuple(blocks_of(items)),
    )


def _longest_run(text: str) -> int:
    if "```" not in text:
        return 2 if "``" in text else int("`" in text)
    return max(map(len, re.findall("`+", text)))
