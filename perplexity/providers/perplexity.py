"""Perplexity: ranked pages by its Search API, answers by its Agent API."""

from __future__ import annotations

from collections.abc import AsyncIterator
from types import TracebackType
from typing import Self

from perplexity.client import PerplexityClient
from perplexity.providers.base import SEARCH_AND_ANSWER, ProviderConfig
from perplexity.types import Answer, Event, Query, Question, SearchResults


class PerplexityProvider:
    """A client as a provider, which closes it at its own end."""

    name = "Perplexity"
    resumes = True
    capabilities = SEARCH_AND_ANSWER

    def __init__(self, client: PerplexityClient) -> None:
        self._client = client

    async def __aenter__(self) -> Self:
        await self._client.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._client.__aexit__(kind, error, trace)

    async def search(self, query: Query) -> SearchResults:
        """Return ranked pages. Raises any PerplexityError."""
        return await self._client.search(query)

    async def answer(self, question: Question) -> Answer:
        """Return one sourced answer. Raises any PerplexityError."""
        return await self._client.answer(question)

    async def cancel(self, run_id: str) -> None:
        """Stop a run in the background; one that has ended already is no error. Raises any PerplexityError."""
        await self._client.cancel(run_id)

    def stream(self, question: Question) -> AsyncIterator[Event]:
        """Yield events while the answer is made; the last one is `Done`. Raises any PerplexityError."""
        return self._client.stream(question)


def build(setup: ProviderConfig) -> PerplexityProvider | None:
    """Return the provider where there is a key for it."""
    if "perplexity" not in setup.keys:
        return None
    return PerplexityProvider(
        PerplexityClient(
            setup.keys["perplexity"],
            api=setup.api,
            base_url=setup.address("perplexity", "https://api.perplexity.ai"),
            session=setup.session,
            open_timeout=setup.open_timeout,
            retry=setup.retry,
            limits=setup.timeouts,
            proxy=setup.proxy,
            reasoning_effort=setup.reasoning_effort,
        )
    )
