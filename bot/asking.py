"""Who is asked, and how long each may take, as the settings have it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from bot.agent import Agent, opened_agent
from bot.diving import opened_diver
from bot.retrying import retry_policy
from bot.settings import Settings
from perplexity.deadlines import Deadlines
from perplexity.fallback import Fallback
from perplexity.models import Limits
from perplexity.news.diver import Diver
from perplexity.providers import opened
from perplexity.providers.base import Provider
from perplexity.providers.setup import Setup
from perplexity.types import Attempt


@dataclass(frozen=True, kw_only=True)
class Asked:
    """Everybody who is asked: each provider, all of them in a chain, and whom the chain serves."""

    providers: Sequence[Provider]
    chain: Provider
    diver: Diver
    agent: Agent


@asynccontextmanager
async def opened_asked(settings: Settings, *, on_attempt: Callable[[Attempt], None]) -> AsyncIterator[Asked]:
    """Give everybody who is asked, and close them at the end; `on_attempt` hears how each attempt ended."""
    async with opened(provider_setup(settings), order=settings.provider_order) as providers:
        chain = Fallback(
            providers,
            deadlines=chain_deadlines(settings),
            reasoning_effort=settings.reasoning_effort,
            on_attempt=on_attempt,
        )
        async with (
            opened_diver(settings, providers, facts=chain, on_attempt=on_attempt) as diver,
            opened_agent(settings, provider=chain, on_attempt=on_attempt) as agent,
        ):
            yield Asked(providers=providers, chain=chain, diver=diver, agent=agent)


def chain_deadlines(settings: Settings) -> Deadlines:
    """Return how long the whole chain may take."""
    return Deadlines(
        search=settings.search_chain_seconds,
        answer=settings.answer_chain_seconds,
        reasoning=settings.reasoning_chain_seconds,
        deep=settings.deep_chain_seconds,
    )


def provider_setup(settings: Settings) -> Setup:
    """Return what the providers are made of."""
    return Setup(
        keys=settings.provider_keys,
        base_urls=settings.provider_base_urls,
        api=settings.perplexity_api,
        reasoning_effort=settings.reasoning_effort,
        limits=Limits(
            search=settings.search_provider_seconds,
            answer=settings.answer_provider_seconds,
            reasoning=settings.reasoning_provider_seconds,
            deep=settings.deep_provider_seconds,
        ),
        retry=retry_policy(settings),
        open_timeout=settings.open_timeout,
    )
