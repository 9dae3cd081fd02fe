"""The providers behind Perplexity: can they be reached. Trying their keys would cost something."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

from bot.doctor.examining import Case
from bot.doctor.report import Finding, warning, well
from perplexity.errors import PerplexityError
from perplexity.providers.openrouter import OpenRouter
from perplexity.providers.openrouter_models import DEFAULT, FOR_WRITING
from perplexity.retry import RetryPolicy
from perplexity.social.grok_openrouter import MODEL as GROK

ABOUT = "Fallback"

_STAND_IN = f"Nothing is to be done: {DEFAULT} answers in its place."
_AFTER = {
    DEFAULT: "Nothing answers in its place there: take openrouter out of PROVIDERS, or update the app.",
    FOR_WRITING: "OpenRouter writes no analysis of a deep dive then: another service must, or update the app.",
}
"""What to do about a model that is gone and has no stand-in."""

_NO_PULSE = (
    "OpenRouter reads no posts and writes no analysis for deep dives then. "
    "Set XAI_API_KEY for the posts; for the analysis another service must write, or update the app."
)
"""The same where Grok is asked there for what people say, too."""


async def check(case: Case) -> Sequence[Finding]:
    """Look at each provider that has a key, and tell of OpenRouter's models that are gone."""
    findings = [finding async for finding in _openrouter(case)]
    if case.settings.brave_api_key is not None:
        findings.append(well(ABOUT, "Brave has a key. It was not tried, since that costs."))
    return findings


async def _openrouter(case: Case) -> AsyncIterator[Finding]:
    settings = case.settings
    key = settings.openrouter_api_key
    if key is None:
        return
    try:
        async with OpenRouter(
            key.get_secret_value(),
            base_url=settings.openrouter_base_url,
            open_timeout=settings.open_timeout,
            retry=RetryPolicy(attempts=1),
        ) as provider:
            gone = await provider.check_models(seconds=5)
    except PerplexityError as error:
        status = f"status {error.status}" if error.status else type(error).__name__
        text = f"OpenRouter’s list of models cannot be read ({status})."
        yield warning(ABOUT, text, fix="Check the network, a proxy (HTTPS_PROXY) and OPENROUTER_BASE_URL.")
        return
    after = _AFTER if case.settings.xai_api_key is not None else _AFTER | {GROK: _NO_PULSE}
    for model in gone:
        yield warning(ABOUT, f"OpenRouter no longer serves {model}.", fix=after.get(model, _STAND_IN))
    yield well(ABOUT, "OpenRouter answers. Its key was not tried, since that costs.")
