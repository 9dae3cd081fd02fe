"""The model behind an agent: any endpoint that speaks OpenAI's chat completions."""

from __future__ import annotations

from urllib.parse import urlsplit

from httpx2 import AsyncClient, AsyncHTTPTransport, Limits, Timeout
from openai import AsyncOpenAI
from pydantic_ai.models import DEFAULT_HTTP_TIMEOUT, Model, create_async_httpx2_client
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.models.openrouter import OpenRouterModel
from pydantic_ai.providers import Provider
from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider
from pydantic_ai.providers.openrouter import OpenRouterProvider

from perplexity.addresses import site
from perplexity.errors import InvalidRequest
from perplexity.proxies import check_proxies, is_loopback
from perplexity.transport import OPEN_SECONDS, checked_open_timeout

OPENROUTER = "openrouter.ai"


def model_at(base_url: str, *, name: str, api_key: str | None, open_timeout: float = OPEN_SECONDS) -> Model:
    """Return the model of that name, such as `vendor/model`; an endpoint of one's own may want no key.

    OpenRouter tells its cost, and some of its errors, in a way of its own, which pydantic-ai knows. `open_timeout` is
    the seconds for opening a connection. Raises InvalidRequest for an OpenRouter without a key and for an
    `open_timeout` that is not allowed, ConnectionFailed for a proxy in the environment that cannot be used.
    """
    if is_loopback(urlsplit(base_url).hostname or ""):
        own = OpenAICompatibleProvider("agent", base_url=base_url, api_key=api_key, http_client=_without_proxy())
        return OpenAIChatModel(name, provider=_opening(own, open_timeout))
    check_proxies()
    if site(base_url) != OPENROUTER:
        other = OpenAICompatibleProvider("agent", base_url=base_url, api_key=api_key)
        return OpenAIChatModel(name, provider=_opening(other, open_timeout))
    if not api_key:
        raise InvalidRequest.of("api_key", "", "OpenRouter wants a key")
    return OpenRouterModel(name, provider=_opening(OpenRouterProvider(api_key=api_key), open_timeout))


def _opening(provider: Provider[AsyncOpenAI], seconds: float) -> Provider[AsyncOpenAI]:
    """Return the provider, which opens a connection in this time. Raises InvalidRequest for a time that is none."""
    # Without a limit for the pool: pydantic-ai puts limits of its own in the place of four that are equal.
    provider.client.timeout = Timeout(DEFAULT_HTTP_TIMEOUT, connect=checked_open_timeout(seconds), pool=None)
    return provider


def _without_proxy() -> AsyncClient:
    """Return a client for this machine, which reads no proxy from the environment.

    It keeps no idle connection: one that is handed to pydantic-ai is not closed with the model.
    """
    return create_async_httpx2_client(transport=AsyncHTTPTransport(limits=Limits(max_keepalive_connections=0)))
