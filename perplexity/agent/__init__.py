"""A web agent: a model that calls tools until it can answer, on pydantic-ai. Every citation is a page a tool returned.

https://ai.pydantic.dev/agents/
"""

from perplexity.extras import require

require("agent")

from perplexity.agent.agent import (  # noqa: E402
    NAME,
    AgentLimits,
    ToolFactory,
    WebAgent,
    build_model,
)
from perplexity.agent.tools import provider_tools  # noqa: E402 - it imports what the extra brings

__all__ = ["NAME", "AgentLimits", "ToolFactory", "WebAgent", "build_model", "provider_tools"]
