"""A web agent: a model that calls tools until it can answer, on pydantic-ai. Every citation is a page a tool returned.

https://ai.pydantic.dev/agents/
"""

from perplexity.agent.chain import tools_over
from perplexity.agent.endpoint import model_at
from perplexity.agent.web_agent import NAME, AgentLimits, Toolbox, WebAgent

__all__ = ["NAME", "AgentLimits", "Toolbox", "WebAgent", "model_at", "tools_over"]
