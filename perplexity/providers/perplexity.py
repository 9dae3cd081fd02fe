"""Perplexity: its Search API returns ranked pages; its Agent API answers, or Sonar if that is set."""

from __future__ import annotations

from collections.abc import Sequence

from perplexity.client import BASE_URL, DEFAULT_BASE_URL, KEYS, PerplexityClient
from perplexity.errors import AuthenticationError, BillingError, ConnectionFailed, PerplexityError, TimedOut
from perplexity.limiter import CallKind
from perplexity.providers.base import SEARCH_AND_ANSWER, Diagnosis, ProviderConfig, ProviderSpec
from perplexity.retry import RetryPolicy
from perplexity.transport import Closing


class PerplexityProvider(Closing):
    """A `PerplexityClient` as a provider; closing the provider closes the client."""

    name = "Perplexity"
    search_only = False
    resumes = True
    announces_requests = True
    capabilities = SEARCH_AND_ANSWER

    def __init__(self, client: PerplexityClient) -> None:
        self.search, self.answer, self.stream, self.cancel = client.search, client.answer, client.stream, client.cancel
        self._client = client

    async def close(self) -> None:
        """Close the client's connections; `async with` does so at the end."""
        await self._client.close()


def build(config: ProviderConfig) -> PerplexityProvider | None:
    """Return the provider, or None if `config` has no key for it."""
    if "perplexity" not in config.keys:
        return None
    limiter = config.limiter

    async def on_limit(kind: CallKind, per_minute: int, used: int | None) -> None:
        if limiter is not None:
            await limiter.replied(PerplexityProvider.name, kind, per_minute=per_minute, used=used)

    return PerplexityProvider(
        PerplexityClient(
            config.keys["perplexity"],
            api=config.api,
            base_url=config.address("perplexity", DEFAULT_BASE_URL),
            session=config.session,
            open_timeout=config.open_timeout,
            retry=config.retry,
            limits=config.timeouts,
            proxy=config.proxy,
            ca_bundle=config.ca_bundle,
            reasoning_effort=config.reasoning_effort,
            on_limit=on_limit,
        )
    )


async def check(config: ProviderConfig) -> Sequence[Diagnosis]:
    """Check the key by listing the models that it may use."""
    try:
        async with PerplexityClient(
            config.keys["perplexity"],
            base_url=config.address("perplexity", DEFAULT_BASE_URL),
            open_timeout=config.open_timeout,
            ca_bundle=config.ca_bundle,
            retry=RetryPolicy(attempts=1),
        ) as client:
            await client.models()
    except PerplexityError as error:
        return [_diagnose(error)]
    return [Diagnosis(severity="ok", text="The key is accepted. Credit was not tried, since that costs.")]


def _diagnose(error: PerplexityError) -> Diagnosis:
    match error:
        case AuthenticationError():
            fix = "Make a key at https://console.perplexity.ai and set PERPLEXITY_API_KEY."
            return Diagnosis(severity="error", text="Perplexity refuses the key.", fix=fix, key_refused=True)
        case BillingError():
            fix = "Buy credit at https://console.perplexity.ai."
            return Diagnosis(severity="error", text="The account is out of credit.", fix=fix, key_refused=True)
        case ConnectionFailed() | TimedOut():
            fix = "Check the network, a proxy (HTTPS_PROXY), certificates (CA_BUNDLE) and PERPLEXITY_BASE_URL."
            return Diagnosis(severity="error", text="Perplexity cannot be reached.", fix=fix)
        case _:
            status = f"status {error.status}" if error.status else type(error).__name__
            text = f"The key could not be tried: the list of models cannot be read ({status})."
            return Diagnosis(severity="warning", text=text, fix="Ask a question to try it, which costs something.")


SPEC = ProviderSpec(
    title=PerplexityProvider.name,
    build=build,
    key_variables=KEYS,
    base_url_variable=BASE_URL,
    base_url=DEFAULT_BASE_URL,
    check=check,
    perplexity_models=True,
)
