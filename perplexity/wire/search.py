"""The Search API: `POST /search`. No function here does I/O.

https://docs.perplexity.ai/api-reference/search-post
"""

from __future__ import annotations

from collections.abc import Mapping

from perplexity.errors import MalformedResponse
from perplexity.types import JSON, Query, SearchResults
from perplexity.wire.base import common_filters
from perplexity.wire.json import as_objects, shape_of
from perplexity.wire.sources import merge

PATH = "/search"
PROVIDER = "Perplexity Search"

DOLLARS = 0.005
FAST_DOLLARS = 0.001
"""The prices of one usual and of one `fast` request, whatever the request finds.

https://docs.perplexity.ai/docs/getting-started/pricing
"""


def build(query: Query) -> dict[str, JSON]:
    """Return the request's body for a checked query."""
    filters = query.filters
    wanted = {
        **common_filters(filters),
        "search_language_filter": list(filters.languages),
        "country": filters.country,
        "search_mode": filters.mode,
        "search_type": "fast" if query.fast else None,
    }
    return {
        "query": query.text,
        "max_results": query.max_results,
        "max_tokens_per_page": query.max_tokens_per_page,
        **{name: value for name, value in wanted.items() if value},
    }


def parse_results(body: Mapping[str, JSON], *, fast: bool = False, seconds: float = 0.0) -> SearchResults:
    """Return the pages, which may be grouped by query, numbered from 1. Raises MalformedResponse without a list."""
    results = body.get("results")
    if not isinstance(results, list):
        raise MalformedResponse("the response has no results", provider=PROVIDER)
    pages = as_objects(results)
    if len(pages) < len(results):
        groups = [group if isinstance(group, list) else [group] for group in results]
        pages = [page for group in groups for page in as_objects(group)]
    # If this API sends ids, they are ignored, because they are not the numbers that a reader sees.
    return SearchResults(
        results=merge(pages, by_id=False),
        provider=PROVIDER,
        seconds=seconds,
        cost_usd=FAST_DOLLARS if fast else DOLLARS,
        shape=shape_of(body),
    )
