"""An MCP server that offers what Perplexity's own one offers, under the same names.

https://github.com/perplexityai/modelcontextprotocol (version 1.3.0), https://modelcontextprotocol.io/specification
"""

from perplexity.extras import require

require("mcp")

from perplexity.mcp_server.server import serve_http, serve_stdio  # noqa: E402 - it imports what the extra brings

__all__ = ["serve_http", "serve_stdio"]
