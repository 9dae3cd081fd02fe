"""A long answer as parts that Slack takes: parted before a heading where that is near, and never after one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from bot.blocks.defusing import defuse
from bot.blocks.direction import directed
from bot.blocks.escaping import break_mentions
from bot.blocks.marks import Addresses, release_links, release_numbers
from bot.blocks.segments import FLOWING, Form, Segment, segments
from bot.blocks.splitting import Splitter
from bot.blocks.tables import MOST_ROWS, tidy
from bot.blocks.weights import PART, PART_BLOCKS
from perplexity.formulas import readable
from perplexity.prose import Kind, regions


def pages(text: str, addresses: Addresses, *, room: int = PART) -> list[str]:
    """Return the Markdown of each part of a text with marks, ready for a `markdown` block each.

    LaTeX is made readable first. Parts weigh at most `room`, and Slack makes at most 36 blocks of each.
    """
    splitter = Splitter(room=room, addresses=addresses)
    whole = [small for segment in segments(directed(readable(text))) for small in _short_tables(segment, splitter)]
    pieces = [piece for segment in whole for piece in splitter.split(segment)]
    return [render(part, addresses) for part in _parts(pieces, splitter)]


def render(text: str, addresses: Addresses) -> str:
    """Return Markdown whose only links are those of its marks. Indented code is defused too: Slack may not know it."""
    rendered = []
    for region in regions(text):
        stretch = text[region.start : region.end]
        if region.kind in (Kind.FENCE, Kind.SPAN):
            rendered.append(release_numbers(break_mentions(stretch)))
        else:
            rendered.append(release_links(defuse(stretch), addresses))
    return "".join(rendered)


def rendered_blocks(markdown: str) -> int:
    """Return the most blocks that Slack makes of a part."""
    return _block_sums(segments(markdown))[-1]


def _block_sums(pieces: Sequence[Segment]) -> list[int]:
    """Return how many blocks the first n segments come to, for every n from 0."""
    # Neighbours that flow are one block; what is inside them parts them.
    flows = [False, *(piece.form in FLOWING for piece in pieces)]
    runs = (not (before and after) for before, after in pairwise(flows))
    return list(accumulate((run + 2 * piece.special for run, piece in zip(runs, pieces, strict=True)), initial=0))


def _short_tables(segment: Segment, splitter: Splitter) -> Iterator[Segment]:
    table = tidy(segment.text.split("\n")) if segment.form is Form.TABLE else None
    if table is None or not splitter.repeats_header(table):
        yield segment
        return
    for start in range(0, len(table.rows) or 1, MOST_ROWS):
        yield Segment(form=Form.TABLE, text=table.with_rows(table.rows[start : start + MOST_ROWS]).markdown)


def _parts(pieces: Sequence[Segment], splitter: Splitter) -> Iterator[str]:
    plan = _Plan.of(pieces, splitter)
    start = 0
    for end in range(1, len(pieces) + 1):
        while start < end - 1 and not plan.fits(start, end):
            cut = plan.best_end(start, end - 1)
            yield _joined(pieces[start:cut])
            start = cut
    if pieces:
        yield _joined(pieces[start:])


@dataclass(frozen=True, kw_only=True)
class _Plan:
    """What any run of segments costs, from sums: `weights` and `blocks` of the first n segments."""

    pieces: Sequence[Segment]
    weights: Sequence[int]
    blocks: Sequence[int]
    room: int

    @classmethod
    def of(cls, pieces: Sequence[Segment], splitter: Splitter) -> _Plan:
        weights = accumulate((splitter.weigh(piece) for piece in pieces), initial=0)
        return cls(pieces=pieces, weights=list(weights), blocks=_block_sums(pieces), room=splitter.room)

    def fits(self, start: int, end: int) -> bool:
        """Tell whether a run of segments fits one part; its first one may begin a block more than the sums know."""
        return self.weight(start, end) <= self.room and self.blocks[end] - self.blocks[start] < PART_BLOCKS

    def weight(self, start: int, end: int) -> int:
        """Return the weight of a run."""
        return self.weights[end] - self.weights[start]

    def best_end(self, start: int, end: int) -> int:
        """Return where to end a full part: before its last heading, unless that leaves less than a third."""
        headings = [i for i in range(start + 1, end) if self.pieces[i].form is Form.HEADING]
        if headings and self.weight(start, headings[-1]) >= self.room // 3:
            return headings[-1]
        while end > start + 1 and self.pieces[end - 1].form is Form.HEADING:
            end -= 1
        return end


def _joined(part: Sequence[Segment]) -> str:
    return "\n\n".join(segment.markdown for segment in part)
