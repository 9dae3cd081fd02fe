"""Deep dives, as the settings have them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

from bot.retrying import retry_policy
from bot.settings import Settings
from perplexity.deadlines import Deadlines
from perplexity.fallback import Fallback
from perplexity.news.deepdive_types import Persona
from perplexity.news.diver import Diver, writers
from perplexity.providers.base import Provider
from perplexity.social.grok import Grok
from perplexity.social.grok_choice import grok_for
from perplexity.social.telling import Telling
from perplexity.types import Attempt


@asynccontextmanager
async def opened_diver(
    settings: Settings,
    providers: Sequence[Provider],
    *,
    facts: Provider,
    on_attempt: Callable[[Attempt], None],
) -> AsyncIterator[Diver]:
    """Give who makes deep dives: facts by the chain, posts by Grok where a key leads to it, a model to write.

    `on_attempt` hears how each attempt ended, but of those at the facts, of which the chain tells.
    """
    async with AsyncExitStack() as stack:
        grok = _grok(settings)
        if grok is not None:
            await stack.enter_async_context(grok)
        deadlines = Deadlines(reasoning=settings.reasoning_chain_seconds)
        yield Diver(
            facts=facts,
            pulse=Telling(source=grok, on_attempt=on_attempt) if grok is not None else None,
            synthesis=Fallback(
                writers(providers),
                deadlines=deadlines,
                reasoning_effort=settings.reasoning_effort,
                on_attempt=on_attempt,
            ),
            persona=Persona(
                name=settings.persona_name, **({"prompt": settings.persona_prompt} if settings.persona_prompt else {})
            ),
        )


def _grok(settings: Settings) -> Grok | None:
    keys, base_urls = settings.provider_keys, settings.provider_base_urls | {"xai": settings.xai_base_url}
    if settings.xai_api_key is not None:
        keys = keys | {"xai": settings.xai_api_key.get_secret_value()}
    return grok_for(keys, base_urls, retry=retry_policy(settings), open_timeout=settings.open_timeout)
