"""web_search: three pages for a query by DuckDuckGo, which takes no key."""

from __future__ import annotations

from collections.abc import Mapping

from perplexity.errors import NothingFound, PerplexityError
from perplexity.providers.base import Provider
from perplexity.providers.duckduckgo import DuckDuckGo
from perplexity.quoting import quoted, quoted_address
from perplexity.tools.base import Failure, Tool
from perplexity.types import JSON, Query, SearchResults

NAME = "web_search"
DESCRIPTION = "Searches the web for information using a query string"
PARAMETERS: Mapping[str, JSON] = {
    "type": "object",
    "properties": {"query": {"type": "string", "description": "The search query string"}},
    "required": ["query"],
    "additionalProperties": False,
}
SYSTEM_PROMPT_LINE = (
    "- web_search(query): Searches the web using DuckDuckGo to find "
    "up-to-date information or external documentation. Use when local files or commands don't provide the answer."
)
"""What tells an agent in its system prompt when to use the tool."""
MOST_RESULTS = 3
NONE = (
    "No results found for {!r}. Try other words. A search that is refused looks the same: another tool may find some."
)


def create_duckduckgo_tool(provider: Provider) -> Tool:
    """Return the tool; its handler takes `query` and returns title, snippet and address of each page as text.

    `provider` searches: DuckDuckGo, or what stands in for it.
    """

    async def handler(query: str) -> str:
        try:
            return _text(await provider.search(Query(text=query, max_results=MOST_RESULTS)))
        except NothingFound:
            return NONE.format(query)
        except PerplexityError as error:
            return Failure(f"Web search failed: {provider.name} {error.summary}: {error.message}")

    return Tool(name=NAME, description=DESCRIPTION, parameters=PARAMETERS, handler=handler)


def _text(found: SearchResults) -> str:
    return "\n\n".join(
        f"Title: {quoted(source.title)}\nSnippet: {quoted(source.snippet)}\nURL: {quoted_address(source.url)}"
        for source in found.results
    )


async def _search(query: str) -> str:
    """Search with a provider of the call's own: what it holds belongs to one event loop."""
    return await create_duckduckgo_tool(DuckDuckGo()).handler(query)


TOOL = Tool(name=NAME, description=DESCRIPTION, parameters=PARAMETERS, handler=_search)
"""The tool, ready to be called."""
