"""Who makes deep dives for a tool, or for the command line: the services whose keys the environment holds."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace

from perplexity.attempts import OnAttempt, log_attempt
from perplexity.environment import first
from perplexity.errors import InvalidRequest
from perplexity.fallback import Fallback
from perplexity.news.deepdive_types import Persona
from perplexity.news.diver import Diver, writers
from perplexity.providers import opened
from perplexity.providers.setup import Setup
from perplexity.social.grok_choice import grok_for
from perplexity.social.telling import Telling
from perplexity.tools.access import Usable, usable_setup, without, wrong_variable
from perplexity.tools.reporting import reported

_XAI_KEYS, _XAI_ADDRESS = ("XAI_API_KEY",), "XAI_BASE_URL"


def usable_diver_setup(environ: Mapping[str, str]) -> Usable:
    """Return as `usable_setup` does, with the key of XAI_API_KEY and the address of XAI_BASE_URL if they are right."""
    usable = usable_setup(environ)
    try:
        return replace(usable, setup=with_xai(environ, usable.setup))
    except InvalidRequest as error:
        return without("xai", str(error), usable)


def with_xai(environ: Mapping[str, str], setup: Setup) -> Setup:
    """Return the setup with what the environment holds for xAI. Raises InvalidRequest, which names the variable."""
    key, address = first(environ, *_XAI_KEYS), first(environ, _XAI_ADDRESS)
    if not key:
        return setup
    whole = replace(setup, keys={**setup.keys, "xai": key}, base_urls={**setup.base_urls, "xai": address})
    try:
        grok_for(whole.keys, whole.base_urls)
    except InvalidRequest as error:
        raise InvalidRequest(wrong_variable(error, environ, keys=_XAI_KEYS, address=_XAI_ADDRESS)) from None
    return whole


@asynccontextmanager
async def opened_diver(
    environ: Mapping[str, str],
    *,
    setup: Setup,
    order: Sequence[str] = (),
    on_attempt: OnAttempt = log_attempt,
) -> AsyncIterator[Diver]:
    """Give the diver over the services of the setup, and close its connections at the end.

    xAI reads posts if the setup holds its key, else OpenRouter does. PERSONA_NAME and PERSONA_PROMPT say who writes the
    analysis. `on_attempt` hears how each attempt ended. Raises InvalidRequest.
    """
    async with AsyncExitStack() as stack:
        providers = await stack.enter_async_context(opened(setup, order=order))
        grok = grok_for(setup.keys, setup.base_urls, open_timeout=setup.open_timeout)
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


def _persona(environ: Mapping[str, str]) -> Persona:
    usual = Persona()
    return Persona(
        name=environ.get("PERSONA_NAME", "").strip() or usual.name,
        prompt=environ.get("PERSONA_PROMPT", "").strip() or usual.prompt,
    )
