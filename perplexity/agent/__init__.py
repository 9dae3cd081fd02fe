"""A web agent on pydantic-ai: a model that calls tools until it can answer, and cites only pages that they returned.

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
from perplexity.agent.observed import ObservedModel  # noqa: E402
from perplexity.agent.tools import provider_tools  # noqa: E402 - it imports the packages of the extra

__all__ = ["NAME", "AgentLimits", "ObservedModel", "ToolFactory", "WebAgent", "build_model", "provider_tools"]
