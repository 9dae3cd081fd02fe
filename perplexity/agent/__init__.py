"""A web agent: a model that calls tools until it can answer, on pydantic-ai. Every citation is a page a tool returned.

https://ai.pydantic.dev/agents/
"""

from perplexity.extras import require

require("agent")

from perplexity.agent.chain import tools_over  # noqa: E402 - it imports what the extra brings
from perplexity.agent.endpoint import model_at  # noqa: E402
from perplexity.agent.web_agent import NAME, AgentLimits, Toolbox, WebAgent  # noqa: E402

__all__ = ["NAME", "AgentLimits", "Toolbox", "WebAgent", "model_at", "tools_over"]
