"""A long answer as parts that Slack takes: parted before a heading where that is near, and never after one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bot.blocks.defusing import defuse
from bot.blocks.escaping import break_mentions
from bot.blocks.marks import Addresses, release_links, release_numbers
from bot.blocks.segments import FLOWING, Form, Segment, segments
from bot.blocks.splitting import Splitter
from bot.blocks.tables import MOST_ROWS, tidy
from bot.blocks.weights import PART, PART_BLOCKS
from perplexity.prose import Kind, regions


def pages(text: str, addresses: Addresses, *, room: int = PART) -> list[str]:
    """Return the Markdown of each part of a text with marks, ready for a `markdown` block each.

    Parts weigh at most `room` and come to at most 36 blocks once Slack has taken them apart.
    """
    splitter = Splitter(room=room, addresses=addresses)
    whole = [small for segment in segments(text) for small in _short_tables(segment)]
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


def _short_tables(segment: Segment) -> Iterator[Segment]:
    if segment.form is not Form.TABLE:
        yield segment
        return
    table = tidy(segment.text.split("\n"))
    for start in range(0, len(table.rows) or 1, MOST_ROWS):
        yield Segment(form=Form.TABLE, text=table.with_rows(table.rows[start : start + MOST_ROWS]).markdown)


def _parts(pieces: Sequence[Segment], splitter: Splitter) -> Iterator[str]:
    part: list[Segment] = []
    for piece in pieces:
        while part and not _fits([*part, piece], splitter):
            end = _end(part, splitter)
            yield _joined(part[:end])
            part = part[end:]
        part.append(piece)
    if part:
        yield _joined(part)


def _fits(part: Sequence[Segment], splitter: Splitter) -> bool:
    return sum(map(splitter.weigh, part)) <= splitter.room and _rendered_blocks(part) <= PART_BLOCKS


def _rendered_blocks(part: Sequence[Segment]) -> int:
    """Return how many blocks Slack makes of it: neighbours that flow are one, what is inside them parts them."""
    runs = sum(
        segment.form not in FLOWING or index == 0 or part[index - 1].form not in FLOWING
        for index, segment in enumerate(part)
    )
    return runs + sum(2 * segment.special for segment in part)


def _end(part: Sequence[Segment], splitter: Splitter) -> int:
    """Return where to end a full part: before its last heading, unless that leaves less than a third."""
    headings = [index for index, segment in enumerate(part) if segment.form is Form.HEADING and index > 0]
    if headings and sum(map(splitter.weigh, part[: headings[-1]])) >= splitter.room // 3:
        return headings[-1]
    end = len(part)
    while end > 1 and part[end - 1].form is Form.HEADING:
        end -= 1
    return end


def _joined(part: Sequence[Segment]) -> str:
    return "\n\n".join(segment.markdown for segment in part)
