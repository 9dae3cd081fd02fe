"""The client for Grok, which reads X: `async with Grok(key) as grok`.

https://docs.x.ai/docs/api-reference#api-key
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Mapping
from dataclasses import replace
from datetime import date

from perplexity.api import ApiClient
from perplexity.errors import AuthenticationError, PerplexityError
from perplexity.providers.base import ProviderConfig
from perplexity.retry import Deadline, Retrier, RetryPolicy, is_safe_to_repeat
from perplexity.transport import OPEN_SECONDS, Closing, Transport
from perplexity.x_posts.grok import OpenRouterWire, XaiWire
from perplexity.x_posts.parsing import validate_response
from perplexity.x_posts.types import GrokWire, PostSummary

KEY_PATH, KEY_SECONDS = "/api-key", 5.0

BLOCKED_FLAGS = ("api_key_blocked", "api_key_disabled", "team_blocked")


class Grok(Closing):
    """Reads public opinion on X. Each post read costs half a cent, so at most twenty are requested.

    `wire` selects the service, by default xAI, and `api_key` is a key of that service. `base_url` must be https, except
    on loopback. Raises InvalidRequest for an invalid key or address.
    """

    def __init__(
        self,
        api_key: str,
        *,
        wire: GrokWire | None = None,
        base_url: str | None = None,
        open_timeout: float = OPEN_SECONDS,
        ca_bundle: str = "",
        retry: RetryPolicy | None = None,
    ) -> None:
        self._wire: GrokWire = wire or XaiWire()
        self.name: str = self._wire.name
        base_url = base_url or self._wire.base_url
        self._transport = Transport(api_key, base_url=base_url, open_timeout=open_timeout, ca_bundle=ca_bundle)
        retries = Retrier(policy=retry or RetryPolicy(), sleep=asyncio.sleep, random=random.random)
        self._api = ApiClient(transport=self._transport, retries=retries, now=time.time, error_map=self._wire.dialect)

    async def close(self) -> None:
        """Close the client's connections; `async with` does so at the end."""
        await self._transport.close()

    async def summarize(self, topic: str, *, since: date, until: date, seconds: float) -> PostSummary:
        """Summarize posts from `since` to `until`, both included. Raises any PerplexityError.

        A request is retried only if the first one certainly had no effect, because posts that were read are charged.
        """
        started = time.monotonic()
        wire = self._wire
        body = wire.build(topic, since=since, until=until)
        deadline = Deadline.after(seconds, time.monotonic)
        try:
            response = await self._api.request("POST", wire.path, body, deadline=deadline, retryable=is_safe_to_repeat)
            return replace(validate_response(wire.read(response)), seconds=time.monotonic() - started)
        except PerplexityError as error:
            translated = wire.translate_error(error)
            if translated is error:
                raise
            raise translated from error

    async def check_key(self) -> None:
        """Check the key of xAI with one request, which costs nothing.

        Raises AuthenticationError if the key is blocked or refused, or InvalidRequest if it is wrong, since xAI answers
        a wrong key with a 400. Raises another PerplexityError if the check itself fails.
        """
        response = await self._api.request("GET", KEY_PATH, deadline=Deadline.after(KEY_SECONDS, time.monotonic))
        if any(response.get(name) is True for name in BLOCKED_FLAGS):
            raise AuthenticationError("the key is blocked or disabled", provider=self.name)


SERVICES: Mapping[str, GrokWire] = {"xai": XaiWire(), "openrouter": OpenRouterWire()}
"""The services by name. xAI is preferred, because only xAI reports how many posts it has read."""


def build_grok(config: ProviderConfig) -> Grok | None:
    """Return Grok at the first of `SERVICES` with a key; None if no service has one.

    Raises InvalidRequest for an invalid key or address.
    """
    for name, wire in SERVICES.items():
        if key := config.keys.get(name):
            return Grok(
                key,
                wire=wire,
                base_url=config.base_urls.get(name),
                retry=config.retry,
                open_timeout=config.open_timeout,
                ca_bundle=config.ca_bundle,
            )
    return None
