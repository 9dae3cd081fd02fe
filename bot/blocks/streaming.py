"""The text of an answer as it may be shown while the model writes it, in pieces that are never taken back."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from bot.blocks.escaping import WORD_JOINER, clean
from bot.blocks.markdown.blocks import insert_placeholders
from bot.blocks.markdown.growing import final_end, is_open_code, last_block
from bot.blocks.markdown.render import RIGHT_LETTER, count_blocks, render_whole
from bot.blocks.markdown.split import rendered_size
from bot.blocks.sources import link_url
from perplexity.block_parser import BlockKind
from perplexity.citations import CitedText, number_citations
from perplexity.markdown import RegionKind, parse
from perplexity.types import Answer, AnswerKind, Source
from perplexity.validation import MAX_ANSWER_LENGTH, shorten_answer

_PIECE = 2_000
"""Characters of the answer's text that are looked at for one piece, unless nothing in them is final."""
_CLOSING = re.compile(r"\n[ >]*(`+)\Z")


@dataclass(frozen=True, kw_only=True)
class Ending:
    """How a text ends: `rest` is what was not shown yet.

    If not `is_correct`, the answer does not begin with what was shown: `rest` is empty, and the messages must be
    replaced.
    `cited` are the text and its sources, as `number_citations` returns them.
    """

    rest: str
    is_correct: bool
    cited: CitedText


class StreamedText:
    """The text of an answer as it may be shown while it is written.

    All pieces and the rest, joined, are what `render_answer_text` returns for the finished answer, unless its service
    corrected the text at the end, named a source after the text that cites it, or wrote what no one could foresee, such
    as a line of dashes that makes a heading of the sentences above it.
    """

    def __init__(self) -> None:
        self._sources: tuple[Source, ...] = ()
        self._shown = ""
        self._message = ""
        self._seam: _Seam | None = None
        self._begin()

    def _begin(self) -> None:
        self._text = self._held = ""
        self._place = self._frozen = 0
        # What the text before `_frozen` became, and the sources that it refers to, in the order of their numbers.
        self._above = ""
        self._cited: tuple[Source, ...] = ()

    @property
    def size(self) -> int:
        """The characters that Slack counts of the present message."""
        return rendered_size(self._message)

    @property
    def blocks(self) -> int:
        """The most blocks that Slack makes of the present message."""
        return count_blocks(self._message)

    def feed(self, text: str) -> None:
        """Add the next characters that the model wrote."""
        text = self._held + text
        # A line feed may follow, which makes one line end of both.
        self._held = "\r" if text.endswith("\r") else ""
        self._text += clean(text.removesuffix(self._held))

    def add_sources(self, sources: Sequence[Source]) -> None:
        """Take all sources that are known so far."""
        self._sources = tuple(sources)
        known = {source.number: source for source in reversed(self._sources)}
        self._cited = tuple([known.get(source.number, source) for source in self._cited])

    def restart(self) -> None:
        """Begin again with the text of another provider; what was shown stays, and is compared with the new text."""
        self._sources = ()
        self._begin()

    def take(self) -> str:
        """Return the next piece, some clauses, or an empty string if nothing more is final.

        A piece is as long as some 2,000 characters of the text can become; there may be another one.
        """
        length = _PIECE
        end = min(len(self._text), MAX_ANSWER_LENGTH)
        while self._place < end:
            visible = min(self._place + length, end)
            if piece := self._take(self._text[self._frozen : visible]):
                return self._in_message(piece)
            if visible == end:
                break
            length *= 2
        return ""

    def _take(self, text: str) -> str:
        start = self._place - self._frozen
        end = final_end(parse(text), self._sources, start)
        if end <= start:
            return ""
        rendered, _ = self._rendered(text[:end])
        self._freeze(text[:end], rendered)
        self._place += end - start
        if not rendered.startswith(self._shown):
            return ""
        piece = rendered[len(self._shown) :]
        self._shown = rendered
        return piece

    def _rendered(self, text: str) -> tuple[str, tuple[Source, ...]]:
        """Return what a text below the frozen one becomes, and the sources that both refer to."""
        cited = number_citations(text, self._sources, first=self._cited)
        shown = render_whole(insert_placeholders(cited), [link_url(source) for source in cited.sources]).rstrip()
        document = parse(text)
        if shown and is_open_code(document, last_block(document)):
            shown = _CLOSING.sub("", shown)
        return "\n\n".join(filter(None, (self._above, shown))), cited.sources

    def _freeze(self, text: str, rendered: str) -> None:
        """Leave out the complete blocks of a text from now on if those below do not depend on them."""
        document = parse(text)
        starts = [document.lines[block.start] for block in document.blocks if block.depth == 0]
        formulas = [region for region in document.regions if region.kind is RegionKind.MATH]
        start = starts[-1] if starts else 0
        if not start or not text.endswith("\n\n", 0, start) or text[start : start + 1] in "[【［\\":
            return
        if RIGHT_LETTER.search(text) or any(region.start < start < region.end for region in formulas):
            return
        above, cited = self._rendered(text[:start])
        before = self._above, self._cited
        self._above, self._cited = above, cited
        if self._rendered(text[start:])[0] == rendered:
            self._frozen += start
        else:
            self._above, self._cited = before

    def close_message(self) -> str:
        """Return what closes the code that the present message ends in; the next piece begins another message.

        That piece opens the code again, or repeats the header of the table whose rows follow.
        """
        self._seam = _seam(self._message)
        self._message = ""
        return self._seam.closing

    def _in_message(self, piece: str) -> str:
        """Return a piece as the present message needs it."""
        if not self._message and self._seam:
            piece = self._seam.begin(piece)
        self._message += piece
        return piece

    def finish(self, answer: Answer) -> Ending:
        """Return what is left of the finished answer; `take` returns nothing more.

        This takes as long as rendering the answer does.
        """
        rendered, cited = render_answer_text(answer)
        self._place = len(self._text)
        if not rendered.startswith(self._shown):
            return Ending(rest="", is_correct=False, cited=cited)
        rest = rendered[len(self._shown) :]
        self._shown = rendered
        return Ending(rest=self._in_message(rest) if rest else "", is_correct=True, cited=cited)


def render_answer_text(answer: Answer) -> tuple[str, CitedText]:
    """Return an answer's text as Slack's Markdown, whatever its length, and the same with its markers.

    It is what `answer_messages` shows of an answer that is not split; passages, which are blocks, have no text.
    """
    answer = shorten_answer(answer)
    is_text = answer.kind is not AnswerKind.PASSAGES or not answer.passages
    cited = number_citations(clean(answer.text) if is_text else "", answer.sources)
    return render_whole(insert_placeholders(cited), [link_url(source) for source in cited.sources]), cited


@dataclass(frozen=True, kw_only=True)
class _Seam:
    """What is between two messages: `closing` ends the first, `opening` begins the second if its text goes on with it.

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
    """Return what is between a message that is full and the next."""
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
        # Lines that are indented must be inside an item, so that the line that ends the code does.
        item = before if before.strip() else f"{'-':<{len(before)}}" if len(before) > 1 else before
        return _Seam(closing=f"\n{inner}{last.markup}", opening=f"{item}{last.markup}{last.info}\n")
    return _Seam(in_paragraph=document.blocks[-1].depth == 0 and last.kind is BlockKind.PARAGRAPH)
