"""The markers in an answer's text and the sources that they refer to. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import unescape
from typing import NamedTuple

from perplexity.block_parser import Block
from perplexity.markdown import Document, Edit, RegionKind, parse
from perplexity.markers import CLOSE, DASHES, NUMBERS, OPEN, is_plain, ranges, written
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
_FOUND = re.compile(
    rf"(?:\[\[(?P<double>{NUMBERS})\]\](?:{_ADDRESS.format(name='double_address')})?"
    rf"|{OPEN}(?P<numbers>{NUMBERS}){CLOSE}(?:{_ADDRESS.format(name='address')})?"
    rf"|\[(?P<label>{_WORDS}(?:(?:{_MARKER}|\[{_WORDS}\]){_WORDS})*+)(?<!\[)\]{_ADDRESS.format(name='label_address')}"
    r"|<?(?P<bare>(?:(?i:https?)://|(?<![\w.])(?i:www)\.)[^\s<>\[\]【】［］()|`\"]+)>?)"
)
# A number in brackets, or where one of the others may begin. Each way begins with a sign of its own, so that the search
# leaps from one to the next.
_BEGUN = re.compile(
    r"\[([0-9]{1,3})\](?!\()|\\(?=\[)|\[|【|［|<(?=[hHwW])"
    r"|h(?=[tT]{2}[pP][sSſ]?://)|H(?=[tT]{2}[pP][sSſ]?://)|w(?=[wW]{2}\.)|W(?=[wW]{2}\.)"
)
_SIGNS = ("[", "【", "［", "://", "w.", "W.")
"""What one of these has at least."""
_ELSEWHERE = re.compile(r"[a-z][a-z0-9+.-]*:|//|www\.", re.IGNORECASE)
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")
_SENTENCE_END = ".,;:!?'’”*_~。，、；：！？"
_BETWEEN = re.compile(r"[ \t.,;:!?…'\"’”)*_~。，、；：！？）」』]{0,20}")
"""What may be between a link and the marker of the same page, both of which belong to one statement."""


@dataclass(frozen=True, kw_only=True)
class Known:
    """The retrieved sources by the service's number and by address."""

    numbers: Mapping[int, Source]
    addresses: Mapping[str, Source]


class Reference(NamedTuple):
    """A place in the text that refers to sources: what stays of it as text, and the sources; both may be empty.

    `orphans` counts its numbers of no source; `stranger` is a link or an address of no source; `moved` are markers that
    were among the words of a link and are after it now.
    """

    start: int
    end: int
    text: str
    sources: tuple[Source, ...]
    orphans: int = 0
    renamed: bool = False
    stranger: bool = False
    moved: bool = False


def known_of(sources: Sequence[Source]) -> Known:
    """Return the sources by number, their aliases too, and by address."""
    addresses = {address: source for source in reversed(sources) if (address := safe_url(source.url))}
    aliases = {alias: source for source in reversed(sources) for alias in source.aliases}
    return Known(numbers=aliases | {source.number: source for source in reversed(sources)}, addresses=addresses)


def references(document: Document, known: Known) -> list[Reference]:
    """Return the markers, and the links and addresses of sources, in the order of the text.

    A link whose own marker follows it, as in `[Title](address).[1]`, is its words alone: one marker is enough.
    """
    places, markers = list(_places(document)), _Markers(known)
    if not any(place.address for place in places):
        return [_moved(place) if place.inside else markers.read(place) for place in places]
    found: list[Reference] = []
    ahead: set[Source] = set()
    for place in reversed(places):
        reference = _reference(place, markers)
        if reference is None:
            continue
        gap = document.text[place.end : found[-1].start] if found else None
        if gap is None or not _BETWEEN.fullmatch(gap):
            ahead.clear()
        elif place.address and reference.sources and ahead.issuperset(reference.sources):
            reference = _unmarked(reference, adjacent=not gap)
        ahead.update(reference.sources)
        found.append(reference)
    found.reverse()
    return found


def strangers(document: Document, known: Known) -> Iterator[Reference]:
    """Yield the links and the addresses of no source, in the order of the text; of a link its words stay."""
    for place in _places(document):
        if place.inside:
            yield _moved(place)
        elif place.numbers is None and _linked(place, known) is None and place.elsewhere:
            yield _unlinked(place)


def foreign(
    document: Document, known: Known, dropped: Collection[Source], is_foreign: Callable[[str], bool]
) -> Iterator[Reference]:
    """Yield the markers of dropped sources, and the links and addresses that are foreign, in the order of the text.

    `orphans` counts the numbers of dropped sources; the other numbers of a marker, and the words of a link, stay.
    """
    for place in _places(document):
        if place.inside:
            yield _moved(place)
            continue
        leads_away = place.address != "" and place.elsewhere and is_foreign(place.target)
        if place.numbers is None:
            if leads_away:
                yield _unlinked(place)
            continue
        if linked := _linked(place, known):
            if linked in dropped:
                yield _unlinked(place)._replace(orphans=1, stranger=False)
            continue
        numbers = [number for one in ranges(place.numbers) for number in one.numbers]
        kept = [number for number in numbers if known.numbers.get(number) not in dropped]
        if leads_away or len(kept) < len(numbers):
            lost = len(numbers) - len(kept)
            yield _unlinked(place)._replace(text=written(kept), orphans=lost, stranger=leads_away)


def renamed(document: Document, numbers: Mapping[int, int]) -> Iterator[Reference]:
    """Yield the markers that have other numbers by `numbers`, with those as their text."""
    for place in _places(document):
        named = [number for one in ranges(place.numbers or "".join(place.inside)) for number in one.numbers]
        if any(numbers.get(number, number) != number for number in named):
            new = written([numbers.get(number, number) for number in named])
            yield Reference(place.start, place.end, f"{place.link}{new}", ())


class _Place(NamedTuple):
    """A marker, a link or an address in the text: its parts as they are written, empty or None for those it lacks.

    `inside` are the markers among the words of a link, which are not part of its `label`.
    """

    start: int
    end: int
    shown: str
    numbers: str | None = None
    address: str = ""
    label: str = ""
    image: bool = False
    inside: tuple[str, ...] = ()

    @property
    def target(self) -> str:
        """The address as Markdown reads it: without backslashes and entities."""
        return unescape(_ESCAPED.sub(r"\1", self.address))

    @property
    def elsewhere(self) -> bool:
        """Whether the address leads out of the text; one inside the text's own site is no link here."""
        return _ELSEWHERE.match(self.target) is not None

    @property
    def link(self) -> str:
        """The link without the markers among its words; empty for a marker, and if it has no other words."""
        return f"[{self.label}]({self.address})" if self.label else ""


def _moved(place: _Place) -> Reference:
    """Return a reference that leaves the link and, after it, the markers among its words: a link has no links."""
    start = place.start - (place.image and not place.link)
    return Reference(start, place.end, f"{place.link}{''.join(place.inside)}", (), renamed=True, moved=True)


def _unlinked(place: _Place) -> Reference:
    """Return a reference that leaves the words of the link, if it has any."""
    return Reference(place.start - place.image, place.end, place.label, (), stranger=True)


def _places(document: Document) -> Iterator[_Place]:
    text = document.text
    if not any(sign in text for sign in _SIGNS):
        return
    for kind, start, end in document.regions:
        if kind is RegionKind.PROSE:
            place = start
            while begun := _BEGUN.search(text, place, end):
                first, place = begun.span()
                if begun[1]:
                    yield _Place(first, place, begun[0], begun[1])
                elif match := _FOUND.match(text, first, end):
                    yield _place(match)
                    place = match.end()


def _place(match: re.Match[str]) -> _Place:
    start, end = match.span()
    double, double_address, numbers, address, label, label_address, bare = match.groups()
    if double is not None:
        return _Place(start, end, match[0], double, double_address or "")
    if numbers is not None:
        return _Place(start, end, match[0], numbers, address or "")
    if label:
        image = match.string.endswith("!", 0, start)
        inside = tuple(_MARKERS_INSIDE.findall(label))
        label = _MARKERS_INSIDE.sub("", label).strip() if inside else label
        return _Place(start, end, match[0], None, label_address, label, image, inside)
    address = bare.rstrip(_SENTENCE_END)
    end = end if match[0][0] == "<" else start + len(address)
    return _Place(start, end, match.string[start:end], None, address)


def _linked(place: _Place, known: Known) -> Source | None:
    """Return the source that an address leads to."""
    return known.addresses.get(safe_url(place.address) or "") if place.address else None


def _reference(place: _Place, markers: _Markers) -> Reference | None:
    if place.inside:
        return _moved(place)
    source = _linked(place, markers.known)
    if place.numbers is not None:
        # Of a link whose text is a number, the address is only believed when it was retrieved.
        return Reference(place.start, place.end, "", (source,)) if source else markers.read(place)
    if source is None:
        return None
    return Reference(place.start, place.end, f"{place.label or place.shown} ", (source,))


class _Markers:
    """Reads markers, each way to write one once."""

    def __init__(self, known: Known) -> None:
        self.known = known
        self._read: dict[str, tuple[tuple[Source, ...], int, bool]] = {}

    def read(self, place: _Place) -> Reference:
        """Return what a marker refers to."""
        found = self._read.get(place.shown)
        if found is None:
            found = self._read[place.shown] = self._of_numbers(place.numbers or "", place.shown)
        sources, orphans, renamed = found
        return Reference(place.start, place.end, "", sources, orphans, renamed)

    def _of_numbers(self, numbers: str, shown: str) -> tuple[tuple[Source, ...], int, bool]:
        known, orphans, renamed = self.known.numbers, 0, not is_plain(shown)
        if numbers.isascii() and numbers.isdecimal() and (source := known.get(int(numbers))):
            return (source,), 0, renamed or source.number != int(numbers)
        found: dict[Source, None] = {}
        for one in ranges(numbers):
            named = {number: known[number] for number in one.numbers if number in known}
            found |= dict.fromkeys(named.values())
            # Of a range that goes on and on the rest counts as one.
            orphans += 1 if one.cut else len(one.numbers) - len(named)
            renamed = renamed or any(source.number != number for number, source in named.items())
        return tuple(found), orphans, renamed


def _unmarked(reference: Reference, *, adjacent: bool) -> Reference:
    """Return a link without its marker, since that follows; what is only a number goes, unless nothing is between."""
    if not reference.text:
        return reference if adjacent else reference._replace(sources=())
    return reference._replace(text=reference.text if adjacent else reference.text.rstrip(" "), sources=())


_OF_A_MARKER = re.compile(rf"[\[\]\d,;:web【】［］，；、\\{DASHES}]")
_MOST_PASSES = 5
_JOINER = "\u2060"


@dataclass(frozen=True, kw_only=True)
class Marker:
    """A reference in the text: `number` is the source's place in the list that is shown, from 1."""

    number: int
    source: Source


@dataclass(frozen=True, kw_only=True)
class Cited:
    """A text whose markers are known.

    `pieces` make up the text in order. `sources` are those the text refers to, in the order of their first marker: a
    source's place is the marker's number; `others` are the rest. `orphans` counts the removed references to no source.
    """

    pieces: tuple[str | Marker, ...]
    sources: tuple[Source, ...]
    others: tuple[Source, ...]
    orphans: int
    blocks: tuple[Block, ...] | None = None
    """The blocks of the text, whatever replaces the markers; None if they depend on that."""

    @property
    def text(self) -> str:
        """The text with its new numbers."""
        return "".join(piece if isinstance(piece, str) else f"[{piece.number}]" for piece in self.pieces)

    def document(self, marks: Callable[[int], str]) -> Document:
        """Return the text as a document with signs in the place of the markers, which begin no block and no code."""
        signs = {number: marks(number) for number in {p.number for p in self.pieces if isinstance(p, Marker)}}
        text = "".join([piece if isinstance(piece, str) else signs[piece.number] for piece in self.pieces])
        return parse(text) if self.blocks is None else Document(text, self.blocks)


def cite(text: str, sources: Sequence[Source]) -> Cited:
    """Find the markers of a text and number them by first use.

    Markers are `[1]`, `[2][3]`, `[1, 3-5]`, `[web:4]`, `【1】`, `［１］` and links whose text is such a number; they
    count only outside code and LaTeX. A link to a retrieved page keeps its words and gets that page's marker, unless
    its own marker follows. Markers of no source are removed, with the space before them, and counted; a number of four
    digits or more, as in `[2024-2026]`, is no marker.
    """
    return _cited(text, known_of(sources), sources)


def cite_each(texts: Iterable[str], sources: Sequence[Source]) -> list[Cited]:
    """Return what `cite` does for each of several texts about the same sources, the `others` left out."""
    known = known_of(sources)
    return [_cited(text, known, ()) for text in texts]


def _cited(text: str, known: Known, sources: Sequence[Source]) -> Cited:
    document, orphans, found = _without_orphans(parse(text), known)
    text = document.text
    pieces: list[str | Source] = []
    edits: list[Edit] = []
    last: str | Source | None = None
    place, complete = 0, True
    for reference in found:
        start, end = _with_spaces(text, reference)
        start = max(place, start)
        before = text[place:start] + reference.text
        if before and before == last:
            complete = False
        elif before:
            pieces.append(before)
            last = before
        for source in reference.sources:
            if source is not last and source != last:
                pieces.append(source)
                last = source
        edits.append(Edit(start, end, reference.text + ("[1]" if reference.sources else "")))
        place = end
    blocks = document.blocks if complete and document.keeps_blocks(edits) else None
    return _numbered([*pieces, text[place:]], sources, orphans, blocks)


def without_orphans(text: str, sources: Sequence[Source]) -> tuple[str, int]:
    """Return the text without its references to no source, and how many were removed; aliases become numbers."""
    document, removed, _ = _without_orphans(parse(text), known_of(sources))
    return document.text, removed


def _without_orphans(document: Document, known: Known) -> tuple[Document, int, list[Reference]]:
    """Return the document without orphans, how many were removed, and the references that are left."""
    removed = 0
    # What is removed may have been all that kept other words from being code or a marker, so it is looked at again.
    # So are the markers that are moved out of a link.
    for _ in range(_MOST_PASSES):
        found = references(document, known)
        wrong = [reference for reference in found if reference.orphans or reference.renamed]
        if not wrong:
            return document, removed, found
        document = _without(document, wrong)
        removed += sum(reference.orphans for reference in wrong)
        if not any(reference.orphans or reference.moved for reference in wrong):
            break
    return document, removed, references(document, known)


def without_strangers(text: str, sources: Sequence[Source]) -> tuple[str, int]:
    """Return the text without links and addresses of no source, and how many were removed; a link's words stay.

    Addresses inside code and LaTeX, and those without a scheme or `www.`, are text.
    """
    document, known, removed = parse(text), known_of(sources), 0
    for _ in range(_MOST_PASSES):
        found = list(strangers(document, known))
        if not found:
            break
        document = _without(document, found)
        removed += sum(reference.stranger for reference in found)
    return document.text, removed


def without_foreign(
    text: str, sources: Sequence[Source], dropped: Collection[Source], is_foreign: Callable[[str], bool]
) -> tuple[str, int, int]:
    """Return the text without markers of the dropped sources and without links and addresses that are foreign.

    `sources` are all that there were, the dropped ones too. Also returns how many markers and how many links were
    removed; a link's words stay, as do numbers of no source, and what is in code and LaTeX.
    """
    document, known, markers, links = parse(text), known_of(sources), 0, 0
    for _ in range(_MOST_PASSES):
        found = list(foreign(document, known, dropped, is_foreign))
        if not found:
            break
        document = _without(document, found)
        markers += sum(reference.orphans for reference in found)
        links += sum(reference.stranger for reference in found)
    return document.text, markers, links


def renumbered(text: str, numbers: Mapping[int, int]) -> str:
    """Return the text with other numbers in its markers; those that are not among `numbers` stay."""
    document = parse(text)
    return _without(document, renamed(document, numbers)).text


def format_result(answer: Answer) -> str:
    """Return an answer as the text that a tool hands to a model: the result, then every source in the service's order.

    Markers keep the service's numbers; those of no source are left out, so that no model goes looking for it. What
    pages say is `quoted`.
    """
    text, _ = without_orphans(answer_text(answer), answer.sources)
    listed = [
        f"- [{s.number}] {one_line(s.title)} ({one_line(s.date or 'N/A')}) [{encode_url(s.url)}]"
        for s in answer.sources
    ]
    return "\n".join(["<result>", text, "</result>", "", "<references>", *listed, "</references>"])


def _without(document: Document, found: Iterable[Reference]) -> Document:
    """Return the document with each reference replaced by what stays of it."""
    text, place = document.text, 0
    edits: list[Edit] = []
    for reference in found:
        start, end = _with_spaces(text, reference)
        stays = reference.text + "".join(f"[{source.number}]" for source in reference.sources)
        stays = stays or _joint(text[max(0, start - 1) : start], text[end : end + 1])
        edits.append(Edit(max(place, start), end, stays))
        place = end
    return document.replace(edits)


def _with_spaces(text: str, reference: Reference) -> tuple[int, int]:
    """Widen a reference that goes by the spaces before it, or after it if it begins a line."""
    start, end = reference.start, reference.end
    if reference.sources or reference.text:
        return start, end
    before = start
    while before and text[before - 1] in " \t":
        before -= 1
    if before and text[before - 1] not in "\r\n":
        return before, end
    return start, next((i for i in range(end, len(text)) if text[i] not in " \t"), len(text))


def _joint(before: str, after: str) -> str:
    """Return what must replace a marker, so that its neighbours do not become one."""
    return _JOINER if _OF_A_MARKER.match(before) and _OF_A_MARKER.match(after) else ""


def _numbered(
    pieces: Sequence[str | Source], sources: Sequence[Source], orphans: int, blocks: tuple[Block, ...] | None
) -> Cited:
    markers: dict[Source, Marker] = {}
    # To find a source by its fields takes longer than to know it again.
    known: dict[int, Marker] = {}
    marked: list[str | Marker] = []
    for piece in pieces:
        if isinstance(piece, str):
            marked.append(piece)
            continue
        if id(piece) not in known:
            known[id(piece)] = markers.setdefault(piece, Marker(number=len(markers) + 1, source=piece))
        marked.append(known[id(piece)])
    return Cited(
        pieces=tuple(piece for piece in marked if piece),
        sources=tuple(markers),
        others=tuple(source for source in sources if source not in markers),
        orphans=orphans,
        blocks=blocks,
    )
