"""The markers in an answer's text and the sources that they refer to. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from perplexity.markers import DASHES
from perplexity.quoting import quoted, quoted_address, told
from perplexity.references import Known, Reference, foreign, known_of, references, renamed, strangers
from perplexity.types import Answer, Source

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
    text, _ = without_orphans(told(answer), answer.sources)
    listed = [
        f"- [{s.number}] {quoted(s.title)} ({quoted(s.date or 'N/A')}) [{quoted_address(s.url)}]"
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
