"""A web agent on pydantic-ai: a model that calls tools until it can answer, and cites only pages that they returned.

https://ai.pydantic.dev/agents/
"""

from perplexity.extras import require

require("agent")

# These modules import packages of the extra, so the check comes before them.
from perplexity.agent.agent import NAME, AgentLimits, ObservedModel, ToolFactory, WebAgent, build_model  # noqa: E402
from perplexity.agent.tools import provider_tools  # noqa: E402

__all__ = ["NAME", "AgentLimits", "ObservedModel", "ToolFactory", "WebAgent", "build_model", "provider_tools"]
