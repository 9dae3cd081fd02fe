"""The providers. To add a provider, add a module to this package and an entry to `PROVIDERS`."""

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
"""The providers by their names in settings, in the default order in which they are asked."""


def build_providers(config: ProviderConfig, *, order: Sequence[str] = ()) -> list[Provider]:
    """Build the providers that `order` names, by default all, and return those that are usable, first choice first.

    A provider is not usable if `config` lacks its key. Raises InvalidRequest if `order` has a name that is unknown or
    given twice.
    """
    names = validate_order(order) or tuple(PROVIDERS)
    made = (PROVIDERS[name].build(config) for name in names)
    return [provider for provider in made if provider is not None]


@asynccontextmanager
async def open_providers(config: ProviderConfig, *, order: Sequence[str] = ()) -> AsyncIterator[list[Provider]]:
    """Yield the providers that `build_providers` returns, and close them when the block ends."""
    async with AsyncExitStack() as stack:
        providers = build_providers(config, order=order)
        for provider in providers:
            if isinstance(provider, AbstractAsyncContextManager):
                await stack.enter_async_context(provider)
        yield providers


def validate_order(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names of providers in lower case. Raises InvalidRequest if one is unknown or given twice."""
    checked = tuple(name.strip().lower() for name in names if name.strip())
    for name in checked:
        if name not in PROVIDERS or checked.count(name) > 1:
            hint = "" if name in PROVIDERS else did_you_mean(name, PROVIDERS)
            raise InvalidRequest.for_field(
                "providers", name, f"{hint}it takes each of {', '.join(PROVIDERS)} at most once"
            )
    return checked


def text_generators(providers: Sequence[Provider]) -> list[Provider]:
    """Return the providers that have a model, which can write from a given text; the others can only search."""
    return [
        provider
        for provider in providers
        if provider.name in {perplexity.PerplexityProvider.name, openrouter.OpenRouter.name}
    ]
