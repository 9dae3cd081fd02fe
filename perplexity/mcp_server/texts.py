"""Replies as the text of a tool's result. Pure."""

from __future__ import annotations

from perplexity.citations import without_orphans
from perplexity.quoting import harmless, quoted, quoted_address, told
from perplexity.stand_in import stand_in
from perplexity.types import Answer, SearchResults, Source


def pages_text(results: SearchResults, *, nothing: str = "No pages were found.") -> str:
    """Return who stands in, if anyone does, and the pages, each with its number, title, address, text and date.

    `nothing` stands in for the pages if there are none.
    """
    pages = [_page(number, source) for number, source in enumerate(results.results, 1)]
    found = [f"Found {len(pages)} pages:", *pages] if pages else [nothing]
    return harmless("\n\n".join(filter(None, (stand_in(results), *found, *results.notes))))


def response_text(answer: Answer) -> str:
    """Return the answer, remarks on how it came about, and at its end the addresses that its numbers stand for.

    Who stands in, and that no source is as new as was asked for, comes first.
    """
    text, _ = without_orphans(told(answer), answer.sources)
    above = [*filter(None, (stand_in(answer), answer.as_of))]
    cut = [f"The answer is incomplete ({answer.incomplete})."] if answer.incomplete else []
    cited = [f"[{source.number}] {quoted_address(source.url)}" for source in answer.sources]
    citations = ["\n".join(["Citations:", *cited])] if cited else []
    return harmless("\n\n".join([*above, text, *cut, *answer.notes, *citations]))


def _page(number: int, source: Source) -> str:
    lines = [f"{number}. {quoted(source.title)}", f"URL: {quoted_address(source.url)}", quoted(source.snippet)]
    return "\n   ".join([*filter(None, lines), *([f"Date: {quoted(source.date)}"] if source.date else [])])
