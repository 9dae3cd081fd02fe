"""Renders untrusted Markdown for `markdown` blocks, so that none of it becomes a link or an image.

A `markdown` block also makes links of text that does not look like a link in Markdown, such as a bare address, so
`neutralize` breaks all links and images. Our own links are inserted afterwards (`render_links`).

Slack takes the direction of a paragraph, a list item or a cell from its first strong letter, so an Arabic item that
begins with a Latin name would run the wrong way (https://www.unicode.org/reports/tr9/#P2). An invisible mark before the
name prevents this. Unicode's isolates would not, because Slack removes them from the message.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise

from bot.blocks.escaping import break_mentions, neutralize, one_line
from bot.blocks.markdown.blocks import (
    MAX_BLOCK,
    MOST_ROWS,
    PART_BLOCKS,
    RICH_TEXT_KINDS,
    Addresses,
    MarkdownBlock,
    Splitter,
    joined,
    normalize,
    render_links,
    render_numbers,
    segments,
)
from perplexity.formulas import readable
from perplexity.markdown import BlockKind, Document, Edit, RegionKind, parse

CODE = frozenset({RegionKind.FENCE, RegionKind.SPAN})
"""The kinds of regions that Slack surely shows as code. Indented code is not among them."""


@dataclass(frozen=True, kw_only=True)
class Part:
    """A part of a text, ready for a `markdown` block.

    Each of the `stretches` is a pair: whether the stretch is code, and its text.
    """

    stretches: tuple[tuple[bool, str], ...]

    @cached_property
    def text(self) -> str:
        """The Markdown."""
        return "".join(stretch for _, stretch in self.stretches)

    @cached_property
    def blocks(self) -> int:
        """The most blocks that Slack makes of the part."""
        return count_blocks(self.text)


def count_blocks(text: str) -> int:
    """Return the most blocks that Slack makes of a rendered text."""
    return _block_sums(segments(parse(text)))[-1]


def split_markdown(document: Document, addresses: Addresses, *, limit: int = MAX_BLOCK) -> list[Part]:
    """Render a text that has placeholders, and return it split into parts.

    LaTeX is made readable first. Each part weighs at most `limit` (see `Splitter.weigh`), and Slack makes at most 36
    blocks of it.
    """
    splitter = Splitter(limit=limit, addresses=addresses)
    pieces = [piece for segment in _shown(document, splitter) for piece in splitter.split(segment)]
    return [Part(stretches=render(joined(run), addresses)) for run in _runs(pieces, splitter)]


def render_whole(document: Document, addresses: Addresses) -> str:
    """Render a text with placeholders as one part of any length."""
    whole = _shown(document, Splitter(limit=MAX_BLOCK, addresses=addresses))
    return "".join([stretch for _, stretch in render(joined(whole), addresses)])


def _shown(document: Document, splitter: Splitter) -> list[MarkdownBlock]:
    """Return the segments of a text after making LaTeX readable, marking right-to-left lines, and splitting tables."""
    found = segments(directed(readable(document)))
    return [small for segment in found for small in _short_tables(segment, splitter)]


def render(document: Document, addresses: Addresses) -> tuple[tuple[bool, str], ...]:
    """Return the stretches of a document as Markdown whose only links come from its placeholders.

    Each stretch is a pair: whether the stretch is code, and its text. Indented code is neutralized like prose, because
    Slack may not show it as code.
    """
    return tuple(
        (kind in CODE, _code(text) if kind in CODE else render_links(neutralize(text), addresses))
        for kind, text in ((kind, document.text[start:end]) for kind, start, end in document.regions)
    )


def table_cell(text: str) -> str:
    """Return a name as a cell of one of our tables: on one line, without bars, code or links."""
    return neutralize(one_line(text).replace("|", "¦").replace("`", "'").replace("\\", "⧵")) or "–"


def _code(text: str) -> str:
    return render_numbers(break_mentions(text))


def _block_sums(pieces: Sequence[MarkdownBlock]) -> list[int]:
    """Return the most blocks that Slack makes of the first n segments, for every n from 0."""
    # Slack joins neighbours such as texts and lists into one block; a special block inside them splits it again.
    flows = [False, *(piece.kind in RICH_TEXT_KINDS for piece in pieces)]
    runs = (not (before and after) for before, after in pairwise(flows))
    return list(accumulate((run + 2 * piece.special for run, piece in zip(runs, pieces, strict=True)), initial=0))


def _short_tables(segment: MarkdownBlock, splitter: Splitter) -> Iterator[MarkdownBlock]:
    is_long = segment.kind is BlockKind.TABLE and segment.text.count("\n") > MOST_ROWS + 1
    table = normalize(segment.text.split("\n")) if is_long else None
    if table is None or not splitter.repeats_header(table):
        yield segment
        return
    for start in range(0, len(table.rows) or 1, MOST_ROWS):
        yield MarkdownBlock(BlockKind.TABLE, table.with_rows(table.rows[start : start + MOST_ROWS]).markdown)


def _runs(pieces: Sequence[MarkdownBlock], splitter: Splitter) -> Iterator[Sequence[MarkdownBlock]]:
    """Yield the segments in runs that each fit into one part."""
    weights = list(accumulate(map(splitter.weigh, pieces), initial=0))
    blocks = _block_sums(pieces)
    start = 0
    for end in range(1, len(pieces) + 1):
        # If Slack joins the first segment of a run with the segment before the run, the sums count no block for the
        # first segment. But this segment needs a block at the beginning of a part, so one block is kept spare.
        while start < end - 1 and (
            weights[end] - weights[start] > splitter.limit or blocks[end] - blocks[start] >= PART_BLOCKS
        ):
            cut = _best_end(pieces, weights, start, end - 1, splitter.limit // 3)
            yield pieces[start:cut]
            start = cut
    if pieces:
        yield pieces[start:]


def _best_end(pieces: Sequence[MarkdownBlock], weights: Sequence[int], start: int, end: int, least: int) -> int:
    """Return where a full part ends: before its last heading, if the part then weighs at least `least`.

    Otherwise the part ends at `end`, or before the headings that would be its last segments.
    """
    headings = [i for i in range(start + 1, end) if pieces[i].kind is BlockKind.HEADING]
    if headings and weights[headings[-1]] - weights[start] >= least:
        return headings[-1]
    while end > start + 1 and pieces[end - 1].kind is BlockKind.HEADING:
        end -= 1
    return end


RIGHT_TO_LEFT, LEFT_TO_RIGHT = "\u200f", "\u200e"
"""Invisible marks that count as a letter of their direction."""
_RIGHT = (
    "[\u05be\u05c0\u05c3\u05c6\u05d0-\u05f4\u0608\u060b\u060d\u061b-\u064a\u066d-\u066f\u0671-\u06d5\u06e5\u06e6\u06ee"
    "\u06ef\u06fa-\u08c9\u200f\ufb1d-\ufdcf\ufdf0-\ufdff\ufe70-\ufefc]"
)
_STRONG = re.compile(rf"(?P<right>{_RIGHT})|[^\W\d_]|{LEFT_TO_RIGHT}")
RIGHT_LETTER = re.compile(_RIGHT)
_CODE = frozenset({RegionKind.FENCE, RegionKind.INDENTED, RegionKind.SPAN})
_CELL_EDGE = re.compile(r"(?<!\\)\|")
_ADDRESS = re.compile(r"https?://[^\s)\]|]+")


def runs_right_to_left(text: str) -> bool:
    """Return whether the first strong letter of a text is of a right-to-left script."""
    first = None if text.isascii() else _STRONG.search(text)
    return first is not None and first["right"] is not None


def directed(document: Document) -> Document:
    """Return a document whose right-to-left lines and cells begin with a letter or a mark of that direction.

    A line or cell is right-to-left if most of its letters are, or if at least one of its letters is and most letters of
    the whole text are. Code and addresses do not count.
    """
    text = document.text
    if text.isascii() or not RIGHT_LETTER.search(text):
        return document
    code = [region for region in document.regions if region.kind in _CODE]
    spaced = (" " * (end - start) if kind in _CODE else text[start:end] for kind, start, end in document.regions)
    words = _ADDRESS.sub(lambda match: " " * len(match[0]), "".join(spaced))
    right, others = _letters(words, 0, len(words))
    is_mostly_right = right > others
    edits: list[Edit] = []
    for start, end in _units(document):
        first = _STRONG.search(text, start, end)
        right, others = _letters(words, start, end)
        if first is None or first["right"] or not right or not (is_mostly_right or right > others):
            continue
        inside = bisect_right(code, first.start(), key=lambda region: region.start) - 1
        held = inside >= 0 and first.start() < code[inside].end
        place = max(edits[-1][0] if edits else 0, code[inside].start if held else first.start())
        edits.append((place, place, RIGHT_TO_LEFT))
    return document.replace(edits)


def _letters(words: str, start: int, end: int) -> tuple[int, int]:
    """Return the number of right-to-left letters between two places, and the number of other letters."""
    found = [match["right"] is not None for match in _STRONG.finditer(words, start, end)]
    return sum(found), len(found) - sum(found)


def _units(document: Document) -> Iterator[tuple[int, int]]:
    """Yield the stretches with a direction of their own: lines, and cells of tables."""
    lines = document.lines
    for block in document.blocks:
        if block.kind not in (BlockKind.PARAGRAPH, BlockKind.HEADING, BlockKind.TABLE):
            continue
        for line in range(block.start, min(block.text_end, len(lines) - 1)):
            start, end = lines[line], lines[line + 1]
            if block.kind is BlockKind.TABLE:
                for edge in _CELL_EDGE.finditer(document.text, start, end):
                    yield start, edge.start()
                    start = edge.end()
            yield start, end
