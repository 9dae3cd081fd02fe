"""Perplexity: ranked pages by its Search API, answers by its Agent API."""

from __future__ import annotations

from collections.abc import AsyncIterator

from perplexity.client import PerplexityClient
from perplexity.types import Answer, Event, Query, Question, SearchResults


class PerplexityProvider:
    """An open client as a provider."""

    name = "Perplexity"

    def __init__(self, client: PerplexityClient) -> None:
        self._client = client

    async def search(self, query: Query) -> SearchResults:
        """Return ranked pages. Raises any PerplexityError."""
        return await self._client.search(query)

    async def answer(self, question: Question) -> Answer:
        """Return one sourced answer. Raises any PerplexityError."""
        return await self._client.answer(question)

    def stream(self, question: Question) -> AsyncIterator[Event]:
        """Yield events while the answer is made; the last one is `Done`. Raises any PerplexityError."""
        return self._client.stream(question)
