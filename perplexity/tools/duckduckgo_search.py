"""web_search: the best pages for a query as text, by default from DuckDuckGo, which needs no key."""

from __future__ import annotations

import logging

from perplexity.errors import NothingFound, PerplexityError
from perplexity.providers.base import OnAttempt, Provider
from perplexity.providers.duckduckgo import DuckDuckGo
from perplexity.sanitize import encode_url, one_line
from perplexity.tools.base import Failure, Tool
from perplexity.tools.environment import with_reporting
from perplexity.tools.schemas import object_schema
from perplexity.types import Query, SearchResults, parse_max_results

log: logging.Logger = logging.getLogger(__name__)

NAME = "web_search"
DESCRIPTION = "Searches the web for information using a query string"
PARAMETERS = object_schema({"query": {"type": "string", "description": "The search query string"}}, required=["query"])
SYSTEM_PROMPT_LINE = (
    "- web_search(query): Searches the web using DuckDuckGo to find "
    "up-to-date information or external documentation. Use when local files or commands don't provide the answer."
)
"""A line for the system prompt of an agent, on when to use the tool."""
MAX_RESULTS = 3
NO_RESULTS = (
    "No results found for {!r}. Try other words. A search that is refused looks the same: another tool may find some."
)


def create_duckduckgo_tool(
    provider: Provider, *, max_results: int = MAX_RESULTS, on_attempt: OnAttempt | None = None
) -> Tool:
    """Return the tool; its handler takes `query` and returns title, snippet and address of each page as text.

    `provider` may be DuckDuckGo or any other. `max_results` limits the pages, from 1 to 20. `on_attempt` is called
    after each search; the default logs it. A search that fails in any way is logged and returns a text that says so.
    Raises InvalidRequest for an invalid number.
    """
    searching, most = with_reporting(provider, on_attempt), parse_max_results(max_results, name="max_results")

    async def handler(query: str) -> str:
        try:
            return _text(await searching.search(Query(text=query, max_results=most)), most) or NO_RESULTS.format(query)
        except Exception as error:  # noqa: BLE001 - the model gets a text for any failure and can go on
            # The error's message may quote the query, so only its class is logged.
            log.error("web_search.failed", extra={"provider": provider.name, "error": type(error).__name__})
            if isinstance(error, NothingFound):
                return NO_RESULTS.format(query)
            if isinstance(error, PerplexityError):
                return Failure(f"Web search failed: {provider.name} {error.summary}: {error.message}")
            return Failure(f"Web search failed: {provider.name} failed ({type(error).__name__})")

    return Tool(name=NAME, description=DESCRIPTION, parameters=PARAMETERS, handler=handler)


def _text(found: SearchResults, most: int) -> str:
    return "\n\n".join(
        f"Title: {one_line(source.title)}\nSnippet: {one_line(source.snippet)}\nURL: {encode_url(source.url)}"
        for source in found.results[:most]
    )


async def _search(query: str) -> str:
    """Search with a new provider at each call, because its resources belong to one event loop."""
    return await create_duckduckgo_tool(DuckDuckGo()).handler(query)


TOOL = Tool(name=NAME, description=DESCRIPTION, parameters=PARAMETERS, handler=_search)
"""The tool, ready to be called."""
