"""Perplexity's key, tried by a request that costs nothing: the list of models."""

from __future__ import annotations

from collections.abc import Sequence

from bot.doctor.examining import Case
from bot.doctor.report import Finding, fault, warning, well
from perplexity.client import PerplexityClient
from perplexity.errors import AuthenticationError, BillingError, ConnectionFailed, PerplexityError, TimedOut
from perplexity.retry import RetryPolicy

ABOUT = "Perplexity"

_KEYS = "Make a key at https://console.perplexity.ai and set PERPLEXITY_API_KEY."


async def check(case: Case) -> Sequence[Finding]:
    """List the models that the key may use."""
    settings = case.settings
    key = settings.perplexity_api_key
    if key is None:
        return [warning(ABOUT, "No key is set: passages that DuckDuckGo finds answer, and no model.", fix=_KEYS)]
    try:
        async with PerplexityClient(
            key.get_secret_value(),
            base_url=settings.perplexity_base_url,
            open_timeout=settings.open_timeout,
            retry=RetryPolicy(attempts=1),
        ) as client:
            await client.models()
    except PerplexityError as error:
        return [_explained(error)]
    return [well(ABOUT, "The key is taken. Whether there is credit was not tried, since that costs.")]


def _explained(error: PerplexityError) -> Finding:
    match error:
        case AuthenticationError():
            return fault(ABOUT, "Perplexity does not take the key.", fix=_KEYS)
        case BillingError():
            return fault(ABOUT, "The account is out of credit.", fix="Buy credit at https://console.perplexity.ai.")
        case ConnectionFailed() | TimedOut():
            fix = "Check the network, a proxy (HTTPS_PROXY) and PERPLEXITY_BASE_URL."
            return fault(ABOUT, "Perplexity cannot be reached.", fix=fix)
        case _:
            status = f"status {error.status}" if error.status else type(error).__name__
            text = f"The key could not be tried: the list of models cannot be read ({status})."
            return warning(ABOUT, text, fix="Ask a question to try it, which costs something.")
