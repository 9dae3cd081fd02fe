"""Prose from outside for a `markdown` block, which makes links and images of more than its author can see.

Whatever CommonMark, GitHub's extensions or a linkifier would turn into a link is broken with an invisible joiner: it
stays on the screen, letter by letter, and leads nowhere. Our own links are put in afterwards (`marks.py`).
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from bot.blocks.escaping import WORD_JOINER, break_mentions
from bot.blocks.markdown.blocks import FLOWING, MOST_ROWS, Form, Segment, segments, tidy
from bot.blocks.markdown.direction import directed
from bot.blocks.markdown.placeholders import Addresses, release_links, release_numbers
from bot.blocks.markdown.split import PART, PART_BLOCKS, Splitter
from perplexity.formulas import readable
from perplexity.markdown import Kind, regions

_SIGNS = re.compile(
    r"<(?=[^\s\u2060])"  # HTML, autolinks, Slack's own tokens
    r"|\](?=[(:])"  # links, images, definitions
    r"|[:/](?=/)"  # addresses, with or without a scheme
    r"|\b(?:mailto|xmpp|tel|sms|skype|slack|javascript|data|file):(?=[^\s\u2060])",
    re.IGNORECASE,
)
# A linkifier takes the joiner for a letter when it stands before the dot, GitHub's parser when it stands after it.
_HOST_DOT = re.compile(r"(?<=\S)(\\?)\.(?=[^\W\d_])")
_ENTITY = re.compile(r"&(?=(#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});)")
_OF_ADDRESSES = frozenset(".:/@")
# Emphasis that begins or ends with punctuation beside a letter is none (https://spec.commonmark.org/0.31.2/#left-flanking-delimiter-run);
# between words without spaces, as in Chinese and Japanese, it is meant all the same.
_BOLD = re.compile(r"(?<!\*)\*\*(?![*\s])([^*\n]+)(?<![*\s])\*\*(?!\*)")


def defuse(prose: str) -> str:
    """Break every link, image, HTML tag and mention in a stretch of Markdown outside code. Idempotent."""
    prose = _ENTITY.sub(_broken_entity, prose)
    prose = _SIGNS.sub(rf"\g<0>{WORD_JOINER}", prose)
    prose = _HOST_DOT.sub(_broken_dot, prose)
    return break_mentions(_BOLD.sub(_freed_bold, prose))


def _broken_entity(match: re.Match[str]) -> str:
    return f"&{WORD_JOINER}" if html.unescape(f"&{match[1]};") in _OF_ADDRESSES else "&"


def _broken_dot(match: re.Match[str]) -> str:
    return f"\\.{WORD_JOINER}" if match[1] else f"{WORD_JOINER}.{WORD_JOINER}"


def _freed_bold(match: re.Match[str]) -> str:
    text = match[1]
    start = WORD_JOINER if not text[0].isalnum() and _is_word(match.string, match.start() - 1) else ""
    end = WORD_JOINER if not text[-1].isalnum() and _is_word(match.string, match.end()) else ""
    return f"**{start}{text}{end}**"


def _is_word(text: str, place: int) -> bool:
    return 0 <= place < len(text) and text[place].isalnum()


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
