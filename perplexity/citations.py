"""Reads and rewrites the markers in an answer's text, such as `[1]`, that refer to its sources, without I/O."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from html import unescape
from itertools import groupby
from typing import NamedTuple

from perplexity.markdown import (
    CLOSE,
    DASHES,
    NUMBERS,
    OPEN,
    Document,
    Edit,
    RegionKind,
    is_plain,
    parse,
    ranges,
    written,
)
from perplexity.sanitize import answer_text, encode_url, one_line
from perplexity.types import Answer, Source
from perplexity.urls import safe_url

_ADDRESS = (
    r"\([ \t]{{0,8}}<?(?P<{name}>[^\s()<>]*(?:\([^\s()<>]*\)[^\s()<>]*)*)>?"
    r"(?:[ \t]{{1,8}}(?:\"[^\"\n]*\"|'[^'\n]*'))?[ \t]{{0,8}}\)"
)
_WORDS = r"[^\[\]【】［］\n]*+"
_MARKER = rf"{OPEN}(?:{NUMBERS}){CLOSE}"
_MARKERS_INSIDE = re.compile(rf"[ \t]{{0,8}}({_MARKER})")
# Matches a marker, a link or an address. The lookahead for the first character quickly rejects most places of a text.
_MARK = re.compile(
    rf"(?=[\[\\【［<hHwW])(?:\[\[(?P<double>{NUMBERS})\]\](?:{_ADDRESS.format(name='double_address')})?"
    rf"|{OPEN}(?P<numbers>{NUMBERS}){CLOSE}(?:{_ADDRESS.format(name='address')})?"
    rf"|\[(?P<label>{_WORDS}(?:(?:{_MARKER}|\[{_WORDS}\]){_WORDS})*+)(?<!\[)\]{_ADDRESS.format(name='label_address')}"
    r"|<?(?P<bare>(?:(?i:https?)://|(?<![\w.])(?i:www)\.)[^\s<>\[\]【】［］()|`\"]+)>?)"
)
_ELSEWHERE = re.compile(r"[a-z][a-z0-9+.-]*:|//|www\.", re.IGNORECASE)
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")
_SENTENCE_END = ".,;:!?'’”*_~。，、；：！？"
BETWEEN = re.compile(r"[ \t.,;:!?…'\"’”)*_~。，、；：！？）」』]{0,20}")
"""Matches the text that may stand between a link and the marker of the same page if both belong to one statement."""


@dataclass(frozen=True, kw_only=True)
class SourceIndex:
    """The retrieved sources by the service's number or alias, and by address."""

    numbers: Mapping[int, Source]
    addresses: Mapping[str, Source]


class Meaning(NamedTuple):
    """The replacement of a reference: the `text` that stays, and the `sources` whose markers follow; both may be empty.

    `dangling` counts the numbers in the reference that have no source. `renamed` is True if the remaining markers must
    be written anew. `unknown_link` is True for a link or an address without a source. `moved` is True if the markers
    were among the words of a link and now follow the link.
    """

    text: str = ""
    sources: tuple[Source, ...] = ()
    dangling: int = 0
    renamed: bool = False
    unknown_link: bool = False
    moved: bool = False


Reference = tuple[int, int, Meaning]
"""The start and the end of a reference in the text, and its replacement."""


def index_sources(sources: Sequence[Source]) -> SourceIndex:
    """Return the sources by number and alias, and by address."""
    addresses = {address: source for source in reversed(sources) if (address := safe_url(source.url))}
    aliases = {alias: source for source in reversed(sources) for alias in source.aliases}
    return SourceIndex(numbers=aliases | {source.number: source for source in reversed(sources)}, addresses=addresses)


def references(document: Document, known: SourceIndex) -> list[Reference]:
    """Return the markers, and the links and addresses that lead to sources, in the order of the text.

    A link that has markers among its words is returned too, so that the markers are moved behind the link. If the
    marker of a link's page follows the link, as in `[Title](address).[1]`, the link is replaced by its words alone,
    because one marker for the page is enough.
    """
    found: list[Reference] = []
    ahead: set[Source] = set()
    for place in reversed(_places(document)):
        reference = _reference(place, known)
        if reference is None:
            continue
        _, end, mark = place
        gap = document.text[end : found[-1][0]] if found else None
        sources = reference[2].sources
        if gap is None or not BETWEEN.fullmatch(gap):
            ahead.clear()
        elif mark.address and sources and ahead.issuperset(sources):
            reference = _unmarked(reference, adjacent=not gap)
        ahead.update(reference[2].sources)
        found.append(reference)
    found.reverse()
    return found


def unknown_links(document: Document, known: SourceIndex) -> Iterator[Reference]:
    """Yield the links and addresses without a source, in the order of the text; the words of a link stay.

    A link that has markers among its words is yielded too, so that the markers are moved behind the link.
    """
    for place in _places(document):
        mark = place[2]
        if mark.inside:
            yield _moved(place)
        elif mark.numbers is None and _linked(mark, known) is None and mark.elsewhere:
            yield _unlinked(place, Meaning(mark.label, unknown_link=True))


def foreign(
    document: Document, known: SourceIndex, dropped: Collection[Source], is_foreign: Callable[[str], bool]
) -> Iterator[Reference]:
    """Yield the references to `dropped` sources, and the foreign links and addresses, in the order of the text.

    `is_foreign` returns whether an address is foreign. In each `Meaning`, `dangling` counts the references to dropped
    sources, and `unknown_link` is True for a foreign link or address. A marker's other numbers and the words of a link
    stay. A link that has markers among its words is yielded too, so that the markers are moved behind the link.
    """

    def meaning_of(mark: _Mark) -> Meaning | None:
        leads_away = mark.address != "" and mark.elsewhere and is_foreign(mark.target)
        if mark.numbers is None:
            return Meaning(mark.label, unknown_link=True) if leads_away else None
        if linked := _linked(mark, known):
            return Meaning(mark.label, dangling=1) if linked in dropped else None
        numbers = [number for one in ranges(mark.numbers) for number in one.numbers]
        kept = [number for number in numbers if known.numbers.get(number) not in dropped]
        lost = len(numbers) - len(kept)
        return Meaning(written(kept), dangling=lost, unknown_link=leads_away) if leads_away or lost else None

    for place in _places(document):
        mark = place[2]
        if mark.inside:
            yield _moved(place)
        elif meaning := meaning_of(mark):
            yield _unlinked(place, meaning)


def renamed(document: Document, numbers: Mapping[int, int]) -> Iterator[Reference]:
    """Yield the markers whose numbers change, with the new numbers from `numbers` as their text."""
    for start, end, mark in _places(document):
        named = [number for one in ranges(mark.numbers or "".join(mark.inside)) for number in one.numbers]
        if any(numbers.get(number, number) != number for number in named):
            new = written([numbers.get(number, number) for number in named])
            yield start, end, Meaning(f"{mark.link}{new}")


class _Mark(NamedTuple):
    """The parts of a marker, a link or an address as it is written; missing parts are empty or None.

    `inside` are the markers among the words of a link; they are not part of its `label`.
    """

    shown: str
    numbers: str | None = None
    address: str = ""
    label: str = ""
    inside: tuple[str, ...] = ()
    image: bool = False

    @property
    def target(self) -> str:
        """The address as Markdown reads it: without backslashes and entities."""
        return unescape(_ESCAPED.sub(r"\1", self.address))

    @property
    def elsewhere(self) -> bool:
        """Whether the address names a scheme or a host; a relative address does not count as a link here."""
        return _ELSEWHERE.match(self.target) is not None

    @property
    def link(self) -> str:
        """The link without the markers among its words; empty for a marker, and for a link without other words."""
        return f"[{self.label}]({self.address})" if self.label else ""


_Place = tuple[int, int, _Mark]
"""The start and the end of a mark in the text."""


def _moved(place: _Place) -> Reference:
    """Return a reference that moves the markers among a link's words behind the link.

    A marker may be shown as a link, and links cannot be nested.
    """
    start, end, mark = place
    meaning = Meaning(f"{mark.link}{''.join(mark.inside)}", renamed=True, moved=True)
    return start - (mark.image and not mark.link), end, meaning


def _unlinked(place: _Place, meaning: Meaning) -> Reference:
    """Return the reference that replaces a mark by `meaning`. For an image, the `!` before it is replaced too."""
    start, end, mark = place
    return start - mark.image, end, meaning


@lru_cache(maxsize=4)
def _places(document: Document) -> tuple[_Place, ...]:
    """Return the markers, links and addresses outside code and LaTeX."""
    text = document.text
    found: list[_Place] = []
    for kind, start, end in document.regions:
        for match in _MARK.finditer(text, start, end) if kind is RegionKind.PROSE else ():
            first, last = match.span()
            mark = _mark(match, image=text.endswith("!", 0, first))
            # The punctuation after a bare address is not part of it.
            bare = not (mark.label or mark.inside or mark.numbers)
            found.append((first, first + len(mark.shown) if bare else last, mark))
    return tuple(found)


def _mark(match: re.Match[str], *, image: bool) -> _Mark:
    double, double_address, numbers, address, label, label_address, bare = match.groups()
    if double is not None:
        return _Mark(match[0], double, double_address or "")
    if numbers is not None:
        return _Mark(match[0], numbers, address or "")
    if label:
        inside = tuple(_MARKERS_INSIDE.findall(label))
        label = _MARKERS_INSIDE.sub("", label).strip() if inside else label
        return _Mark(match[0], None, label_address, label, inside, image=image)
    address = bare.rstrip(_SENTENCE_END)
    return _Mark(match[0] if match[0][0] == "<" else address, None, address)


def _linked(mark: _Mark, known: SourceIndex) -> Source | None:
    """Return the source that the address of a mark leads to; None if there is none."""
    return known.addresses.get(safe_url(mark.address) or "") if mark.address else None


def _reference(place: _Place, known: SourceIndex) -> Reference | None:
    start, end, mark = place
    if mark.inside:
        return _moved(place)
    source = _linked(mark, known)
    if mark.numbers is not None:
        # A link whose text is a number counts as a link if its page was retrieved, and otherwise as a marker.
        return start, end, Meaning("", (source,)) if source else _of_numbers(mark, known)
    if source is None:
        return None
    return start, end, Meaning(f"{mark.label or mark.shown} ", (source,))


def _of_numbers(mark: _Mark, known: SourceIndex) -> Meaning:
    """Return the replacement of a marker."""
    dangling, renamed = 0, not is_plain(mark.shown)
    found: dict[Source, None] = {}
    for one in ranges(mark.numbers or ""):
        named = {number: known.numbers[number] for number in one.numbers if number in known.numbers}
        found |= dict.fromkeys(named.values())
        # A range that was cut because it is too long counts as one number without a source.
        dangling += 1 if one.cut else len(one.numbers) - len(named)
        renamed = renamed or any(source.number != number for number, source in named.items())
    return Meaning("", tuple(found), dangling, renamed)


def _unmarked(reference: Reference, *, adjacent: bool) -> Reference:
    """Return a link without a marker of its own, because the marker of the same source follows the link.

    A link whose words are only a number is removed, or returned unchanged if the marker follows directly (`adjacent`).
    """
    start, end, meaning = reference
    if not meaning.text:
        return reference if adjacent else (start, end, meaning._replace(sources=()))
    text = meaning.text if adjacent else meaning.text.rstrip(" ")
    return start, end, meaning._replace(text=text, sources=())


_OF_A_MARKER = re.compile(rf"[\[\]\d,;:web【】［］，；、\\{DASHES}]")
_MOST_PASSES = 5
_JOINER = "\u2060"


@dataclass(frozen=True, kw_only=True)
class Marker:
    """A reference in the text; `number` is the position of the source in the list that is shown, from 1."""

    number: int
    source: Source


@dataclass(frozen=True, kw_only=True)
class CitedText:
    """A text with its markers.

    `pieces` are the parts of the text in order. `sources` are the sources that the text refers to, in the order of
    their first markers, so that a marker's number is the position of its source, from 1. `others` are the remaining
    sources. `dangling` counts the removed numbers that have no source.
    """

    pieces: tuple[str | Marker, ...]
    sources: tuple[Source, ...]
    others: tuple[Source, ...]
    dangling: int

    @property
    def text(self) -> str:
        """The text with its new numbers."""
        return "".join(piece if isinstance(piece, str) else f"[{piece.number}]" for piece in self.pieces)

    def document(self, marks: Callable[[int], str]) -> Document:
        """Return the text as a document in which each marker is replaced by the result of `marks` for its number.

        With a suitable replacement, Markdown does not read a marker as the beginning of a block or of code.
        """
        return parse("".join(piece if isinstance(piece, str) else marks(piece.number) for piece in self.pieces))


def number_citations(text: str, sources: Sequence[Source]) -> CitedText:
    """Return a text with its markers numbered by first use.

    Markers are `[1]`, `[2][3]`, `[1, 3-5]`, `[web:4]`, `【1】`, `［１］` and links whose text is such a number.
    They count only outside code and LaTeX. A link to a retrieved page keeps its words and gets the page's marker,
    unless this marker already follows the link. Markers without a source are removed with the space before them, and
    counted. A number of four digits or more can only end a range, so `[2024-2026]` is no marker.
    """
    return _cited(text, index_sources(sources), sources)


def number_each(texts: Iterable[str], sources: Sequence[Source]) -> list[CitedText]:
    """Return the result of `number_citations` for each text, all with the same sources; `others` is always empty."""
    known = index_sources(sources)
    return [_cited(text, known, ()) for text in texts]


def _cited(text: str, known: SourceIndex, sources: Sequence[Source]) -> CitedText:
    document, dangling, found = _drop_dangling(parse(text), known)
    text = document.text
    markers: dict[Source, Marker] = {}
    pieces: list[str | Marker] = []
    place = 0
    for reference in found:
        start, end, meaning = reference
        if not (meaning.sources or meaning.text):
            start, end = _with_spaces(text, start, end)
        pieces.append(text[place : max(place, start)] + meaning.text)
        pieces += [markers.setdefault(s, Marker(number=len(markers) + 1, source=s)) for s in meaning.sources]
        place = end
    pieces.append(text[place:])
    return CitedText(
        pieces=tuple(piece for piece, _ in groupby(piece for piece in pieces if piece)),
        sources=tuple(markers),
        others=tuple([source for source in sources if source not in markers] if markers else sources),
        dangling=dangling,
    )


def drop_dangling(text: str, sources: Sequence[Source]) -> tuple[str, int]:
    """Remove the numbers without a source from a text's markers; return the text and how many were removed.

    In the remaining markers, aliases of sources are replaced by the sources' numbers.
    """
    document, removed, _ = _drop_dangling(parse(text), index_sources(sources))
    return document.text, removed


def _drop_dangling(document: Document, known: SourceIndex) -> tuple[Document, int, list[Reference]]:
    """Remove the numbers without a source; return the document, how many were removed, and the remaining references."""
    removed = 0
    # Removing text, or moving markers out of a link, can turn other words into code or markers, so the result is
    # examined again.
    for _ in range(_MOST_PASSES):
        found = references(document, known)
        wrong = [reference for reference in found if reference[2].dangling or reference[2].renamed]
        if not wrong:
            return document, removed, found
        document = _without(document, wrong)
        removed += sum(meaning.dangling for _, _, meaning in wrong)
        if not any(meaning.dangling or meaning.moved for _, _, meaning in wrong):
            break
    return document, removed, references(document, known)


def drop_markers(text: str, sources: Sequence[Source]) -> str:
    """Return the text without its markers and the spaces before them; a link's words stay."""
    document, _, found = _drop_dangling(parse(text), index_sources(sources))
    words = [(start, end, meaning._replace(text=meaning.text.rstrip(), sources=())) for start, end, meaning in found]
    return _without(document, words).text


def drop_unknown_links(text: str, sources: Sequence[Source]) -> tuple[str, int]:
    """Return the text without links and addresses that have no source, and how many were removed; a link's words stay.

    Relative addresses, and everything in code and LaTeX, count as text. Outside links, an address counts only if it
    begins with `http://`, `https://` or `www.`.
    """
    text, removed = _removed(text, partial(unknown_links, known=index_sources(sources)))
    return text, sum(meaning.unknown_link for meaning in removed)


def drop_foreign(
    text: str, sources: Sequence[Source], dropped: Collection[Source], is_foreign: Callable[[str], bool]
) -> tuple[str, int, int]:
    """Remove references to dropped sources, and foreign links; return the text and how many of each were removed.

    `sources` are all sources, including the dropped ones. An address counts as a link. A link is foreign if
    `is_foreign` returns True for its address. The words of links, numbers without a source, and everything in code and
    LaTeX stay.
    """
    find = partial(foreign, known=index_sources(sources), dropped=dropped, is_foreign=is_foreign)
    text, removed = _removed(text, find)
    return text, sum(meaning.dangling for meaning in removed), sum(meaning.unknown_link for meaning in removed)


def _removed(text: str, find: Callable[[Document], Iterable[Reference]]) -> tuple[str, list[Meaning]]:
    """Return the text without the references that `find` yields for it, and their meanings."""
    document, removed = parse(text), list[Meaning]()
    # Removing text can turn other words into links or markers, so the result is examined again.
    for _ in range(_MOST_PASSES):
        found = list(find(document))
        if not found:
            break
        document = _without(document, found)
        removed += [meaning for _, _, meaning in found]
    return document.text, removed


def renumber(text: str, numbers: Mapping[int, int]) -> str:
    """Return the text with the numbers in its markers replaced; those that are not in `numbers` stay."""
    document = parse(text)
    return _without(document, renamed(document, numbers)).text


def format_result(answer: Answer) -> str:
    """Return an answer as a tool's text for a model: the answer, then every source in the service's order.

    Markers keep the service's numbers. A marker without a source is left out, so that no model searches for the source.
    Titles and dates are written by `one_line`.
    """
    text, _ = drop_dangling(answer_text(answer), answer.sources)
    listed = [
        f"- [{s.number}] {one_line(s.title)} ({one_line(s.date or 'N/A')}) [{encode_url(s.url)}]"
        for s in answer.sources
    ]
    return "\n".join(["<result>", text, "</result>", "", "<references>", *listed, "</references>"])


def _without(document: Document, found: Iterable[Reference]) -> Document:
    """Return the document with each reference replaced by its remaining text and the markers of its sources."""
    text, place = document.text, 0
    edits: list[Edit] = []
    for reference in found:
        start, end, meaning = reference
        if not (stays := meaning.text + written([source.number for source in meaning.sources])):
            start, end = _with_spaces(text, start, end)
            stays = _joint(text[max(0, start - 1) : start], text[end : end + 1])
        edits.append((max(place, start), end, stays))
        place = end
    return document.replace(edits)


def _with_spaces(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the start and end of a removed stretch with the spaces before it.

    If the stretch begins a line, the spaces after it are included instead.
    """
    before = start
    while before and text[before - 1] in " \t":
        before -= 1
    if before and text[before - 1] not in "\r\n":
        return before, end
    return start, next((i for i in range(end, len(text)) if text[i] not in " \t"), len(text))


def _joint(before: str, after: str) -> str:
    """Return the text for the place of a removed marker, given the characters around it.

    The text is a word joiner if these characters could form a new marker, and otherwise empty.
    """
    return _JOINER if _OF_A_MARKER.match(before) and _OF_A_MARKER.match(after) else ""
