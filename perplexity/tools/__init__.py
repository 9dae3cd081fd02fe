"""Web search as tools for agents of any kind. To add a tool, add a module and a line in `TOOLS`."""

from perplexity.tools import (
    agentic_web_search,
    duckduckgo_search,
    fallback_search,
    news_deepdive,
    news_summary,
    perplexity_search,
    web_search,
)
from perplexity.tools.agentic_web_search import create_agentic_web_search_tool
from perplexity.tools.base import Failure, Tool
from perplexity.tools.duckduckgo_search import create_duckduckgo_tool
from perplexity.tools.fallback_search import create_websearch_tool
from perplexity.tools.news_deepdive import create_news_deepdive_tool
from perplexity.tools.news_summary import create_news_summary_tool
from perplexity.tools.perplexity_search import create_perplexity_search_tool
from perplexity.tools.web_search import create_web_search_tool

TOOLS: tuple[Tool, ...] = (
    web_search.TOOL,
    agentic_web_search.TOOL,
    perplexity_search.TOOL,
    duckduckgo_search.TOOL,
    fallback_search.TOOL,
    news_summary.TOOL,
    news_deepdive.TOOL,
)
"""Every tool, ready to be called: keys and addresses are read from the environment at each call."""

__all__ = [
    "TOOLS",
    "Failure",
    "Tool",
    "create_agentic_web_search_tool",
    "create_duckduckgo_tool",
    "create_news_deepdive_tool",
    "create_news_summary_tool",
    "create_perplexity_search_tool",
    "create_web_search_tool",
    "create_websearch_tool",
]
