"""Search results: their heading, and what is said if there are none."""

from __future__ import annotations

from collections.abc import Sequence

from perplexity.formatting import pluralize


def count_results(count: int) -> str:
    """Return how many results there are."""
    return pluralize(count, "result")


def heading(count: int, query: str, *, more: bool) -> str:
    """Return how many results there are for a search; with `more`, results of earlier messages came before."""
    return f"*{pluralize(count, 'more result' if more else 'result')} for* {query}"


def no_results(query: str, filters: Sequence[str]) -> str:
    """Return that nothing was found, and how to search again; `filters` are those of the search in words."""
    advice = f"without the filters ({', '.join(filters)}) or in other words" if filters else "in other words"
    return f"No results for “{query}”. Try it {advice}."


def no_more_results(query: str) -> str:
    """Return that all results were listed."""
    return f"There are no more results for “{query}”. Other words may find other pages."
