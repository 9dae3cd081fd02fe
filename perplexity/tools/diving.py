"""Who makes deep dives for a tool, or for the command line: the services whose keys the environment holds."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace

from perplexity.attempts import OnAttempt, log_attempt
from perplexity.fallback import Fallback
from perplexity.news.deepdive_types import Persona
from perplexity.news.diver import Diver, writers
from perplexity.providers import opened
from perplexity.providers.setup import Setup
from perplexity.social.grok import Grok
from perplexity.social.grok_choice import grok_for
from perplexity.social.telling import Telling
from perplexity.tools.access import setup_from
from perplexity.tools.reporting import reported


@asynccontextmanager
async def opened_diver(
    environ: Mapping[str, str],
    *,
    order: Sequence[str] = (),
    setup: Setup | None = None,
    on_attempt: OnAttempt = log_attempt,
) -> AsyncIterator[Diver]:
    """Give the diver, and close its connections at the end.

    XAI_API_KEY is the key of the service that reads posts, XAI_BASE_URL its address; without it OpenRouter reads them,
    where it has a key. PERSONA_NAME and PERSONA_PROMPT say who writes the analysis. `setup` is what the providers need
    if it is known already. `on_attempt` hears how each attempt ended. Raises InvalidRequest.
    """
    async with AsyncExitStack() as stack:
        setup = setup or setup_from(environ)
        providers = await stack.enter_async_context(opened(setup, order=order))
        grok = _grok(environ, setup)
        if grok is not None:
            await stack.enter_async_context(grok)
        yield Diver(
            facts=Fallback(providers, on_attempt=on_attempt),
            pulse=None if grok is None else Telling(source=grok, on_attempt=on_attempt),
            synthesis=Fallback(writers(providers), on_attempt=on_attempt),
            persona=_persona(environ),
        )


def reporting_diver(diver: Diver, on_attempt: OnAttempt | None) -> Diver:
    """Return the diver, whose services report their attempts to the hook; without one each is a line of the log."""
    pulse = diver.pulse
    if pulse is not None and (on_attempt is not None or not isinstance(pulse, Telling)):
        pulse = Telling(source=pulse, on_attempt=on_attempt or log_attempt)
    facts, synthesis = reported(diver.facts, on_attempt), reported(diver.synthesis, on_attempt)
    return replace(diver, facts=facts, synthesis=synthesis, pulse=pulse)


def _grok(environ: Mapping[str, str], setup: Setup) -> Grok | None:
    keys = {**setup.keys, "xai": environ.get("XAI_API_KEY", "").strip()}
    base_urls = {**setup.base_urls, "xai": environ.get("XAI_BASE_URL", "")}
    return grok_for(keys, base_urls, open_timeout=setup.open_timeout)


def _persona(environ: Mapping[str, str]) -> Persona:
    usual = Persona()
    return Persona(
        name=environ.get("PERSONA_NAME", "").strip() or usual.name,
        prompt=environ.get("PERSONA_PROMPT", "").strip() or usual.prompt,
    )
