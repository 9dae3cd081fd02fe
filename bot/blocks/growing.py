"""The text of an answer for display while the model writes it, in pieces that are never taken back.

A piece ends where the Markdown can be shown for good, because no later text changes its meaning (`find_final`). Open
constructs are held back: emphasis and brackets until they are closed or the line ends, inline code until its paragraph
ends, a row of a table and a line of a code block until the line ends, a formula until it ends. A paragraph is shown
clause by clause, although a line of dashes below it would make a heading of it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from bot.blocks.escaping import BOLD, WORD_JOINER, clean
from bot.blocks.markdown.blocks import MAX_MESSAGE, MOST_COLUMNS, insert_placeholders, rendered_size, within
from bot.blocks.markdown.render import RIGHT_LETTER, count_blocks, render_whole, runs_right_to_left
from bot.blocks.sources import link_url
from perplexity.citations import (
    BETWEEN,
    CitedText,
    Reference,
    index_sources,
    number_citations,
    references,
    unknown_links,
)
from perplexity.formulas import unfinished
from perplexity.markdown import DISPLAYED, Block, BlockKind, Document, RegionKind, parse
from perplexity.types import MAX_ANSWER_LENGTH, Answer, AnswerKind, Source, shorten_answer

_PIECE = 2_000
"""The number of characters that are read for one piece of the text. If no clause in them is final, more are read."""
_SHARE = 64
"""A text is read again once it has grown by 1/64, so that all readings together take time in proportion to the text."""
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

    All pieces that `take` returns, joined, are the text that `render_answer_text` returns for the finished answer,
    except for changes where `close_message` begins a new message. The two texts may differ if a service corrects the
    text at the end, or names a source after the text that cites it. They also differ if later text changes the meaning
    of a piece in a way that cannot be foreseen, such as a line of dashes that makes a heading of the sentences above
    it.

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
        """Replace the sources by all that are known so far."""
        self._sources = tuple(sources)

    def whole_clauses(self) -> str:
        """Return the model's text from its beginning up to the end of its last final clause.

        This takes as long as rendering the text.
        """
        text = _readable(self._written)[:_LONGEST]
        return text[: find_final(parse(text), self._sources, self._place)]

    def first_sentences(self) -> str:
        """Return the rendered text of the first 2,000 characters up to the end of their last final sentence.

        Return an empty string if no sentence is final, or if the rendered text is too long for a message.
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
        """End the current message, and return the text that closes code at its end; empty if no code is open there.

        The next piece begins another message: it opens the code again, or repeats the header of the message's last
        table if more rows of this table follow.
        """
        if not self._message:
            return ""
        self._seam, self._message = _seam(self._message), ""
        self.blocks = 0
        return self._seam.closing

    def _in_message(self, piece: str) -> str:
        """Add a piece to the current message; return it as added."""
        if not self._message and self._seam:
            piece = self._seam.begin(piece)
        self._message += piece
        self.blocks = count_blocks(self._message)
        return piece

    def finish(self, answer: Answer) -> TextEnding:
        """Set the finished answer, and return its `TextEnding`. If the shown text is correct, `take` returns the rest.

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


_MARKER = r"[\[【［][^\[\]【】［］\s]{1,20}[\]】］]"
_CLAUSE_END = re.compile(
    rf"(?P<sentence>[.!?…])(?:[\"'”’)\]*_~`]| ?{_MARKER})*(?=\s)"
    rf"|[,;:–—](?:[\"'”’)\]*_~`]| ?{_MARKER})*(?=\s)"
    r"|(?P<wide>[。！？；，、：])(?=[^\s\W_])"
    r"|(?P<line>(?=\n))"
    r"|(?P<word>(?<=\S)(?=[ \t]))"
)
"""Matches possible ends of clauses: punctuation with the signs after it, line ends and, for long clauses, word ends."""
_SENTENCE_END = re.compile(
    rf"(?P<sentence>[.!?…])(?:[\"'”’)\]*_~`]| ?{_MARKER})*(?=\s+[^\sa-z]|[ \t]*\n)"
    r"|(?P<wide>[。！？])(?=[^\s\W_])"
    r"|^[ \t>]*(?:[-+*•|]|\d{1,9}[.)])[ \t][^\n]*(?P<line>(?=\n))",
    re.MULTILINE,
)
"""Matches the end of a sentence, of a list's item or of a table's row.

Inside a line, a sign such as `.` ends a sentence only if a space and then a character other than `a` to `z` follow.
"""
_SHORT_CLAUSE = 16
"""The fewest characters of a clause that is shown before its sentence ends."""
_LONG_CLAUSE = 120
"""The number of characters after which a clause is shown word by word."""
_TRIES = 3
"""The most ends of clauses that are tried, the last one first, to find one that is not inside a formula."""
_SIGNS_OF_A_BLOCK = re.compile(r"[ \t>]*+(?:[-+*_=:|#~`> \t]*+|\d{1,9}+[.)]?[ \t]*+)(?:\[[ xX]?\]?)?")
_UNDERLINE = re.compile(r"[-=:| \t]*+")
"""Matches a line that may become the underline of a heading, or the row of dashes below the header of a table."""
_CLOSING_FENCE = re.compile(r"[ \t>]*+(`{3,}+|~{3,}+)[ \t]*+")
_FENCE = "```"
_LONE_OPENER = re.compile(r"^[ \t]*+(?:\$\$|\\\[)[ \t]*+\n[ \t]*+$", re.MULTILINE)
_SPACED_SO_FAR = re.compile(
    r"[ \t]*+(?:\$\$|\\\[)[ \t]*+\n(?:[ \t]*+\n)*+(?:[ \t]*+[^\s][^\n]*+\n)*+"
    r"(?:[^\n]*+|(?:[ \t]*+\n)++[ \t]*+[$\\]?[$\]]?)"
)
_BLANK_LINE = re.compile(r"\n(?:[ \t]*+\n)++")
_STOPS = re.compile(r"[ \t]*+[.,;:]?[ \t]*+")
_CELL_EDGE = re.compile(r"(?<!\\)\|")
_BRACKETS = re.compile(r"[!\\]?[\[【［]|[\]】］]")
_PARENTHESES = re.compile(r"[()]")
_ADDRESS = re.compile(r"[\]】］]\(")
_URL = re.compile(r"(?i:https?://|www\.)\S*")
_BOLD_BEGINS = re.compile(r"\*\*(?=[^\s*])")
_EMPHASIS = (
    (re.compile(r"(?<![\w*\\])\*(?![\s*])"), re.compile(r"(?<![\s*\\])\*(?!\*)")),
    (re.compile(r"(?<![\w\\])_(?!\s)"), re.compile(r"(?<![\s\\])_(?!\w)")),
    (re.compile(r"(?<![\\~])~~(?![\s~])"), re.compile(r"(?<![\s\\~])~~")),
)

Span = tuple[int, int]


def find_final(
    document: Document,
    sources: Sequence[Source],
    start: int,
    *,
    is_finished: bool = False,
    whole_sentences: bool = False,
) -> int:
    """Return the last end of a clause up to which a text is final; `start` if there is none after `start`.

    With `whole_sentences`, only ends of sentences count. `sources` are all sources known so far; a marker of another
    source, and the text after it, are not final. If the answer `is_finished`, no more sources come.
    """
    text = document.text
    line = text.rfind("\n") + 1
    limit = min(_blocks_end(document, line), unfinished(document), _spaced_formula(document), _code_begins(document))
    unfinished_line = _masked(document, line)
    limit = min(limit, line + min(_bracket_begins(unfinished_line), _emphasis_begins(unfinished_line)))
    found = references(document, index_sources(sources))
    limit = limit if is_finished else min(limit, _unknown_reference(document, found, sources))
    limit, spans = _before_references(text, found, limit)
    spans += [match.span() for match in _URL.finditer(text, start)]
    kept = _merged([*spans, *_stretches(document, RegionKind.SPAN, RegionKind.MATH)])
    code = _stretches(document, RegionKind.FENCE, RegionKind.INDENTED)
    tables = [_span(document, block) for block in document.blocks if block.kind is BlockKind.TABLE]
    has_right = RIGHT_LETTER.search(text, text.rfind("\n\n", 0, start) + 1) is not None
    tries = _TRIES
    ends = _SENTENCE_END if whole_sentences else _CLAUSE_END
    for match in reversed([*ends.finditer(text, start, min(limit + (3 if whole_sentences else 1), len(text)))]):
        place, ends_line = match.end(), match.lastgroup == "line"
        if not start < place <= limit or within(place, kept):
            continue
        if not ends_line and (within(place, code) or within(place, tables) or not _is_long_enough(text, start, match)):
            continue
        # The mark at the start of a right-to-left line depends on the whole line.
        if not ends_line and has_right and not runs_right_to_left(_line_until(text, place)):
            continue
        if ends_line and not within(place, code) and (blank := _BLANK_LINE.match(text, place)):
            place = blank.end()
        # A text that ends inside a formula would wrongly end the formula.
        if unfinished(parse(text[:place])) == place:
            return place
        tries -= 1
        if not tries:
            break
    return start


def _is_long_enough(text: str, start: int, match: re.Match[str]) -> bool:
    """Return whether the text before the end of a clause (`match`), inside a line, is long enough to be shown.

    The sign of a block, such as `1.` for an item of a list, is never enough.
    """
    place = match.end()
    line = text.rfind("\n", 0, place) + 1
    if _SIGNS_OF_A_BLOCK.fullmatch(text, line, place):
        return False
    length = place - max(start, line)
    if match.lastgroup == "word":
        return length >= _LONG_CLAUSE
    return match.lastgroup is not None or length >= _SHORT_CLAUSE


def _line_until(text: str, place: int) -> str:
    """Return the beginning of the line that contains a place: up to the place, at most `_LONG_CLAUSE` characters."""
    line = text.rfind("\n", 0, place) + 1
    return text[line : min(place, line + _LONG_CLAUSE)]


def _merged(spans: Iterable[Span]) -> list[Span]:
    """Return the stretches in order; stretches that overlap become one."""
    merged: list[Span] = []
    for start, end in sorted(spans):
        if merged and start < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _span(document: Document, block: Block) -> Span:
    lines = document.lines
    return lines[block.start], lines[min(block.end, len(lines) - 1)]


def _stretches(document: Document, *kinds: RegionKind) -> list[Span]:
    return [(region.start, region.end) for region in document.regions if region.kind in kinds]


def is_open_code(document: Document, block: Block | None) -> bool:
    """Return whether a document ends in code that the next line may continue: in a fence, or indented."""
    if block is None or block.kind not in (BlockKind.FENCE, BlockKind.INDENTED):
        return False
    return block.kind is BlockKind.INDENTED or not _is_closed_fence(document, block)


def last_block(document: Document) -> Block | None:
    """Return the last top-level block."""
    return next((block for block in reversed(document.blocks) if block.depth == 0), None)


def _is_closed_fence(document: Document, block: Block) -> bool:
    if block.end - block.start < 2:
        return False
    last = document.stretch(block.end - 1, block.end)
    closing = _CLOSING_FENCE.fullmatch(last)
    return closing is not None and closing[1].startswith(block.markup)


def _blocks_end(document: Document, line: int) -> int:
    """Return the end of the blocks whose kind no later text can change; `line` is the start of the unfinished line."""
    last, text = last_block(document), document.text
    if last is None:
        return 0
    start, end = _span(document, last)
    is_closed, above = "\n" in text[end:], max(line - 1, 0)
    found = len(text)
    match last.kind:
        case BlockKind.RULE | BlockKind.HEADING:
            found = end if text.endswith("\n", start, end) else start
        case BlockKind.FENCE:
            found = _fence_end(document, last, above)
        case BlockKind.INDENTED:
            found = above
        case BlockKind.TABLE:
            found = end if is_closed else _rows_end(document, last, line)
        case BlockKind.PARAGRAPH if is_closed:
            found = end
        case BlockKind.PARAGRAPH if _UNDERLINE.fullmatch(text, line):
            found = start
        case _ if "|" in text[line:] or _SIGNS_OF_A_BLOCK.fullmatch(text, line):
            found = above
    return found


def _fence_end(document: Document, block: Block, above: int) -> int:
    """Return the end of the code that can be shown; the last complete line of the text ends at `above`."""
    text, lines = document.text, document.lines
    start, end = _span(document, block)
    if _is_closed_fence(document, block) and text.endswith("\n", start, end):
        return end
    # Only a fence of three backticks is shown as it is; what replaces another fence depends on its contents.
    begin = lines[block.start + 1] if block.start + 1 < len(lines) else above
    return above if block.markup == _FENCE and text[begin:above].strip() else start


def _rows_end(document: Document, block: Block, line: int) -> int:
    """Return the end of the table's rows that can be shown; a table that is too wide for one block has none yet."""
    text, lines = document.text, document.lines
    rows = min(block.end, document.line_at(line)) - block.start
    header = len(_CELL_EDGE.findall(text, lines[block.start], lines[block.start + 1]))
    return max(line - 1, 0) if rows > 2 and header <= MOST_COLUMNS else lines[block.start]


def _spaced_formula(document: Document) -> int:
    """Return the start of a formula that may go on, or the end of the text if there is none.

    Empty lines may be between the signs of the formula and its content.
    """
    text = document.text
    if "$$" not in text and "\\[" not in text:
        return len(text)
    formulas = _stretches(document, RegionKind.MATH)
    inside = [(start - 1, end) for start, end in formulas]
    for match in _LONE_OPENER.finditer(text):
        sign = match.end() - len(match[0].lstrip())
        if not within(sign, inside) and _SPACED_SO_FAR.fullmatch(text, match.start()):
            return match.start()
    # Punctuation after a displayed formula becomes part of it if the line ends there.
    if formulas and text.startswith(DISPLAYED, formulas[-1][0]) and _STOPS.fullmatch(text, formulas[-1][1]):
        return formulas[-1][0]
    return len(text)


def _code_begins(document: Document) -> int:
    """Return the place of the first backtick whose partner may be in a later line of its paragraph, or else the end."""
    text, last = document.text, document.blocks[-1:]
    if "`" not in text or not last or last[0].kind not in (BlockKind.PARAGRAPH, BlockKind.HEADING):
        return len(text)
    begin, end = _span(document, last[0])
    if "\n" in text[end:]:
        return len(text)
    prose = (r for r in document.regions if r.kind is RegionKind.PROSE and r.end > begin)
    found = (text.find("`", max(begin, region.start), region.end) for region in prose)
    return next((place for place in found if place >= 0), len(text))


def _masked(document: Document, line: int) -> str:
    """Return the text from the place `line` on, with letters instead of the characters of code and formulas."""
    return "".join(
        document.text[max(line, region.start) : region.end]
        if region.kind is RegionKind.PROSE
        else "x" * (region.end - max(line, region.start))
        for region in document.regions
        if region.end > line
    )


def _bracket_begins(text: str) -> int:
    opened: list[int] = []
    last = 0
    for match in _BRACKETS.finditer(text):
        if match[0][-1] in "[【［":
            opened.append(match.start())
        elif opened:
            last = opened.pop()
            if not opened and _ADDRESS.match(text, match.start()) and not _closes(text, match.end()):
                return last
    return opened[0] if opened else len(text)


def _closes(text: str, place: int) -> bool:
    """Return whether the parenthesis at a place is closed."""
    depth = 0
    for sign in _PARENTHESES.finditer(text, place):
        depth += 1 if sign[0] == "(" else -1
        if depth == 0:
            return True
    return False


def _emphasis_begins(text: str) -> int:
    found = len(text)
    if "**" in text:
        text = BOLD.sub(lambda match: "x" * len(match[0]), text)
        bold = _BOLD_BEGINS.search(text)
        found = bold.start() if bold else found
    for begins, ends in _EMPHASIS:
        place = 0
        while opener := begins.search(text, place):
            closer = ends.search(text, opener.end())
            if closer is None:
                found = min(found, opener.start())
                break
            place = closer.end()
    return found


def _unknown_reference(document: Document, found: Sequence[Reference], sources: Sequence[Source]) -> int:
    """Return the start of the first marker without a known source; while no source is known, links count as markers."""
    places = [
        start
        for start, _, meaning in found
        if meaning.dangling or (meaning.moved and number_citations(meaning.text, sources).dangling)
    ]
    if not sources:
        places += [start for start, _, _ in unknown_links(document, index_sources(sources))]
    return min(places, default=len(document.text))


def _before_references(text: str, found: Sequence[Reference], limit: int) -> tuple[int, list[Span]]:
    """Return the end of the text whose references are final, and the stretches in which the text may not be cut.

    This end is `limit`, or the start of a reference before `limit` that later text may change. The stretches are the
    references, and the gaps between neighbouring references.
    """
    places = [(start, end) for start, end, _ in found if start < limit]
    for start, end in reversed(places):
        if end < limit and (not BETWEEN.fullmatch(text, end, limit) or text.startswith("\n", limit)):
            break
        if end > limit or any(sign in text[start:end] for sign in "(/."):
            limit = start
    together = [
        (start, after) for (start, end), (then, after) in pairwise(places) if BETWEEN.fullmatch(text, end, then)
    ]
    return limit, [*places, *together]
