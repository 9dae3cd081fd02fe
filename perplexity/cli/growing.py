"""An answer's text while it comes: which blocks of it are finished, and which may still change. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import accumulate

from perplexity.citations import cite
from perplexity.cli.printable import printable
from perplexity.formulas import unfinished
from perplexity.prose import Kind, blocks, regions
from perplexity.types import Source


@dataclass
class Growing:
    """Takes the pieces and the sources. What was given as finished is never given again."""

    sources: tuple[Source, ...] = ()
    finished: str = ""
    _pieces: list[str] = field(default_factory=list)

    def add(self, piece: str) -> None:
        """Take the next piece."""
        self._pieces.append(piece)

    def cut(self) -> tuple[str, str]:
        """Return the blocks that are finished since the last cut, and those behind them.

        Nothing is finished while the text refers to a source that is not known yet: some services name theirs last.
        """
        cited = cite("".join(self._pieces), self.sources)
        text = printable(cited.text)
        end = _last_block(text) if self.sources and not cited.orphans else 0
        if not text.startswith(self.finished) or end < len(self.finished):
            return "", text.removeprefix(self.finished)
        new, self.finished = text[len(self.finished) : end], text[:end]
        return new, text[end:]

    def rest(self, text: str) -> str | None:
        """Return what of the whole text was not given as finished; None when the whole is another text by now."""
        return text.removeprefix(self.finished) if text.startswith(self.finished) else None


def _last_block(text: str) -> int:
    """Return where the last block begins that is in no other, nor in a formula, whose lines can look like blocks."""
    starts = [0, *accumulate(map(len, text.splitlines(keepends=True)))]
    begun = [starts[token.map[0]] for token in blocks(text) if token.level == 0 and token.map]
    formulas = [(region.start, region.end) for region in regions(text) if region.kind is Kind.MATH]
    formulas.append((unfinished(text), len(text)))
    while begun and formulas:
        start, end = formulas[-1]
        (begun if start < begun[-1] < end else formulas).pop()
    return begun[-1] if begun else 0
