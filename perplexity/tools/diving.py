"""Who makes deep dives for a tool, or for the command line: the services whose keys the environment holds."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

from perplexity.fallback import Fallback
from perplexity.news.deepdive_types import Persona
from perplexity.news.diver import Diver, writers
from perplexity.providers import opened
from perplexity.providers.setup import Setup
from perplexity.social.grok import Grok
from perplexity.social.grok_choice import grok_for
from perplexity.tools.access import setup_from


@asynccontextmanager
async def opened_diver(environ: Mapping[str, str], *, order: Sequence[str] = ()) -> AsyncIterator[Diver]:
    """Give the diver, and close its connections at the end.

    XAI_API_KEY is the key of the service that reads posts, XAI_BASE_URL its address; without it OpenRouter reads them,
    where it has a key. PERSONA_NAME and PERSONA_PROMPT say who writes the analysis. Raises InvalidRequest.
    """
    async with AsyncExitStack() as stack:
        setup = setup_from(environ)
        providers = await stack.enter_async_context(opened(setup, order=order))
        grok = _grok(environ, setup)
        if grok is not None:
            await stack.enter_async_context(grok)
        yield Diver(
            facts=Fallback(providers),
            pulse=grok,
            synthesis=Fallback(writers(providers)),
            persona=_persona(environ),
        )


def _grok(environ: Mapping[str, str], setup: Setup) -> Grok | None:
    keys = {**setup.keys, "xai": environ.get("XAI_API_KEY", "").strip()}
    return grok_for(keys, {**setup.base_urls, "xai": environ.get("XAI_BASE_URL", "")})


def _persona(environ: Mapping[str, str]) -> Persona:
    usual = Persona()
    return Persona(
        name=environ.get("PERSONA_NAME", "").strip() or usual.name,
        prompt=environ.get("PERSONA_PROMPT", "").strip() or usual.prompt,
    )
