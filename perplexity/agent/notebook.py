"""What one run found: its pages, each under one number for the whole run, its searches, their costs and notes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from perplexity.addresses import linkable
from perplexity.agent.findings import Finding
from perplexity.citations import cite
from perplexity.quoting import quoted, quoted_address, untagged
from perplexity.types import Source

LONGEST_TEXT = 20_000
LONGEST_SNIPPET = 4_000
NOTHING = "Nothing was found."


@dataclass(kw_only=True)
class Notebook:
    """Kept during one run; pages are numbered from 1 as they come in, a page that comes again keeps its number."""

    pages: dict[str, Source] = field(default_factory=dict)
    queries: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    stand_ins: list[str] = field(default_factory=list)
    costs: list[float] = field(default_factory=list)
    calls: int = 0

    @property
    def sources(self) -> tuple[Source, ...]:
        """The pages, by number."""
        return tuple(self.pages.values())

    def note(self, finding: Finding) -> str:
        """Take the pages in, and return the finding for the model: its markers are this run's numbers."""
        self.charge(finding.cost_usd)
        self.notes += [note for note in finding.notes if note not in self.notes]
        if finding.stand_in and finding.stand_in not in self.stand_ins:
            self.stand_ins.append(finding.stand_in)
        numbered = {source: self._numbered(source) for source in finding.sources if linkable(source.url)}
        # Markers that become shorter make room for a little more of it, but not for twice as much.
        cited = cite(finding.text[: 2 * LONGEST_TEXT], tuple(numbered))
        text = "".join(p if isinstance(p, str) else f"[{numbered[p.source].number}]" for p in cited.pieces)
        return "\n\n".join(filter(None, (untagged(text[:LONGEST_TEXT]), _listed(list(numbered.values()))))) or NOTHING

    def charge(self, cost_usd: float | None) -> None:
        """Take down what a call cost, if that is known."""
        if cost_usd is not None:
            self.costs.append(cost_usd)

    def _numbered(self, source: Source) -> Source:
        """Return the page under its number; what it did not say the first time, it may say now."""
        address = linkable(source.url) or source.url
        known = self.pages.get(address)
        if known is None:
            known = replace(source, number=len(self.pages) + 1, aliases=())
        elif len(source.snippet) > len(known.snippet) or known.title == known.url:
            known = replace(source, number=known.number, date=source.date or known.date, aliases=())
        self.pages[address] = known
        return known


def _listed(pages: Sequence[Source]) -> str:
    """List pages as the model reads them: number, title, date, address, and what they say."""
    if not pages:
        return ""
    return "\n".join(["<pages>", *map(_page, pages), "</pages>"])


def _page(page: Source) -> str:
    head = f"[{page.number}] {quoted(page.title)} ({quoted(page.date or 'no date')}) {quoted_address(page.url)}"
    return "\n".join(filter(None, (head, quoted(page.snippet)[:LONGEST_SNIPPET])))
