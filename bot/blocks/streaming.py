"""The text of an answer for display while the model writes it, in pieces that are never taken back."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from bot.blocks.escaping import WORD_JOINER, clean
from bot.blocks.markdown.blocks import insert_placeholders
from bot.blocks.markdown.growing import find_final, is_open_code, last_block
from bot.blocks.markdown.render import count_blocks, render_whole
from bot.blocks.markdown.split import MAX_MESSAGE, rendered_size
from bot.blocks.sources import link_url
from perplexity.citations import CitedText, number_citations
from perplexity.markdown import BlockKind, parse
from perplexity.types import MAX_ANSWER_LENGTH, Answer, AnswerKind, Source, shorten_answer

_PIECE = 2_000
"""The number of characters that are read for one piece of the text. If no clause in them is final, more are read."""
_SHARE = 64
"""A text is read again once it has grown by 1/64, so that all readings take time in proportion to the length."""
_LONGEST = MAX_ANSWER_LENGTH - 1_000
"""The number of characters of a text that are certainly shown, even if the text is shortened."""
_CLOSING = re.compile(r"\n[ >]*(`+)\Z")


@dataclass(frozen=True, kw_only=True)
class TextEnding:
    """The result of `StreamedText.finish`.

    If `is_correct` is False, the finished answer does not begin with the shown text, which must be replaced. `cited` is
    the answer's text with its sources, as `number_citations` returns them.
    """

    is_correct: bool
    cited: CitedText


class StreamedText:
    """The text of an answer for display while it is written.

    All pieces and the rest, joined, equal `render_answer_text` of the finished answer. They may differ if a service
    corrects the text at the end, or names a source after the text that cites it. They also differ after text that
    nobody can foresee, such as a line of dashes that makes a heading of the sentences above it.

    `feed` and `add_sources` only store their arguments, and may be called while another thread is in one of the other
    methods. Only one of those other methods may run at a time. `blocks` is the most blocks that Slack makes of the
    current message. `taken` is the part of the model's text that `take` and `first_sentences` have returned rendered.
    """

    def __init__(self) -> None:
        self.blocks = 0
        self.taken = self._written = self._shown = self._message = ""
        self._sources: tuple[Source, ...] = ()
        self._known: tuple[Source, ...] = ()
        self._place = 0
        self._due: float = 0
        self._seam: _Seam | None = None
        self._whole: str | None = None

    @property
    def length(self) -> int:
        """The number of characters written so far."""
        return len(self._written)

    @property
    def size(self) -> int:
        """The number of characters that Slack counts in the current message."""
        return rendered_size(self._message)

    @property
    def is_due(self) -> bool:
        """Whether there may be a next piece."""
        return self._whole is not None or self._sources != self._known or self.length >= self._due

    @property
    def is_complete(self) -> bool:
        """Whether the text is finished, and `take` has returned all of it."""
        return self._shown == self._whole

    def feed(self, text: str) -> None:
        """Add the next characters that the model wrote."""
        self._written += text

    def add_sources(self, sources: Sequence[Source]) -> None:
        """Set all sources known so far."""
        self._sources = tuple(sources)

    def whole_clauses(self) -> str:
        """Return the model's text from its beginning up to the end of its last final clause.

        This takes as long as rendering the text.
        """
        text = _readable(self._written)[:_LONGEST]
        return text[: find_final(parse(text), self._sources, self._place)]

    def first_sentences(self) -> str:
        """Return the rendered text of the first 2,000 characters up to the end of their last final sentence.

        Empty if there is none, or if the text is too long for a message.
        """
        text, sources = _readable(self._written)[:_PIECE], self._sources
        end = find_final(parse(text), sources, 0, whole_sentences=True)
        shown = _render(text[:end], sources)
        if rendered_size(shown) > MAX_MESSAGE:
            return ""
        self._place, self.taken = end, text[:end]
        return shown

    def take(self) -> str:
        """Return the next piece, which is some clauses, or an empty string if no more text is final.

        A piece renders about 2,000 characters of the text, or more if no clause in them is final; call this until it
        returns an empty string. After `finish`, the pieces are the rest of the answer.
        """
        written, sources, whole = self._written, self._sources, self._whole
        if not self.is_due:
            return ""
        self._known, text = sources, _readable(written)
        piece = self._next_piece(text[:_LONGEST], sources)
        if not piece and whole is not None:
            self._place, piece = len(text), whole[len(self._shown) :]
        self.taken, unread = text[: self._place], len(text) - self._place
        more = len(written) // _SHARE + 1
        if piece:
            self._due = len(written) - unread + more
        else:
            self._due = math.inf if len(text) > _LONGEST else len(written) + max(more, (unread - _PIECE) // 8)
        self._shown += piece
        return self._in_message(piece) if piece else ""

    def _next_piece(self, text: str, sources: Sequence[Source]) -> str:
        length = _PIECE
        while self._place < len(text):
            visible = text[: self._place + length]
            end = find_final(parse(visible), sources, self._place, is_finished=self._whole is not None)
            if end > self._place:
                self._place, rendered = end, _render(visible[:end], sources)
                is_known = self._whole is None or self._whole.startswith(rendered)
                if is_known and rendered.startswith(self._shown) and rendered != self._shown:
                    return rendered.removeprefix(self._shown)
            if len(visible) == len(text):
                break
            length *= 2
        return ""

    def close_message(self) -> str:
        """End the current message, and return the text that closes the code at its end; empty if it ends in no code.

        The next piece begins another message: it opens the code again, or repeats the header of the message's last
        table if more rows of this table follow.
        """
        if not self._message:
            return ""
        self._seam, self._message = _seam(self._message), ""
        self.blocks = 0
        return self._seam.closing

    def _in_message(self, piece: str) -> str:
        """Return a piece in the form that the current message needs."""
        if not self._message and self._seam:
            piece = self._seam.begin(piece)
        self._message += piece
        self.blocks = count_blocks(self._message)
        return piece

    def finish(self, answer: Answer) -> TextEnding:
        """Set the finished answer, and return whether the shown text is correct; if so, `take` returns the rest.

        This takes as long as rendering the answer.
        """
        whole, cited = render_answer_text(answer)
        is_correct = whole.startswith(self._shown)
        text = clean(shorten_answer(answer).text)
        if not text.startswith(_readable(self._written)):
            self._place = 0
        self.add_sources(answer.sources)
        self._written = text
        self._whole = whole if is_correct else self._shown
        return TextEnding(is_correct=is_correct, cited=cited)


def _readable(written: str) -> str:
    """Return the clean text, without a carriage return at its end: a line feed may follow and belong to it."""
    return clean(written.removesuffix("\r"))


def _render(text: str, sources: Sequence[Source]) -> str:
    """Render the beginning of a text; code that may still go on is left without its closing line."""
    cited, document = number_citations(text, sources), parse(text)
    shown = render_whole(insert_placeholders(cited), [link_url(source) for source in cited.sources]).rstrip()
    return _CLOSING.sub("", shown).rstrip() if is_open_code(document, last_block(document)) else shown


def render_answer_text(answer: Answer) -> tuple[str, CitedText]:
    """Return an answer's text as Slack's Markdown, of any length, and its citations as `number_citations` returns them.

    `answer_messages` shows this text if it does not split the answer. The text of an answer that consists of passages
    is empty, since passages are blocks.
    """
    answer = shorten_answer(answer)
    is_text = answer.kind is not AnswerKind.PASSAGES or not answer.passages
    cited = number_citations(clean(answer.text) if is_text else "", answer.sources)
    return render_whole(insert_placeholders(cited), [link_url(source) for source in cited.sources]), cited


@dataclass(frozen=True, kw_only=True)
class _Seam:
    """The text between two messages: `closing` ends the first one, and `opening` begins the second one.

    `opening` is needed only if a table or code continues in the second message. `in_paragraph` is whether the first
    message ends in a paragraph.
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
        # An indented fence is continued in a list item, because elsewhere its indented last line might not close it.
        item = before if before.strip() else f"{'-':<{len(before)}}" if len(before) > 1 else before
        return _Seam(closing=f"\n{inner}{last.markup}", opening=f"{item}{last.markup}{last.info}\n")
    return _Seam(in_paragraph=document.blocks[-1].depth == 0 and last.kind is BlockKind.PARAGRAPH)
