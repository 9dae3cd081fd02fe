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
        grown = self
        pieces = []
        for piece in cited.pieces:
            if isinstance(piece, Marker):
                grown, number = grown._with(piece.source)
                pieces.append(f"[{number}]")
            else:
                pieces.append(piece)
        for source in () if cited.sources else cited.others:
            grown, _ = grown._with(source)
        return "".join(pieces), replace(grown, orphans=grown.orphans + cited.orphans)

    def _with(self, source: Source) -> tuple[Numbering, int]:
        address = linkable(source.url) or source.url
        if address in self.addresses:
            return self, self.addresses.index(address) + 1
        listed = replace(source, number=len(self.sources) + 1, aliases=())
        grown = replace(self, sources=(*self.sources, listed), addresses=(*self.addresses, address))
        return grown, listed.number
