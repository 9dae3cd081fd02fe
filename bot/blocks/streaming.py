"""The text of an answer for display while the model writes it, in pieces that are never taken back."""

from __future__ import annotations

import math
import re
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace

from bot.blocks.escaping import WORD_JOINER, clean
from bot.blocks.markdown.blocks import insert_placeholders
from bot.blocks.markdown.growing import find_final, is_open_code, last_block
from bot.blocks.markdown.render import NO_LETTERS, Letters, count_blocks, count_letters, render_whole
from bot.blocks.markdown.split import MAX_MESSAGE, rendered_size
from bot.blocks.sources import link_url
from perplexity.block_parser import BlockKind
from perplexity.citations import CitedText, number_citations
from perplexity.markdown import Document, RegionKind, parse
from perplexity.types import Answer, AnswerKind, Source
from perplexity.validation import MAX_ANSWER_LENGTH, shorten_answer

_PIECE = 2_000
"""The characters of the answer's text that are read for one piece, unless nothing in them is final."""
_SHARE = 8
"""A piece is at least this part of a long block, so that reading it takes time in proportion to its length."""
_LONGEST = MAX_ANSWER_LENGTH - 1_000
"""The number of characters of a text that are certainly shown, even if the text is shortened."""
_CLOSING = re.compile(r"\n[ >]*(`+)\Z")


@dataclass(frozen=True, kw_only=True)
class TextEnding:
    """The end of a text. Unless `is_correct`, the answer does not begin with the shown text, which must be replaced.

    `cited` are the text and its sources, as `number_citations` returns them.
    """

    is_correct: bool
    cited: CitedText


class StreamedText:
    """The text of an answer for display while it is written.

    All pieces and the rest, joined, equal `render_answer_text` of the finished answer. Exceptions are a service that
    corrects the text at the end, or names a source after the text that cites it, and unforeseeable text, such as a line
    of dashes that makes a heading of the sentences above it.

    `feed` and `add_sources` only store their arguments, and may be called while another thread is in one of the other
    methods; of these only one may run at a time. `length` is the number of characters written so far.
    """

    def __init__(self) -> None:
        self.length = 0
        self._blocks: int | None = 0
        self._fed: deque[str] = deque()
        self._read = 0
        self._known: tuple[Source, ...] = ()
        self._shown = self._message = ""
        self._seam: _Seam | None = None
        self._whole: str | None = None
        self._begin()

    def _begin(self) -> None:
        self._text = self._held = ""
        self._sources: tuple[Source, ...] = ()
        self._frozen = _Frozen()
        self._place = self._looked_at = 0
        self._awaits_source = False
        self._due: float = 0

    @property
    def size(self) -> int:
        """The number of characters that Slack counts in the current message."""
        return rendered_size(self._message)

    @property
    def blocks(self) -> int:
        """The most blocks that Slack makes of the current message. Counting them again takes as long as a `take`."""
        if self._blocks is None:
            self._blocks = count_blocks(self._message)
        return self._blocks

    @property
    def unread(self) -> int:
        """The most characters that are read for the next piece, and to count the blocks after it."""
        return self.length - self._frozen.place + len(self._message) if self._is_due() else 0

    def _is_due(self) -> bool:
        """Return whether there may be a next piece."""
        if self._whole is not None or self._sources != self._known:
            return True
        return self.length >= self._due and not self._awaits_source

    @property
    def taken(self) -> str:
        """The part of the model's text behind everything that `take` or `first_sentences` has returned."""
        return self._text[: self._place]

    @property
    def is_complete(self) -> bool:
        """Whether the text is finished, and `take` has returned all of it."""
        return self._shown == self._whole

    def feed(self, text: str) -> None:
        """Add the next characters that the model wrote."""
        self.length += len(text)
        self._fed.append(text)

    def add_sources(self, sources: Sequence[Source]) -> None:
        """Set all sources known so far."""
        self._known = tuple(sources)

    def _take_notice(self) -> None:
        """Process the stored text and sources."""
        if fed := [self._fed.popleft() for _ in range(len(self._fed))]:
            text = "".join(fed)
            self._read += len(text)
            text = self._held + text
            # A line feed may follow, and make one line end with this character.
            self._held = "\r" if text.endswith("\r") else ""
            self._text += clean(text.removesuffix(self._held))
        sources = self._known
        if self._sources != sources:
            self._sources = sources
            known = {source.number: source for source in reversed(sources)}
            cited = tuple([known.get(source.number, source) for source in self._frozen.cited])
            self._frozen = replace(self._frozen, cited=cited)
            self._looked_at, self._awaits_source = 0, False

    def whole_clauses(self) -> str:
        """Return the model's text up to the end of its last final clause, including all returned text.

        This takes as long as rendering the text.
        """
        self._take_notice()
        text, start = self._text[self._frozen.place : _LONGEST], self._place - self._frozen.place
        return self._text[: self._frozen.place + find_final(parse(text), self._sources, start).end]

    def first_sentences(self) -> str:
        """Return the rendered text of the first 2,000 characters up to the end of their last final sentence.

        Empty if there is none, or if the text is too long for a message.
        """
        self._take_notice()
        text = self._text[:_PIECE]
        end = find_final(parse(text), self._sources, 0, whole_sentences=True).end
        shown = self._rendered(text[:end], _Frozen())[0]
        if rendered_size(shown) > MAX_MESSAGE:
            return ""
        self._place = end
        return shown

    def take(self) -> str:
        """Return the next piece, some clauses, or an empty string if nothing more is final.

        A piece renders about 2,000 characters of the text, or more if less is not final; call this until there is no
        piece. After `finish`, the pieces are those of the rest.
        """
        if not self._is_due():
            return ""
        self._take_notice()
        end = min(len(self._text), _LONGEST)
        piece = self._next_piece(end)
        if not piece and self._whole is not None:
            self._place = len(self._text)
            piece, self._shown = self._whole[len(self._shown) :], self._whole
        self._due = self._next_due(end, was_final=bool(piece))
        return self._in_message(piece) if piece else ""

    def _next_piece(self, end: int) -> str:
        length = max(_PIECE, (self._place - self._frozen.place) // _SHARE, 2 * self._looked_at)
        self._looked_at = 0
        while self._place < end and not self._awaits_source:
            visible = min(self._place + length, end)
            if piece := self._take(self._text[self._frozen.place : visible]):
                return piece
            self._looked_at = visible - self._place
            if visible == end:
                break
            length *= 2
        return ""

    def _next_due(self, end: int, *, was_final: bool) -> float:
        """Return the length from which on there may be another piece.

        A long block is read as a whole for each piece, and text that is not final is read again, so the pieces grow
        with both.
        """
        if end == _LONGEST and not (was_final and self._place < end):
            return math.inf
        least = max(self._place - self._frozen.place, self._looked_at) // _SHARE
        least = least if least > _PIECE // _SHARE else 0
        return self._read - (end - self._place) + least if was_final else self._read + max(least, 1)

    def _take(self, text: str) -> str:
        start = self._place - self._frozen.place
        final = find_final(parse(text), self._sources, start, is_finished=self._whole is not None)
        self._awaits_source = final.awaits_source
        if final.end <= start:
            return ""
        text = text[: final.end]
        rendered, _ = self._rendered(text, self._frozen)
        self._place = self._frozen.place + final.end
        self._frozen = self._freeze(text, rendered)
        known = self._whole is None or self._whole.startswith(rendered)
        if not (known and rendered.startswith(self._shown)):
            return ""
        piece = rendered[len(self._shown) :]
        self._shown = rendered
        return piece

    def _rendered(self, text: str, above: _Frozen) -> tuple[str, tuple[Source, ...]]:
        """Return the rendering of a text below another one, and the sources that both refer to."""
        cited = number_citations(text, self._sources, first=above.cited)
        addresses = [link_url(source) for source in cited.sources]
        shown = render_whole(insert_placeholders(cited), addresses, above=above.letters).rstrip()
        document = parse(text)
        if shown and is_open_code(document, last_block(document)):
            shown = _CLOSING.sub("", shown).rstrip()
        return above.joint.join(filter(None, (above.text, shown))), cited.sources

    def _freeze(self, text: str, rendered: str) -> _Frozen:
        """Return the part of a text that later text does not affect, so that it need not be read again."""
        above, document = self._frozen, parse(text)
        start, in_list = _last_part(document)
        if not start:
            return above
        became, cited = self._rendered(text[:start], above)
        letters = count_letters(parse(text[:start]), above.letters)
        joint = text[len(text[:start].rstrip()) : start] if in_list else "\n\n"
        frozen = _Frozen(place=above.place + start, text=became, joint=joint, cited=cited, letters=letters)
        return frozen if self._rendered(text[start:], frozen)[0] == rendered else above

    def close_message(self) -> str:
        """Return the text that closes the code at the end of the current message, before the next piece begins another.

        That piece opens the code again, or repeats the header of the table whose rows follow.
        """
        if not self._message:
            return ""
        self._seam, self._message = _seam(self._message), ""
        self._blocks = 0
        return self._seam.closing

    def _in_message(self, piece: str) -> str:
        """Return a piece in the form that the current message needs."""
        if not self._message and self._seam:
            piece = self._seam.begin(piece)
        self._message += piece
        self._blocks = None
        return piece

    def finish(self, answer: Answer) -> TextEnding:
        """Return the end of the finished answer's text; if it is correct, `take` returns the rest.

        This takes as long as rendering the answer.
        """
        whole, cited = render_answer_text(answer)
        is_correct = whole.startswith(self._shown)
        text = clean(shorten_answer(answer).text)
        self._take_notice()
        if not text.startswith(self._text):
            self._begin()
        self.add_sources(answer.sources)
        self._take_notice()
        self._text, self._held, self._looked_at, self._awaits_source = text, "", 0, False
        self.length = len(text)
        self._whole = whole if is_correct else self._shown
        return TextEnding(is_correct=is_correct, cited=cited)


@dataclass(frozen=True, kw_only=True)
class _Frozen:
    """The beginning of a text that is not read again, up to `place`.

    `text` is its rendering, and `joint` joins this to the following text; `cited` are its sources in the order of their
    numbers.
    """

    place: int = 0
    text: str = ""
    joint: str = ""
    cited: tuple[Source, ...] = ()
    letters: Letters = NO_LETTERS


def _last_part(document: Document) -> tuple[int, bool]:
    """Return the start of the last block of a text, or of the last item of its list, and whether it is an item.

    The place is 0 if the text cannot be read from there alone.
    """
    last = last_block(document)
    if last is None:
        return 0, False
    items = [block for block in document.blocks if block.kind is BlockKind.ITEM and block.depth == 1]
    in_list = last.kind is BlockKind.LIST and items[-1].start > last.start
    start = document.lines[items[-1].start if in_list else last.start]
    is_apart = in_list or document.text.endswith("\n\n", 0, start)
    formulas = (region for region in document.regions if region.kind is RegionKind.MATH)
    return (0 if not is_apart or any(one.start < start < one.end for one in formulas) else start), in_list


def render_answer_text(answer: Answer) -> tuple[str, CitedText]:
    """Return an answer's text as Slack's Markdown, of any length, and the same with its markers.

    `answer_messages` shows this text if it does not split the answer. Passages have no text, since they are blocks.
    """
    answer = shorten_answer(answer)
    is_text = answer.kind is not AnswerKind.PASSAGES or not answer.passages
    cited = number_citations(clean(answer.text) if is_text else "", answer.sources)
    return render_whole(insert_placeholders(cited), [link_url(source) for source in cited.sources]), cited


@dataclass(frozen=True, kw_only=True)
class _Seam:
    """The text between two messages: `closing` ends the first, `opening` begins the second if its text continues.

    `in_paragraph` is whether the first ends in a paragraph.
    """

    closing: str = ""
    opening: str = ""
    in_paragraph: bool = False

    def begin(self, piece: str) -> str:
        """Return a piece of the text as the beginning of a message."""
        if piece.startswith("\n\n") and not self.closing:
            return piece.lstrip("\n")
        if self.opening:
            piece = piece.removeprefix("\n")
            closing = self.closing.removeprefix("\n")
            if not closing:
                return self.opening + piece
            ended = closing and (piece == closing or piece.startswith(f"{closing}\n"))
            return piece.removeprefix(closing).lstrip("\n") if ended else self.opening + piece
        in_line = self.in_paragraph or not piece.startswith("\n")
        piece = piece.lstrip()
        begun = parse(piece).blocks
        return f"{WORD_JOINER}{piece}" if in_line and begun and begun[0].kind is not BlockKind.PARAGRAPH else piece


def _seam(message: str) -> _Seam:
    """Return the seam between a full message and the next."""
    document = parse(message)
    if not document.blocks:
        return _Seam()
    last = document.blocks[-1]
    line = document.stretch(last.start, last.start + 1)
    if last.kind is BlockKind.TABLE:
        return _Seam(opening=document.stretch(last.start, last.start + 2) + "\n")
    if last.kind is BlockKind.FENCE and is_open_code(document, last):
        before = line[: line.find(last.markup)]
        inner = re.sub(r"[^\s>]", " ", before)
        # Indented lines must be inside an item, so that the line that ends the code is, too.
        item = before if before.strip() else f"{'-':<{len(before)}}" if len(before) > 1 else before
        return _Seam(closing=f"\n{inner}{last.markup}", opening=f"{item}{last.markup}{last.info}\n")
    return _Seam(in_paragraph=document.blocks[-1].depth == 0 and last.kind is BlockKind.PARAGRAPH)
