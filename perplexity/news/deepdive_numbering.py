"""One list of sources for several texts, each with numbers of its own. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from perplexity.addresses import linkable
from perplexity.citations import Marker, cite
from perplexity.types import Source


@dataclass(frozen=True, kw_only=True)
class Numbering:
    """The sources that the texts so far refer to: a source's number is its place, and that of its address.

    `orphans` were removed so far.
    """

    sources: tuple[Source, ...] = ()
    addresses: tuple[str, ...] = ()
    orphans: int = 0

    def text(self, text: str, sources: Sequence[Source]) -> tuple[str, Numbering]:
        """Return a text with its markers numbered by the one list, and the list grown by what is new in it.

        A text without any marker has all of its sources put on the list. Markers of no source are removed.
        """
        cited = cite(text, sources)
        listed = dict(zip(self.addresses, self.sources, strict=True))
        # The cited sources are in the order of their first markers, and a marker's number is its source's place there.
        numbers = [_listed(source, listed) for source in cited.sources or cited.others]
        pieces = (f"[{numbers[piece.number - 1]}]" if isinstance(piece, Marker) else piece for piece in cited.pieces)
        grown = Numbering(sources=tuple(listed.values()), addresses=tuple(listed), orphans=self.orphans + cited.orphans)
        return "".join(pieces), grown


def _listed(source: Source, listed: dict[str, Source]) -> int:
    """Return a source's number in a list by address, which grows by a source that is not in it."""
    address = linkable(source.url) or source.url
    if address not in listed:
        listed[address] = replace(source, number=len(listed) + 1, aliases=())
    return listed[address].number
