"""Replies as the text of a tool's result. Pure."""

from __future__ import annotations

from perplexity.advice import reasons
from perplexity.citations import without_orphans
from perplexity.quoting import harmless, quoted, quoted_address, told
from perplexity.types import Answer, SearchResults, Source


def pages_text(results: SearchResults) -> str:
    """Return the pages, each with its number, title, address, text and date."""
    if not results.results:
        return "\n\n".join(["No pages were found.", *results.notes])
    pages = [_page(number, source) for number, source in enumerate(results.results, 1)]
    return harmless("\n\n".join([f"Found {len(pages)} pages:", *pages, *results.notes]))


def response_text(answer: Answer) -> str:
    """Return the answer, remarks on how it came about, and at its end the addresses that its numbers stand for."""
    text, _ = without_orphans(told(answer), answer.sources)
    served = [f"{answer.provider} answered, because {reasons(answer.failed)}."] if answer.failed else []
    cut = [f"The answer is incomplete ({answer.incomplete})."] if answer.incomplete else []
    cited = [f"[{source.number}] {quoted_address(source.url)}" for source in answer.sources]
    citations = ["\n".join(["Citations:", *cited])] if cited else []
    return harmless("\n\n".join([text, *cut, *answer.notes, *served, *citations]))


def _page(number: int, source: Source) -> str:
    lines = [f"{number}. {quoted(source.title)}", f"URL: {quoted_address(source.url)}", quoted(source.snippet)]
    return "\n   ".join([*filter(None, lines), *([f"Date: {quoted(source.date)}"] if source.date else [])])
