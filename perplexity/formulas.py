r"""Rewrites the LaTeX of a Markdown text so that a reader without LaTeX loses nothing.

Markdown shows `\(x\,y\)` as `(x,y)`: a backslash before punctuation disappears. No function here does I/O.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

from perplexity.latex import unicode_text
from perplexity.markdown import (
    DISPLAYED,
    OPENER,
    BlockKind,
    Document,
    Edit,
    Region,
    RegionKind,
    looks_like_maths,
    parse,
)

_JOINER = "\u2060"
_LINE_END = re.compile(r"\r\n?|\n")
_BLANK_LINE = re.compile(r"(?:\r\n?|\n)[ \t]*(?=\r|\n)")
_PREFIX = re.compile(r"[ \t>]*")
_CLOSERS = {r"\(": r"\)", r"\[": r"\]", "$$": "$$", r"\begin": r"\end"}
_DEEPEST = 40
"""The most characters that may precede a paragraph's text in a line, as in deep lists and quotations.

After a longer prefix, a formula does not become a code block.
"""
_BACKTICKS = re.compile("`+")
# Noncharacters mark places that a renderer fills in.
_HELD = re.compile(r"[\ufdd0-\ufdef]")
# Hebrew and Arabic letters. Beside them, digits and signs are displayed in another order unless a letter or
# `_LEFT_TO_RIGHT_MARK` comes first.
_RIGHT_TO_LEFT = re.compile(
    r"[\u05d0-\u05f4\u061b-\u064a\u066e-\u06d5\u06fa-\u08c9\ufb1d-\ufdcf\ufdf0-\ufdff\ufe70-\ufefc]"
)
_LEFT_TO_RIGHT_MARK = "\u200e"
_THOUSANDS = re.compile(r"(?<=\d)\\,(?=\d)")
_ESCAPE = re.compile(r"\\(?=[!-/:-@\[-`{-~])")
_STOP = re.compile(r"[ \t]*+([.,;:]?)[ \t]*+(?=[\r\n]|\Z)")
_BEGUN = re.compile(r"\\(?:b(?:e(?:g(?:in?(?:\{[A-Za-z]{0,20}\*?)?)?)?)?)?\Z")
_NUMBER_BEHIND = re.compile(r"\[(?=\s?(?:\d|web:))")
_LINK_BEHIND = re.compile(r"\](?=[(\[:])")
_TAG = re.compile(r" ?<(?=[A-Za-z/!?])")


def readable(document: Document) -> Document:
    """Return a document with each formula as exact Unicode text or, if there is none, as code with every character.

    A formula inside a line becomes text or inline code, a displayed one a code block. In a heading or a table, where no
    block can be, a displayed formula is treated as one inside a line. The signs around a formula, such as `$`, are
    removed. Prices and code do not change.
    """
    if "$" not in document.text and "\\" not in document.text:
        return document
    # After the sign that opens an unfinished formula, backslashes are doubled, because Markdown would remove single
    # ones. A lone `$` does not count as such a sign.
    begun = unfinished(document)
    cut = begun if document.text.startswith(tuple(_CLOSERS), begun) else None
    whole = parse(document.text[:cut])
    written = whole.replace(list(_Writer(whole).edits()))
    return written if cut is None else parse(written.text + _ESCAPE.sub(r"\\\\", document.text[cut:]))


def unfinished(document: Document) -> int:
    """Return the start of the unclosed formula at the end of a growing text; the text's length if there is none."""
    text, found = document.text, document.regions
    if not found or found[-1].kind is not RegionKind.PROSE:
        return len(text)
    start = found[-1].start
    last_line = max(text.rfind("\n", start), text.rfind("\r", start))
    for blank in _BLANK_LINE.finditer(text, start):
        start = blank.end()
    last = {sign: text.rfind(closer) for sign, closer in _CLOSERS.items()}
    for opener in OPENER.finditer(text, start):
        if opener[0] == "$":
            if opener.start() > last_line and text.find("$", opener.end()) < 0:
                rest = text[opener.end() :]
                if not rest or looks_like_maths(rest, "$"):
                    return opener.start()
        elif any(opener[0].startswith(sign) and last[sign] < opener.end() for sign in _CLOSERS):
            return opener.start()
    begun = _BEGUN.search(text, max(start, len(text) - 30))
    return begun.start() if begun and not _is_escaped(text, begun.start()) else len(text)


def _is_escaped(text: str, place: int) -> bool:
    before = place
    while before and text[before - 1] == "\\":
        before -= 1
    return (place - before) % 2 == 1


@dataclass(frozen=True, kw_only=True)
class _Place:
    """The lines from `first` up to, not including, `end`: a paragraph whose lines have a `prefix`, or another block.

    `inline` says that a displayed formula is treated there as one inside a line.
    """

    first: int
    end: int
    prefix: str = ""
    inline: bool = False
    cells: bool = False
    """Whether the lines are a table."""


class _Writer:
    """Computes the edits that make a document's formulas readable."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._text, self._lines = document.text, document.lines
        self._places = [*_places(document)]
        self._mark = _LEFT_TO_RIGHT_MARK if _RIGHT_TO_LEFT.search(self._text) else ""

    def edits(self) -> Iterator[Edit]:
        r"""Yield the replacements of the formulas, and of `\,` between digits of the prose, in order."""
        text, place, thousands = self._text, 0, "\\," in self._text
        for region in self._document.regions:
            if region.kind is RegionKind.PROSE:
                if thousands:
                    found = _THOUSANDS.finditer(text, max(region.start, place), region.end)
                    yield from ((match.start(), match.end(), "\u2009") for match in found)
            elif region.kind is RegionKind.MATH and not _HELD.search(text, max(region.start, place), region.end):
                where = self._place_of(region)
                if where.inline or not text.startswith(DISPLAYED, region.start):
                    yield region.start, region.end, self._in_line(region, where)
                else:
                    shown, place = self._displayed(region, where)
                    yield region.start, place, shown

    def _place_of(self, region: Region) -> _Place:
        line = self._document.line_at(region.start)
        index = bisect_right(self._places, line, key=lambda place: place.first) - 1
        found = self._places[index] if index >= 0 else None
        if found is None or line >= found.end:
            return _Place(first=line, end=line + 1)
        # A line of "=" in a formula makes Markdown read the lines before it as a heading. Such a formula goes on after
        # the heading, so it is not treated as one inside a line.
        outside = found.inline and not found.cells and self._document.line_at(region.end - 1) >= found.end
        return _Place(first=found.first, end=found.end) if outside else found

    def _body(self, region: Region, where: _Place) -> str:
        """Return the text between the signs around a formula, without the prefixes of its lines."""
        formula = self._text[region.start : region.end]
        if not formula.startswith("\\begin"):
            sign = 1 if formula.startswith("$") and not formula.startswith("$$") else 2
            formula = formula[sign:-sign]
        quotes = where.prefix.count(">")
        lines = _LINE_END.split(formula)
        own = [lines[0], *(re.sub(rf"^(?:[ \t]*>){{0,{quotes}}}", "", line) for line in lines[1:])]
        return "\n".join(own)

    def _in_line(self, region: Region, where: _Place) -> str:
        body = " ".join(line.strip() for line in self._body(region, where).split("\n")).strip()
        before, after = self._text[max(0, region.start - 1) : region.start], self._text[region.end : region.end + 1]
        line_start = self._lines[self._document.line_at(region.start)]
        ahead = self._text[line_start : min(region.start, line_start + _DEEPEST)]
        begins = region.start <= line_start + _DEEPEST and not ahead.strip(" \t>-+*.)|0123456789")
        shown = unicode_text(body.replace(r"\|", "|") if where.cells else body)
        if shown is None:
            return _as_code(body, before, after)
        shown = _TAG.sub(" < ", shown)
        shown = _LINK_BEHIND.sub(rf"\g<0>{_JOINER}", _NUMBER_BEHIND.sub(rf"\g<0>{_JOINER}", shown))
        if where.cells:
            shown = shown.replace("|", r"\|")
        start = _JOINER if (begins and not shown[0].isalpha()) or (before in "]!" and before) else ""
        end = _JOINER if shown[-1] in "]!" and after and after in "([:" else ""
        return f"{start}{self._mark}{shown}{self._mark}{end}"

    def _displayed(self, region: Region, where: _Place) -> tuple[str, int]:
        """Return a code block with a formula and the punctuation mark after it, and where the text continues."""
        text, line = self._text, self._document.line_at(region.start)
        before = text[self._lines[line] : min(region.start, self._lines[line] + _DEEPEST + 1)]
        first = line == where.first and len(before) <= len(where.prefix)
        after = _STOP.match(text, region.end)
        body = self._dedented(region, where) + (after[1] if after else "")
        fence = "`" * max(3, 1 + max((len(run) for run in _BACKTICKS.findall(body)), default=0))
        inner = re.sub(r"[^\s>]", " ", where.prefix)
        opening = "" if first or before == inner else inner if not before.strip(" \t>") else f"\n{inner}"
        block = f"\n{inner}".join([f"{fence}latex", *body.split("\n"), fence])
        end = after.end() if after else region.end
        return f"{opening}{block}{self._below(end, where, inner)}", self._past(end, where)

    def _dedented(self, region: Region, where: _Place) -> str:
        body = "\n".join(line.rstrip() for line in self._body(region, where).split("\n"))
        lines = body.strip("\n").split("\n")
        indents = [len(line) - len(line.lstrip()) for line in lines if line]
        return "\n".join(line[min(indents, default=0) :] for line in lines)

    def _below(self, end: int, where: _Place, inner: str) -> str:
        """Return the beginning of the line below a code block; empty if the paragraph does not continue there."""
        past = self._past(end, where)
        if past >= len(self._text) or (past == end and self._text[end] in "\r\n"):
            return ""
        return f"\n{inner}{'' if self._text[past].isalpha() else _JOINER}"

    def _past(self, end: int, where: _Place) -> int:
        """Return where the paragraph continues after a formula: on the same line, or after the next line's prefix."""
        text = self._text
        if end < len(text) and text[end] not in "\r\n":
            return next((place for place in range(end, len(text)) if text[place] not in " \t"), len(text))
        line = self._document.line_at(min(end, max(len(text) - 1, 0))) + 1
        if line >= min(where.end, len(self._lines) - 1):
            return end
        start = self._lines[line]
        prefix = _PREFIX.match(text, start)
        place = prefix.end() if prefix else start
        return end if place >= len(text) or text[place] in "\r\n" else place


def _places(document: Document) -> Iterator[_Place]:
    for block in document.blocks:
        if block.kind is BlockKind.TABLE:
            yield _Place(first=block.start, end=block.end, inline=True, cells=True)
        elif block.kind in (BlockKind.PARAGRAPH, BlockKind.HEADING):
            line = document.stretch(block.start, block.start + 1)
            heading = block.kind is BlockKind.HEADING
            own = block.content if heading else line[block.column :]
            begun = max(0, line.find(_LINE_END.split(own.strip(), maxsplit=1)[0]))
            inline = heading or begun > _DEEPEST
            yield _Place(first=block.start, end=block.text_end, prefix=line[: min(begun, _DEEPEST)], inline=inline)


def _as_code(formula: str, before: str, after: str) -> str:
    runs = {len(run) for run in _BACKTICKS.findall(formula)}
    fence = "`" * next(length for length in range(1, len(runs) + 2) if length not in runs)
    pad = " " if formula.startswith("`") or formula.endswith("`") else ""
    start, end = (_JOINER if sign == "`" else "" for sign in (before, after))
    return f"{start}{fence}{pad}{formula}{pad}{fence}{end}"
