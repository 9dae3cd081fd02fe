"""Web search as tools for agents of any kind. A new tool is a file beside this, and a line here."""

from perplexity.tools.agentic_web_search import create_agentic_web_search_tool
from perplexity.tools.base import Tool
from perplexity.tools.web_search import create_web_search_tool

__all__ = ["Tool", "create_agentic_web_search_tool", "create_web_search_tool"]
