"""Finds the sentences of an answer that cite sources, and removes their markup."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from html import unescape
from itertools import accumulate
from typing import NamedTuple

from perplexity.citations import CitedText, Marker, index_sources, unknown_links
from perplexity.latex import unicode_text
from perplexity.markdown import BlockKind, Document, RegionKind

_MARK = "\ufdd0"
_NO_SOURCES = index_sources(())
_WITH_TEXT = frozenset({BlockKind.PARAGRAPH, BlockKind.HEADING})
_MARKUP = re.compile(r"\*+(?=\S)|(?<=\S)\*+|(?<!\w)_{1,3}(?=\S)|(?<=\S)_{1,3}(?!\w)|~~|\\(?=[!-/:-@\[-`{-~])|<br ?/?>")
_LINES = re.compile(r"(?<![ \t])[ \t]*+\n[ \t>]*+")
_CELL_EDGE = re.compile(r"(?<![ \t])[ \t]*+(?<!\\)\|[ \t]*+")
_ENTITY = re.compile(r"&(?:#\d{1,7}|#x[0-9a-fA-F]{1,6}|\w{2,31});")
_SPAN_SIGNS = re.compile(r"\A`++ ?| ?(?<!`)`++\Z")
_MATH_ENDS = re.compile(r"\A(?:\$\$?|\\[(\[])|(?:\$\$?|\\[)\]])\Z")
_MATH_SIGNS = re.compile(r"\\[,;:!](?=.)|[{}]|\\(?=[%$#&])")
_TIMES = re.compile(r"\\(?:times|cdot)(?![a-z])")
_NUMERIC = re.compile(r"v?\d[\d.,:/×^%°\s+-]*[\w%°]{0,3}")
_DIGIT = re.compile(r"\d")

_END = re.compile(r"[.!?…](?<![.!?…].)[.!?…]*+[\"'”’“»)\]]*+(?=\s|\Z)|[。！？]")
_LAST_WORD = re.compile(r"((?<![^\W\d_])[^\W\d_]+|(?<!\d)\d+)\Z")
_NEXT = re.compile(r"\s+[\"'“„‚«(\[]*(\S)")
_SHORT_WORDS = (
    "abs al approx art bd bzw ca capt cf chr co col corp d dept dr e ed eds engl etc ev evtl ff fig fr frz gen geb "
    "gegr ggf gov hr hrsg i inc inkl insg jan jh jr kap lt ltd max mia min mio mr mrd mrs ms mt nr no nos op orig pp "
    "prof resp rev rd s sen sep sept sog spp sr st std str tab tel tsd u usw v verh vgl vol vs z zit zzgl feb mar "
    "mär apr jun jul aug okt oct nov dez dec"
)
_SHORT = frozenset(_SHORT_WORDS.split(" "))
"""Abbreviations in lower case, whose full stop does not end a sentence."""
_AT_AN_END = frozenset({"etc", "co", "corp", "inc", "ltd", "usw", "jr", "sr"})
"""The abbreviations in `_SHORT` that may end a sentence."""
_BEFORE_AN_ORDINAL = re.compile(
    r"(?<!\w)(?:der|die|das|den|dem|des|am|vom|zum|zur|im|ins|beim|seit|bis|ab|und|jede[nrs]?|ihre[mnrs]?|seine[mnrs]?|"
    r"unsere[mnrs]?|eine[mnrs]?|ein|diese[mnrs]?|nach|platz|rang|nr\.|[-–]) ?\Z",
    re.IGNORECASE,
)
_AFTER_AN_ORDINAL = re.compile(
    r"\s(?:Jan|Feb|Mär|Apr|Mai|Jun|Jul|Aug|Sep|Okt|Nov|Dez|Quartal|Halbjahr|Jahrhundert|Jahrtausend|Jh\.|Platz|Rang|Tag|"
    r"Auflage|Geburtstag|Todestag|Jahrestag|Spieltag|Runde|Minute|Bundestag|Legislatur|und \d|bis \d)"
)


class Sentence(NamedTuple):
    """A sentence and the numbers of the sources that it cites, from 1, in order.

    `checked` is the text with letters in place of the digits of inline code and formulas, except in code and formulas
    that are only a number.
    """

    text: str
    checked: str
    sources: tuple[int, ...]


def cited_sentences(cited: CitedText) -> list[Sentence]:
    """Return the sentences that have a marker, in the order of the text.

    A marker belongs to the sentence that contains it, or that ends right before it. A sentence also ends where an item
    of a list, a heading or a row of a table ends.
    """
    markers = _marker_places(cited)
    if not markers:
        return []
    document = cited.document(lambda _: _MARK)
    changes = _changes(document, markers)
    return [
        sentence
        for start, end in _stretches(document)
        if bisect_left(markers, (start,)) < bisect_left(markers, (end,))
        for sentence in _sentences(document.text, start, end, changes)
    ]


def _marker_places(cited: CitedText) -> list[tuple[int, int]]:
    """Return, for each marker, the place of its `_MARK` in the document, and its number."""
    lengths = (len(_MARK) if isinstance(piece, Marker) else len(piece) for piece in cited.pieces)
    places = zip(accumulate(lengths, initial=0), cited.pieces, strict=False)
    return [(place, piece.number) for place, piece in places if isinstance(piece, Marker)]


class _Change(NamedTuple):
    """A stretch of the document to replace: by `text` in a sentence's `text`, and by `checked` in its `checked`.

    `number` is the number of the marker in this place, 0 if there is no marker. A marker is replaced by "".
    """

    start: int
    end: int
    number: int = 0
    text: str = ""
    checked: str = ""


def _changes(document: Document, markers: Sequence[tuple[int, int]]) -> list[_Change]:
    """Return the changes for markers, links, inline code and formulas, in their order in the document."""
    found = [_Change(place, place + len(_MARK), number) for place, number in markers]
    for start, end, meaning in unknown_links(document, _NO_SOURCES):
        found.append(_Change(start, end, 0, meaning.text, meaning.text))
    for kind, start, end in document.regions:
        if kind is RegionKind.SPAN:
            found.append(_unread(start, end, _SPAN_SIGNS.sub("", document.text[start:end])))
        elif kind is RegionKind.MATH:
            inner = _MATH_ENDS.sub("", document.text[start:end]).strip()
            formula = _MATH_SIGNS.sub("", _TIMES.sub("×", inner)).strip()
            exact = None if _NUMERIC.fullmatch(formula[:80]) else unicode_text(inner)
            found.append(_unread(start, end, exact or formula))
    return sorted(found)


def _unread(start: int, end: int, text: str) -> _Change:
    text = text.replace("\n", " ")
    checked = text if _NUMERIC.fullmatch(text[:80]) else _DIGIT.sub("x", text)
    return _Change(start, end, 0, text, checked)


def _stretches(document: Document) -> Iterator[tuple[int, int]]:
    """Yield the start and the end of each paragraph, heading and row of a table."""
    lines = document.lines
    for block in document.blocks:
        if block.kind in _WITH_TEXT:
            start, end = lines[block.start], lines[min(block.text_end, len(lines) - 1)]
            start += block.column + (len(block.markup) if block.markup.startswith("#") else 0)
            yield min(start, end), end
        elif block.kind is BlockKind.TABLE:
            for line in (block.start, *range(block.start + 2, block.end)):
                yield lines[line], lines[min(line + 1, len(lines) - 1)]


def _sentences(text: str, start: int, end: int, changes: Sequence[_Change]) -> Iterator[Sentence]:
    """Make the changes in a document's text from `start` to `end`, and yield its sentences that have a marker."""
    shown, checked, place = "", "", start
    marks: list[tuple[int, int]] = []
    inside = changes[bisect_left(changes, (start,)) : bisect_left(changes, (end,))]
    for change in (*inside, _Change(end, end)):
        if change.start >= place:
            prose = _without_markup(text[place : change.start])
            shown += prose + change.text
            checked += prose + change.checked
            if change.number:
                marks.append((len(shown), change.number))
            place = change.end
    first = begin = 0
    for until in _ends(shown, {place for place, _ in marks}):
        last = bisect_left(marks, (until + 1,))
        if last > first:
            yield from _sentence(shown[begin:until], checked[begin:until], marks[first:last], begin)
        first, begin = last, until


def _without_markup(prose: str) -> str:
    plain = _MARKUP.sub("", _CELL_EDGE.sub(" | ", _LINES.sub(" ", prose)))
    return _ENTITY.sub(lambda match: unescape(match[0]), plain)


def _sentence(shown: str, checked: str, marks: Sequence[tuple[int, int]], start: int) -> Iterator[Sentence]:
    """Yield the sentence, without spaces around it and before its markers; yield nothing if no text is left."""
    left, right = len(shown) - len(shown.lstrip(" |\n")), len(shown.rstrip(" |\n"))
    parts, begin, last = [], left, left
    for place in dict.fromkeys(place - start for place, _ in marks):
        before = last + len(shown[last:place].rstrip(" "))
        if before < place < right and shown[place] in " .,;:!?)":
            parts.append(slice(begin, before))
            begin = place
        last = max(last, place)
    parts.append(slice(begin, max(left, right)))
    text, masked = ("".join([one[part] for part in parts]) for one in (shown, checked))
    if text:
        yield Sentence(text, masked, tuple(dict.fromkeys([number for _, number in marks])))


def _ends(text: str, marks: set[int]) -> Iterator[int]:
    """Yield the place at which each sentence ends: the start of the next sentence, or the end of the text."""
    last = len(text.rstrip())
    for match in _END.finditer(text):
        end = match.end()
        following = _NEXT.match(text, end)
        if following is None and end < last:
            yield end
        elif following and (end in marks or _ends_sentence(text, match, following)):
            yield following.start() + len(following[0]) - len(following[0].lstrip())
    yield len(text)


def _ends_sentence(text: str, stop: re.Match[str], following: re.Match[str]) -> bool:
    """Return whether the punctuation `stop`, which a space follows, ends a sentence."""
    if following[1].islower() or stop[0] != ".":
        return not following[1].islower()
    word = _LAST_WORD.search(text, max(0, stop.start() - 20), stop.start())
    if word is None:
        return True
    before, last = text[max(0, word.start() - 12) : word.start()], word[1].lower()
    if last.isdecimal():
        alone = len(last) > 3 or before[-1:] in {".", ",", ":", "/"}
        return alone or not (_BEFORE_AN_ORDINAL.search(before) or _AFTER_AN_ORDINAL.match(text, stop.end()))
    if len(last) == 1:
        return word[1].islower() and before.rstrip(" \u00a0\u202f")[-1:].isdecimal()
    return last not in _SHORT or (last in _AT_AN_END and following[1].isupper())
