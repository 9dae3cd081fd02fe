"""The markers in an answer's text and the sources that they refer to. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from perplexity.addresses import linkable
from perplexity.prose import Kind, regions
from perplexity.quoting import quoted, quoted_address, told
from perplexity.types import Answer, Source

_NUMBERS = r"[ \t]{0,8}(?:web:)?[0-9]{1,3}(?:[ \t]{0,8}[,;][ \t]{0,8}(?:web:)?[0-9]{1,3})*[ \t]{0,8}"
_ADDRESS = (
    r"\([ \t]{{0,8}}<?(?P<{name}>[^\s()<>]*(?:\([^\s()<>]*\)[^\s()<>]*)*)>?"
    r"(?:[ \t]{{1,8}}(?:\"[^\"\n]*\"|'[^'\n]*'))?[ \t]{{0,8}}\)"
)
_FOUND = re.compile(
    rf"(?:\[\[(?P<double>{_NUMBERS})\]\]{_ADDRESS.format(name='double_address')}"
    rf"|(?:\\?\[|【)(?P<numbers>{_NUMBERS})(?:\\?\]|】)(?:{_ADDRESS.format(name='address')})?"
    rf"|\[(?P<label>[^\[\]【】\n]+)\]{_ADDRESS.format(name='label_address')}"
    r"|<?(?P<bare>https?://[^\s<>\[\]()|`\"]+)>?)"
)
_NUMBER = re.compile("[0-9]+")
_SENTENCE_END = ".,;:!?'’”*_~"
_OF_A_MARKER = frozenset("[]0123456789,;:web【】\\")
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


@dataclass(frozen=True, kw_only=True)
class _Known:
    """The retrieved sources by the service's number and by address."""

    numbers: Mapping[int, Source]
    addresses: Mapping[str, Source]


@dataclass(frozen=True, kw_only=True)
class _Reference:
    """A place in the text that refers to sources: what stays of it as text, and the sources; both may be empty."""

    start: int
    end: int
    text: str
    sources: tuple[Source, ...]
    orphans: int
    renamed: bool = False


def cite(text: str, sources: Sequence[Source]) -> Cited:
    """Find the markers of a text and number them by first use.

    Markers are `[1]`, `[2][3]`, `[1, 2]`, `[web:4]`, `【1】` and links whose text is such a number; they count only
    outside code and LaTeX. A link to a retrieved page keeps its words and gets that page's marker. Markers of no source
    are removed, with the space before them, and counted; a number of four digits or more is no marker.
    """
    known = _known(sources)
    text, orphans = without_orphans(text, sources)
    pieces: list[str | Source] = []
    place = 0
    for reference in _references(text, known):
        found: tuple[str | Source, ...] = (text[place : reference.start] + reference.text, *reference.sources)
        for piece in found:
            if piece and [piece] != pieces[-1:]:
                pieces.append(piece)
        place = reference.end
    return _numbered([*pieces, text[place:]], sources, orphans)


def without_orphans(text: str, sources: Sequence[Source]) -> tuple[str, int]:
    """Return the text without its references to no source, and how many were removed; aliases become numbers."""
    known, removed = _known(sources), 0
    # What is removed may have been all that kept other words from being code or a marker, so it is looked at again.
    for _ in range(_MOST_PASSES):
        text, count = _remove_orphans(text, known)
        removed += count
        if not count:
            break
    return text, removed


def format_result(answer: Answer) -> str:
    """Return an answer as the text that a tool hands to a model: the result, then every source in the service's order.

    Markers keep the service's numbers; those of no source are left out, so that no model goes looking for it. What
    pages say is `quoted`.
    """
    text, _ = without_orphans(told(answer), answer.sources)
    listed = [
        f"- [{s.number}] {quoted(s.title)} ({quoted(s.date or 'N/A')}) [{quoted_address(s.url)}]"
        for s in answer.sources
    ]
    return "\n".join(["<result>", text, "</result>", "", "<references>", *listed, "</references>"])


def _known(sources: Sequence[Source]) -> _Known:
    addresses = {address: source for source in reversed(sources) if (address := linkable(source.url))}
    aliases = {alias: source for source in reversed(sources) for alias in source.aliases}
    return _Known(numbers=aliases | {source.number: source for source in reversed(sources)}, addresses=addresses)


def _references(text: str, known: _Known) -> Iterator[_Reference]:
    for region in regions(text):
        if region.kind is Kind.PROSE:
            for match in _FOUND.finditer(text, region.start, region.end):
                if reference := _read(match, known):
                    yield reference


def _read(match: re.Match[str], known: _Known) -> _Reference | None:
    for label, address in (("double", "double_address"), ("numbers", "address")):
        if match[label] is not None:
            return _of_numbers(match, match[label], match[address], known)
    address = match["label_address"] or (match["bare"] or "").rstrip(_SENTENCE_END)
    source = known.addresses.get(linkable(address) or "")
    if source is None:
        return None
    end = match.end() if match["label"] or match[0].startswith("<") else match.start() + len(address)
    shown = match["label"] or match.string[match.start() : end]
    return _Reference(start=match.start(), end=end, text=f"{shown} ", sources=(source,), orphans=0)


def _of_numbers(match: re.Match[str], numbers: str, address: str | None, known: _Known) -> _Reference:
    """Read a marker. Of a link whose text is a number, the address is only believed when it was retrieved."""
    wanted = [int(number) for number in _NUMBER.findall(numbers)]
    linked = known.addresses.get(linkable(address or "") or "")
    named = {number: known.numbers[number] for number in wanted if number in known.numbers}
    found = [linked] if linked else list(dict.fromkeys(named.values()))
    orphans = 0 if linked else sum(number not in named for number in wanted)
    renamed = not linked and any(source.number != number for number, source in named.items())
    return _Reference(
        start=match.start(), end=match.end(), text="", sources=tuple(found), orphans=orphans, renamed=renamed
    )


def _remove_orphans(text: str, known: _Known) -> tuple[str, int]:
    kept: list[str] = []
    place = removed = 0
    for reference in _references(text, known):
        if reference.orphans or reference.renamed:
            removed += reference.orphans
            start, end = _with_spaces(text, reference)
            stays = "".join(f"[{source.number}]" for source in reference.sources)
            kept += [text[place:start], stays or _joint(text[max(0, start - 1) : start], text[end : end + 1])]
            place = end
    return "".join([*kept, text[place:]]), removed


def _with_spaces(text: str, reference: _Reference) -> tuple[int, int]:
    """Widen a reference that goes by the spaces before it, or after it where it begins a line."""
    start, end = reference.start, reference.end
    if reference.sources:
        return start, end
    before = len(text[:start].rstrip(" \t"))
    if before and text[before - 1] not in "\r\n":
        return before, end
    return start, next((i for i in range(end, len(text)) if text[i] not in " \t"), len(text))


def _joint(before: str, after: str) -> str:
    """Return what must stand where a marker was, so that its neighbours do not become one."""
    return _JOINER if before in _OF_A_MARKER and after in _OF_A_MARKER else ""


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
