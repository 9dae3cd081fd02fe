"""The agent behind `/ask --agent`: whether all that it needs is set and installed."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

from bot.doctor.checks import Context, Finding, failure, ok, warning
from perplexity.client import PerplexityClient
from perplexity.errors import (
    AuthenticationError,
    BillingError,
    ConnectionFailed,
    InvalidRequest,
    MissingExtra,
    PerplexityError,
    TimedOut,
)
from perplexity.extras import require
from perplexity.providers.openrouter import DEFAULT_MODEL, WRITING_MODEL, OpenRouter
from perplexity.retry import RetryPolicy
from perplexity.x_posts.client import check_key
from perplexity.x_posts.openrouter import MODEL as GROK

AGENT = "Agent"


async def check_agent(context: Context) -> Sequence[Finding]:
    """Look at the agent's settings and its extra. Without AGENT_MODEL there is nothing to say."""
    settings = context.settings
    if not settings.agent_model:
        return []
    try:
        require("agent")
    except MissingExtra as error:
        text = "AGENT_MODEL is set, but the extra `agent` is not installed, so the app does not start."
        return [failure(AGENT, text, fix=f"Install it ({error.command}), or unset AGENT_MODEL.")]
    if settings.missing_agent_setting is not None:
        text = f"AGENT_MODEL is set, but {settings.missing_agent_setting} is not, so there is no `/ask --agent`."
        return [
            warning(
                AGENT, text, fix=f"Set {settings.missing_agent_setting} or OPENROUTER_API_KEY, or unset AGENT_MODEL."
            )
        ]
    return [ok(AGENT, f"{settings.agent_model} is set up. It was not tried, since that costs.")]


FALLBACK = "Fallback"

_STAND_IN = f"Nothing is to be done: {DEFAULT_MODEL} answers in its place."
_AFTER = {
    DEFAULT_MODEL: "Nothing answers in its place there: take openrouter out of PROVIDERS, or update the app.",
    WRITING_MODEL: "OpenRouter writes no analysis of a deep dive then: another service must, or update the app.",
}
"""What to do about a model that is gone and has no stand-in."""

_NO_PULSE = (
    "OpenRouter reads no posts and writes no analysis for deep dives then. "
    "Set XAI_API_KEY for the posts; for the analysis another service must write, or update the app."
)
"""The same where Grok is asked there for what people say, too."""


async def check_fallback(context: Context) -> Sequence[Finding]:
    """Look at each provider that has a key, and tell of OpenRouter's models that are gone."""
    findings = [finding async for finding in _openrouter(context)]
    if context.settings.brave_api_key is not None:
        findings.append(ok(FALLBACK, "Brave has a key. It was not tried, since that costs."))
    return findings


async def _openrouter(context: Context) -> AsyncIterator[Finding]:
    settings = context.settings
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
        yield warning(FALLBACK, text, fix="Check the network, a proxy (HTTPS_PROXY) and OPENROUTER_BASE_URL.")
        return
    after = _AFTER if context.settings.xai_api_key is not None else _AFTER | {GROK: _NO_PULSE}
    for model in gone:
        yield warning(FALLBACK, f"OpenRouter no longer serves {model}.", fix=after.get(model, _STAND_IN))
    yield ok(FALLBACK, "OpenRouter answers. Its key was not tried, since that costs.")


X_POSTS = "Posts on X"

_XAI_KEYS = (
    "Make a key at https://console.x.ai and set XAI_API_KEY. "
    "Or unset it: OpenRouter then reads the posts, where it has a key."
)


async def check_x_posts(context: Context) -> Sequence[Finding]:
    """Ask xAI about the key. Without one there is nothing to say: a deep dive says it then."""
    settings = context.settings
    key = settings.xai_api_key
    if key is None:
        return []
    try:
        await check_key(key.get_secret_value(), base_url=settings.xai_base_url, open_timeout=settings.open_timeout)
    except PerplexityError as error:
        return [_x_posts_failure(error)]
    return [ok(X_POSTS, "xAI takes the key. Whether there is credit was not tried, since that costs.")]


def _x_posts_failure(error: PerplexityError) -> Finding:
    """Say what is wrong; the app runs without posts, so none of it is a fault."""
    match error:
        case AuthenticationError() | InvalidRequest():
            return warning(X_POSTS, "xAI does not take the key.", fix=_XAI_KEYS)
        case ConnectionFailed() | TimedOut():
            fix = "Check the network, a proxy (HTTPS_PROXY) and XAI_BASE_URL."
            return warning(X_POSTS, "xAI cannot be reached.", fix=fix)
        case _:
            status = f"status {error.status}" if error.status else type(error).__name__
            text = f"The key could not be tried: xAI does not tell of it ({status})."
            return warning(X_POSTS, text, fix="Ask for a deep dive to try it, which costs something.")


PERPLEXITY = "Perplexity"

_PERPLEXITY_KEYS = "Make a key at https://console.perplexity.ai and set PERPLEXITY_API_KEY."


async def check_perplexity(context: Context) -> Sequence[Finding]:
    """List the models that the key may use."""
    settings = context.settings
    key = settings.perplexity_api_key
    if key is None:
        text = "No key is set: passages that DuckDuckGo finds answer, and no model."
        return [warning(PERPLEXITY, text, fix=_PERPLEXITY_KEYS)]
    try:
        async with PerplexityClient(
            key.get_secret_value(),
            base_url=settings.perplexity_base_url,
            open_timeout=settings.open_timeout,
            retry=RetryPolicy(attempts=1),
        ) as client:
            await client.models()
    except PerplexityError as error:
        return [_perplexity_failure(error)]
    return [ok(PERPLEXITY, "The key is taken. Whether there is credit was not tried, since that costs.")]


def _perplexity_failure(error: PerplexityError) -> Finding:
    match error:
        case AuthenticationError():
            return failure(PERPLEXITY, "Perplexity does not take the key.", fix=_PERPLEXITY_KEYS)
        case BillingError():
            return failure(
                PERPLEXITY, "The account is out of credit.", fix="Buy credit at https://console.perplexity.ai."
            )
        case ConnectionFailed() | TimedOut():
            fix = "Check the network, a proxy (HTTPS_PROXY) and PERPLEXITY_BASE_URL."
            return failure(PERPLEXITY, "Perplexity cannot be reached.", fix=fix)
        case _:
            status = f"status {error.status}" if error.status else type(error).__name__
            text = f"The key could not be tried: the list of models cannot be read ({status})."
            return warning(PERPLEXITY, text, fix="Ask a question to try it, which costs something.")
