"""An MCP server with the same tools, under the same names, as Perplexity's own server.

https://github.com/perplexityai/modelcontextprotocol (version 1.2.1), https://modelcontextprotocol.io/specification
"""

from perplexity.extras import require

require("mcp")
