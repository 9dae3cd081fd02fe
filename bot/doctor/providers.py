"""Checks of the providers and of posts on X."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from bot.doctor.checks import Context, Finding, Severity, ok, warning
from bot.services import provider_config
from perplexity.errors import AuthenticationError, ConnectionFailed, InvalidRequest, PerplexityError, TimedOut
from perplexity.providers import PROVIDERS
from perplexity.providers.base import ProviderSpec
from perplexity.retry import RetryPolicy
from perplexity.x_posts.client import Grok


async def check_perplexity(context: Context) -> Sequence[Finding]:
    """Check the key for Perplexity, the provider with which the app works best; return a warning if there is no key."""
    if "perplexity" not in context.settings.provider_keys:
        text = "No key is set: passages that DuckDuckGo finds answer, and no model."
        fix = "Make a key at https://console.perplexity.ai and set PERPLEXITY_API_KEY."
        return [warning(text, fix=fix)]
    return await _check_provider(PROVIDERS["perplexity"], context)


async def check_fallback(context: Context) -> Sequence[Finding]:
    """Check every other provider that has a key."""
    specs = [PROVIDERS[name] for name in PROVIDERS if name != "perplexity" and name in context.settings.provider_keys]
    checked = await asyncio.gather(*(_check_provider(spec, context) for spec in specs))
    return [finding for findings in checked for finding in findings]


async def _check_provider(spec: ProviderSpec, context: Context) -> Sequence[Finding]:
    if spec.check is None:
        return [ok(f"{spec.title} has a key. It was not tried, since that costs.")]
    settings = context.settings
    xai = {} if settings.xai_api_key is None else {"xai": settings.xai_api_key.get_secret_value()}
    config = replace(provider_config(settings), keys=settings.provider_keys | xai)
    return [
        Finding(severity=Severity[found.severity.upper()], text=found.text, fix=found.fix)
        for found in await spec.check(config)
    ]


_XAI_KEYS = (
    "Make a key at https://console.x.ai and set XAI_API_KEY. "
    "Or unset it: OpenRouter then reads the posts, if it has a key."
)


async def check_x_posts(context: Context) -> Sequence[Finding]:
    """Ask xAI whether it accepts the key.

    Return nothing without a key: OpenRouter then reads the posts, or a deep dive says that it has no posts.
    """
    settings = context.settings
    key = settings.xai_api_key
    if key is None:
        return []
    try:
        async with Grok(
            key.get_secret_value(),
            base_url=settings.xai_base_url,
            open_timeout=settings.open_timeout,
            ca_bundle=settings.ca_bundle,
            retry=RetryPolicy(attempts=1),
        ) as grok:
            await grok.check_key()
    except PerplexityError as error:
        return [_x_posts_failure(error)]
    return [ok("xAI accepts the key. Credit was not tried, since that costs.")]


def _x_posts_failure(error: PerplexityError) -> Finding:
    """Return a warning, not an error, whatever the problem is: the app runs without posts on X."""
    match error:
        case AuthenticationError() | InvalidRequest():
            return warning("xAI refuses the key.", fix=_XAI_KEYS)
        case ConnectionFailed() | TimedOut():
            fix = "Check the network, a proxy (HTTPS_PROXY), certificates (CA_BUNDLE) and XAI_BASE_URL."
            return warning("xAI cannot be reached.", fix=fix)
        case _:
            status = f"status {error.status}" if error.status else type(error).__name__
            text = f"The key could not be tried: xAI says nothing about it ({status})."
            return warning(text, fix="Ask for a deep dive to try it, which costs something.")
