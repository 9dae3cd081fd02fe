"""A web agent on pydantic-ai: a model that calls tools until it can answer, and cites only pages that they returned.

https://ai.pydantic.dev/agents/
"""

from perplexity.extras import require

require("agent")

# These import the packages of the extra.
from perplexity.agent.agent import NAME, AgentLimits, ObservedModel, ToolFactory, WebAgent, build_model  # noqa: E402
from perplexity.agent.tools import provider_tools  # noqa: E402

__all__ = ["NAME", "AgentLimits", "ObservedModel", "ToolFactory", "WebAgent", "build_model", "provider_tools"]
