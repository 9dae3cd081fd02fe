"""The services of the tools on loopback."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

import pytest
from aiohttp import ClientSession
from ddgs.engines.duckduckgo import Duckduckgo

from tests.fakes.duckduckgo import FakeDuckDuckGo, Hit
from tests.fakes.perplexity import KEY, FakePerplexity

HITS = [
    Hit(title="Python", url="https://python.org/", body="Free   threads\n are <b>here</b>."),
    Hit(title="PyPI", url="https://pypi.org/"),
    Hit(title="Docs", url="https://docs.python.org/"),
    Hit(title="Fourth", url="https://example.com/4"),
]
PointAt = Callable[[FakeDuckDuckGo], None]


@pytest.fixture
async def fake() -> AsyncIterator[FakePerplexity]:
    async with FakePerplexity() as server:
        yield server


@pytest.fixture
async def session() -> AsyncIterator[ClientSession]:
    async with ClientSession() as opened:
        yield opened


@pytest.fixture
def point_at(monkeypatch: pytest.MonkeyPatch) -> PointAt:
    # The library has no setting for the address, so this one is turned round.
    return lambda server: monkeypatch.setattr(Duckduckgo, "search_url", server.url)


@pytest.fixture
async def services(
    fake: FakePerplexity, point_at: PointAt, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[FakePerplexity]:
    """Give a Perplexity whose key and address stand in the environment; there is a DuckDuckGo too."""
    monkeypatch.setenv("PERPLEXITY_API_KEY", KEY)
    monkeypatch.setenv("PERPLEXITY_BASE_URL", fake.base_url)
    async with FakeDuckDuckGo(HITS) as duckduckgo:
        point_at(duckduckgo)
        yield fake
