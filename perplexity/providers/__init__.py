"""The list of providers. A new one is a file in this package and a line in `PROVIDERS`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager

from perplexity.errors import InvalidRequest
from perplexity.formatting import did_you_mean
from perplexity.providers import brave, duckduckgo, openrouter, perplexity
from perplexity.providers.base import Provider, ProviderConfig, ProviderSpec

PROVIDERS: Mapping[str, ProviderSpec] = {
    "perplexity": perplexity.SPEC,
    "openrouter": openrouter.SPEC,
    "brave": brave.SPEC,
    "duckduckgo": duckduckgo.SPEC,
}
"""The providers by their name in settings, in the order in which they are asked."""


def build_providers(config: ProviderConfig, *, order: Sequence[str] = ()) -> list[Provider]:
    """Return the usable providers, first choice first: those named in `order`, by default all.

    Raises InvalidRequest for a name that is unknown or given twice.
    """
    names = validate_order(order) or tuple(PROVIDERS)
    made = (PROVIDERS[name].build(config) for name in names)
    return [provider for provider in made if provider is not None]


@asynccontextmanager
async def open_providers(config: ProviderConfig, *, order: Sequence[str] = ()) -> AsyncIterator[list[Provider]]:
    """Yield the providers as `build_providers` returns them, and close them at the end."""
    async with AsyncExitStack() as stack:
        providers = build_providers(config, order=order)
        for provider in providers:
            if isinstance(provider, AbstractAsyncContextManager):
                await stack.enter_async_context(provider)
        yield providers


def validate_order(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names in lower case. Raises InvalidRequest for a name that is unknown or given twice."""
    checked = tuple(name.strip().lower() for name in names if name.strip())
    for name in checked:
        if name not in PROVIDERS or checked.count(name) > 1:
            hint = "" if name in PROVIDERS else did_you_mean(name, PROVIDERS)
            raise InvalidRequest.for_field(
                "providers", name, f"{hint}it takes each of {', '.join(PROVIDERS)} at most once"
            )
    return checked


def text_generators(providers: Sequence[Provider]) -> list[Provider]:
    """Return the providers whose models write from given text, since a search engine would search for the text."""
    return [
        provider
        for provider in providers
        if provider.name in {perplexity.PerplexityProvider.name, openrouter.OpenRouter.name}
    ]
