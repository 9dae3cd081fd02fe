"""Sources: the pages of an answer, each with the sentences that cite it."""

from __future__ import annotations

from collections.abc import Sequence

from perplexity.formatting import pluralize

TITLE = "Sources"
ALL_SITES = "All sites"
NOT_CITED = "*Not cited*"


def count_pages(count: int) -> str:
    """Return how many pages were read."""
    return pluralize(count, "page")


def cited(count: int) -> str:
    """Return how many of them the answer cites."""
    return f"{count} cited"


def searched(queries: Sequence[str]) -> str:
    """Return what was searched for."""
    return f"searched: {', '.join(f'“{query}”' for query in queries)}"


def limited_to(limits: str) -> str:
    """Return which sites the search was limited to."""
    return f"limited to: {limits}"


def more_pages(count: int) -> str:
    """Return how many pages are not listed, and how to see them."""
    return f"{pluralize(count, 'more page')}. Choose a site to see its pages."


def cited_for(sentence: str, missing: Sequence[str], *, is_checked: bool) -> str:
    """Return a sentence that cites a page, and which figures of it the excerpts do not have."""
    if not is_checked:
        return f"Cited for: “{sentence}”   figures not checked in this language"
    verb = "are" if len(missing) > 1 else "is"
    note = f"   :mag: {', '.join(f'*{figure}*' for figure in missing)} {verb} not in the excerpts" if missing else ""
    return f"Cited for: “{sentence}”{note}"


def more_sentences(count: int) -> str:
    """Return how many more sentences cite a page."""
    return f"and for {pluralize(count, 'more sentence')}"
