"""The markers in an answer's text and the sources that they refer to. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from html import unescape

from perplexity.markdown import Kind, regions
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


@dataclass(frozen=True, kw_only=True)
class Reference:
    """A place in the text that refers to sources: what stays of it as text, and the sources; both may be empty.

    `orphans` counts its numbers of no source; `stranger` is a link or an address of no source; `moved` are markers that
    were among the words of a link and are after it now.
    """

    start: int
    end: int
    text: str
    sources: tuple[Source, ...]
    orphans: int
    renamed: bool = False
    stranger: bool = False
    moved: bool = False


def known_of(sources: Sequence[Source]) -> Known:
    """Return the sources by number, their aliases too, and by address."""
    addresses = {address: source for source in reversed(sources) if (address := safe_url(source.url))}
    aliases = {alias: source for source in reversed(sources) for alias in source.aliases}
    return Known(numbers=aliases | {source.number: source for source in reversed(sources)}, addresses=addresses)


def references(text: str, known: Known) -> Iterator[Reference]:
    """Yield the markers, and the links and addresses of sources, in the order of the text.

    A link whose own marker follows it, as in `[Title](address).[1]`, is its words alone: one marker is enough.
    """
    found: list[Reference] = []
    ahead: set[Source] = set()
    for place in reversed(list(_places(text))):
        reference = _reference(place, known)
        if reference is None:
            continue
        gap = text[place.end : found[-1].start] if found else None
        if gap is None or not _BETWEEN.fullmatch(gap):
            ahead.clear()
        elif place.address and reference.sources and ahead.issuperset(reference.sources):
            reference = _unmarked(reference, adjacent=not gap)
        ahead.update(reference.sources)
        found.append(reference)
    yield from reversed(found)


def strangers(text: str, known: Known) -> Iterator[Reference]:
    """Yield the links and the addresses of no source, in the order of the text; of a link its words stay."""
    for place in _places(text):
        if place.inside:
            yield place.with_markers_behind()
        elif place.numbers is None and known.addresses.get(safe_url(place.address) or "") is None and place.elsewhere:
            yield place.without_address()


def foreign(
    text: str, known: Known, dropped: Collection[Source], is_foreign: Callable[[str], bool]
) -> Iterator[Reference]:
    """Yield the markers of dropped sources, and the links and addresses that are foreign, in the order of the text.

    `orphans` counts the numbers of dropped sources; the other numbers of a marker, and the words of a link, stay.
    """
    for place in _places(text):
        if place.inside:
            yield place.with_markers_behind()
            continue
        leads_away = place.elsewhere and is_foreign(place.target)
        if place.numbers is None:
            if leads_away:
                yield place.without_address()
            continue
        if linked := known.addresses.get(safe_url(place.address) or ""):
            if linked in dropped:
                yield replace(place.without_address(), orphans=1, stranger=False)
            continue
        numbers = [number for one in ranges(place.numbers) for number in one.numbers]
        kept = [number for number in numbers if known.numbers.get(number) not in dropped]
        if leads_away or len(kept) < len(numbers):
            lost = len(numbers) - len(kept)
            yield replace(place.without_address(), text=written(kept), orphans=lost, stranger=leads_away)


def renamed(text: str, numbers: Mapping[int, int]) -> Iterator[Reference]:
    """Yield the markers that have other numbers by `numbers`, with those as their text."""
    for place in _places(text):
        named = [number for one in ranges(place.numbers or "".join(place.inside)) for number in one.numbers]
        if any(numbers.get(number, number) != number for number in named):
            new = written([numbers.get(number, number) for number in named])
            yield Reference(start=place.start, end=place.end, text=f"{place.link}{new}", sources=(), orphans=0)


@dataclass(frozen=True, kw_only=True)
class _Place:
    """A marker, a link or an address in the text: its parts as they are written, empty or None for those it lacks.

    `inside` are the markers among the words of a link, which are not part of its `label`.
    """

    start: int
    end: int
    shown: str
    label: str = ""
    image: bool = False
    numbers: str | None = None
    inside: tuple[str, ...] = ()
    address: str = ""

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

    def with_markers_behind(self) -> Reference:
        """Return a reference that leaves the link and, after it, the markers among its words: a link has no links."""
        text = f"{self.link}{''.join(self.inside)}"
        start = self.start - (self.image and not self.link)
        return Reference(start=start, end=self.end, text=text, sources=(), orphans=0, renamed=True, moved=True)

    def without_address(self) -> Reference:
        """Return a reference that leaves the words of the link, if it has any."""
        start = self.start - self.image
        return Reference(start=start, end=self.end, text=self.label, sources=(), orphans=0, stranger=True)


def _places(text: str) -> Iterator[_Place]:
    for region in regions(text):
        if region.kind is Kind.PROSE:
            for match in _FOUND.finditer(text, region.start, region.end):
                yield _place(match)


def _place(match: re.Match[str]) -> _Place:
    for label, address in (("double", "double_address"), ("numbers", "address")):
        if match[label] is not None:
            return _Place(
                start=match.start(),
                end=match.end(),
                shown=match[0],
                numbers=match[label],
                address=match[address] or "",
            )
    if match["label"]:
        inside = tuple(_MARKERS_INSIDE.findall(match["label"]))
        return _Place(
            start=match.start(),
            end=match.end(),
            shown=match[0],
            label=_MARKERS_INSIDE.sub("", match["label"]).strip() if inside else match["label"],
            inside=inside,
            image=match.string.endswith("!", 0, match.start()),
            address=match["label_address"],
        )
    address = match["bare"].rstrip(_SENTENCE_END)
    end = match.end() if match[0].startswith("<") else match.start() + len(address)
    return _Place(start=match.start(), end=end, shown=match.string[match.start() : end], address=address)


def _reference(place: _Place, known: Known) -> Reference | None:
    if place.inside:
        return place.with_markers_behind()
    source = known.addresses.get(safe_url(place.address) or "")
    if place.numbers is not None:
        return _of_numbers(place, place.numbers, source, known)
    if source is None:
        return None
    text = f"{place.label or place.shown} "
    return Reference(start=place.start, end=place.end, text=text, sources=(source,), orphans=0)


def _of_numbers(place: _Place, numbers: str, linked: Source | None, known: Known) -> Reference:
    """Read a marker. Of a link whose text is a number, the address is only believed when it was retrieved."""
    if linked:
        return Reference(start=place.start, end=place.end, text="", sources=(linked,), orphans=0)
    found: dict[Source, None] = {}
    orphans, renamed = 0, not is_plain(place.shown)
    for one in ranges(numbers):
        named = {number: known.numbers[number] for number in one.numbers if number in known.numbers}
        found |= dict.fromkeys(named.values())
        # Of a range that goes on and on the rest counts as one.
        orphans += 1 if one.cut else len(one.numbers) - len(named)
        renamed = renamed or any(source.number != number for number, source in named.items())
    return Reference(start=place.start, end=place.end, text="", sources=tuple(found), orphans=orphans, renamed=renamed)


def _unmarked(reference: Reference, *, adjacent: bool) -> Reference:
    """Return a link without its marker, since that follows; what is only a number goes, unless nothing is between."""
    if not reference.text:
        return reference if adjacent else replace(reference, sources=())
    return replace(reference, text=reference.text if adjacent else reference.text.rstrip(" "), sources=())


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

    @property
    def text(self) -> str:
        """The text with its new numbers."""
        return "".join(piece if isinstance(piece, str) else f"[{piece.number}]" for piece in self.pieces)


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
    text, orphans = _without_orphans(text, known)
    pieces: list[str | Source] = []
    place = 0
    for reference in references(text, known):
        start, end = _with_spaces(text, reference)
        found: tuple[str | Source, ...] = (text[place : max(place, start)] + reference.text, *reference.sources)
        for piece in found:
            if piece and [piece] != pieces[-1:]:
                pieces.append(piece)
        place = end
    return _numbered([*pieces, text[place:]], sources, orphans)


def without_orphans(text: str, sources: Sequence[Source]) -> tuple[str, int]:
    """Return the text without its references to no source, and how many were removed; aliases become numbers."""
    return _without_orphans(text, known_of(sources))


def _without_orphans(text: str, known: Known) -> tuple[str, int]:
    removed = 0
    # What is removed may have been all that kept other words from being code or a marker, so it is looked at again.
    # So are the markers that are moved out of a link.
    for _ in range(_MOST_PASSES):
        text, count, again = _remove_orphans(text, known)
        removed += count
        if not again:
            break
    return text, removed


def without_strangers(text: str, sources: Sequence[Source]) -> tuple[str, int]:
    """Return the text without links and addresses of no source, and how many were removed; a link's words stay.

    Addresses inside code and LaTeX, and those without a scheme or `www.`, are text.
    """
    known, removed = known_of(sources), 0
    for _ in range(_MOST_PASSES):
        found = list(strangers(text, known))
        text = _without(text, found)
        removed += sum(reference.stranger for reference in found)
        if not found:
            break
    return text, removed


def without_foreign(
    text: str, sources: Sequence[Source], dropped: Collection[Source], is_foreign: Callable[[str], bool]
) -> tuple[str, int, int]:
    """Return the text without markers of the dropped sources and without links and addresses that are foreign.

    `sources` are all that there were, the dropped ones too. Also returns how many markers and how many links were
    removed; a link's words stay, as do numbers of no source, and what is in code and LaTeX.
    """
    known, markers, links = known_of(sources), 0, 0
    for _ in range(_MOST_PASSES):
        found = list(foreign(text, known, dropped, is_foreign))
        text = _without(text, found)
        markers += sum(reference.orphans for reference in found)
        links += sum(reference.stranger for reference in found)
        if not found:
            break
    return text, markers, links


def renumbered(text: str, numbers: Mapping[int, int]) -> str:
    """Return the text with other numbers in its markers; those that are not among `numbers` stay."""
    return _without(text, list(renamed(text, numbers)))


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


def _remove_orphans(text: str, known: Known) -> tuple[str, int, bool]:
    """Return the text, how many references were removed, and whether to look again."""
    found = [reference for reference in references(text, known) if reference.orphans or reference.renamed]
    orphans = sum(reference.orphans for reference in found)
    return _without(text, found), orphans, orphans > 0 or any(reference.moved for reference in found)


def _without(text: str, found: Iterable[Reference]) -> str:
    """Return the text with each reference replaced by what stays of it."""
    kept: list[str] = []
    place = 0
    for reference in found:
        start, end = _with_spaces(text, reference)
        stays = reference.text + "".join(f"[{source.number}]" for source in reference.sources)
        kept += [text[place:start], stays or _joint(text[max(0, start - 1) : start], text[end : end + 1])]
        place = end
    return "".join([*kept, text[place:]])


def _with_spaces(text: str, reference: Reference) -> tuple[int, int]:
    """Widen a reference that goes by the spaces before it, or after it where it begins a line."""
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
    """Return what must stand where a marker was, so that its neighbours do not become one."""
    return _JOINER if _OF_A_MARKER.match(before) and _OF_A_MARKER.match(after) else ""


def _numbered(pieces: Sequence[str | Source], sources: Sequence[Source], orphans: int) -> Cited:
    used = list(dict.fromkeys(piece for piece in pieces if isinstance(piece, Source)))
    numbers = {source: place for place, source in enumerate(used, 1)}
    marked = (p if isinstance(p, str) else Marker(number=numbers[p], source=p) for p in pieces)
    return Cited(
        pieces=tuple(piece for piece in marked if piece),
        sources=tuple(used),
        others=tuple(source for source in sources if source not in numbers),
        orphans=orphans,
    )
