"""Brave: ranked pages, news, and passages as answers; no model writes anything."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from urllib.parse import urlencode

from perplexity.api import ApiClient
from perplexity.domains import filter_results
from perplexity.errors import AuthenticationError, BillingError, RateLimitError, named_errors
from perplexity.filters import require_web
from perplexity.models import Timeouts
from perplexity.providers.base import PassageProvider, ProviderConfig, ProviderSpec
from perplexity.retry import Deadline, Retrier, RetryPolicy, is_retryable_unpaid
from perplexity.transport import OPEN_SECONDS, Closing, ProxyFor, Session, Transport, proxy_for
from perplexity.types import Query, SearchResults, validate_query
from perplexity.wire import brave
from perplexity.wire.errors import ErrorMap

ERROR_MAP = ErrorMap(
    types={
        "SUBSCRIPTION_TOKEN_INVALID": AuthenticationError,
        "SUBSCRIPTION_NOT_FOUND": AuthenticationError,
        "RESOURCE_NOT_ALLOWED": AuthenticationError,
        "OPTION_NOT_IN_PLAN": AuthenticationError,
        "QUOTA_LIMITED": BillingError,
        "RATE_LIMITED": RateLimitError,
    }
)
"""Brave's errors by their type, because the status alone can mislead.

A wrong key has status 422, and status 429 can mean that the month's credit is used up:
https://api-dashboard.search.brave.com/app/documentation
"""

BASE_URL = "https://api.search.brave.com/res/v1"


class Brave(Closing, PassageProvider):
    """Brave Search as a provider; it answers with passages.

    `session`, `open_timeout`, `retry`, `proxy`, `ca_bundle` and the clocks are as for `PerplexityClient`, and
    `timeouts` are the `limits` there.
    """

    name = brave.PROVIDER
    announces_requests = True

    def __init__(
        self,
        api_key: str,
        *,
        base_url: str = BASE_URL,
        session: Session | None = None,
        open_timeout: float = OPEN_SECONDS,
        retry: RetryPolicy | None = None,
        timeouts: Timeouts | None = None,
        proxy: ProxyFor = proxy_for,
        ca_bundle: str = "",
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], float] = time.time,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        random: Callable[[], float] = random.random,
    ) -> None:
        self._transport = Transport(
            api_key,
            base_url=base_url,
            session=session,
            open_timeout=open_timeout,
            auth_headers=_auth_headers,
            proxy=proxy,
            ca_bundle=ca_bundle,
        )
        retries = Retrier(policy=retry or RetryPolicy(), sleep=sleep, random=random)
        self._api = ApiClient(transport=self._transport, retries=retries, now=now, error_map=ERROR_MAP)
        self._seconds = (timeouts or Timeouts()).search
        self._clock, self._now = clock, now

    async def close(self) -> None:
        """Close the connections; `async with` does so at the end."""
        await self._transport.close()

    async def search(self, query: Query) -> SearchResults:
        """Return ranked pages, or news if `query.news` is set. Costs half a cent. Raises any PerplexityError."""
        return await self._search(query, brave.NEWS if query.news else brave.WEB)

    async def find(self, query: Query) -> SearchResults:
        """Return news if `query.news` is set, otherwise pages with passages for a model. Raises any PerplexityError."""
        return await self._search(query, brave.NEWS if query.news else brave.CONTEXT)

    async def _search(self, query: Query, path: str) -> SearchResults:
        started = self._clock()
        with named_errors(self.name):
            query = validate_query(query)
            require_web(query.filters, service=self.name)
            today = datetime.fromtimestamp(self._now(), UTC).date()
            address = f"{path}?{urlencode(brave.build(query, path=path, today=today))}"
            seconds = self._seconds if query.seconds is None else min(query.seconds, self._seconds)
            deadline = Deadline.after(seconds, self._clock)
            body = await self._api.request(
                "GET", address, deadline=deadline, retryable=is_retryable_unpaid, asked=query
            )
            found = brave.parse_results(body, path=path, most=query.max_results)
        found = replace(found, seconds=self._clock() - started, notes=brave.notes(query))
        return filter_results(found, query.filters.enforced)


def build(config: ProviderConfig) -> Brave | None:
    """Return the provider, or None if `config` has no key for it."""
    if "brave" not in config.keys:
        return None
    return Brave(
        config.keys["brave"],
        base_url=config.address("brave", BASE_URL),
        session=config.session,
        open_timeout=config.open_timeout,
        retry=config.retry,
        timeouts=config.timeouts,
        proxy=config.proxy,
        ca_bundle=config.ca_bundle,
    )


SPEC = ProviderSpec(
    title=Brave.name,
    build=build,
    key_variables=("BRAVE_API_KEY",),
    base_url_variable="BRAVE_BASE_URL",
    base_url=BASE_URL,
)


def _auth_headers(key: str) -> Mapping[str, str]:
    return {"X-Subscription-Token": key}
