"""The agent behind `/ask --agent`, as the settings have it; where they lack one, nobody, who says so."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Protocol

from bot.errors import AgentNotSetUp
from bot.settings import Settings
from perplexity.providers.base import Provider
from perplexity.types import Answer, Attempt, Question

log = logging.getLogger(__name__)


class Agent(Protocol):
    """A model that searches step by step before it answers."""

    async def answer(self, question: Question) -> Answer:
        """Return one sourced answer. Raises a PerplexityError, and nothing else, when it fails."""
        ...


@dataclass(frozen=True, kw_only=True)
class Nobody:
    """In place of an agent that is not set up; `missing` is the setting's name."""

    missing: str = "AGENT_MODEL"

    async def answer(self, question: Question) -> Answer:
        """Tell the log what is missing; raise AgentNotSetUp."""
        log.warning("agent.not_set_up", extra={"setting": self.missing})
        raise AgentNotSetUp(f"{self.missing} is not set")


NOBODY = Nobody()


@asynccontextmanager
async def opened_agent(
    settings: Settings, *, provider: Provider, on_attempt: Callable[[Attempt], None]
) -> AsyncIterator[Agent]:
    """Give the agent, whose tools search and ask by way of `provider`, and close it at the end.

    `on_attempt` hears how each of its runs ended.
    """
    if settings.agent_lacks is not None:
        yield Nobody(missing=settings.agent_lacks)
        return
    # Over a second and 1,000 modules, for those who have an agent.
    from perplexity.agent import AgentLimits, WebAgent, model_at, tools_over

    model = model_at(
        settings.agent_base_url,
        name=settings.agent_model,
        api_key=settings.agent_key,
        open_timeout=settings.open_timeout,
    )
    limits = AgentLimits(retries=settings.retry_attempts - 1)
    async with WebAgent(model, tools_over(provider), limits=limits, on_attempt=on_attempt) as agent:
        yield agent
