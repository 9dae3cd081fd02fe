"""The services of the tools on loopback."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from aiohttp import ClientSession

from tests.fakes.duckduckgo import FakeDuckDuckGo, Hit, PointDdgsAt
from tests.fakes.perplexity import KEY, FakePerplexity

HITS = [
    Hit(title="Python", url="https://python.org/", body="Free   threads\n are <b>here</b>."),
    Hit(title="PyPI", url="https://pypi.org/"),
    Hit(title="Docs", url="https://docs.python.org/"),
    Hit(title="Fourth", url="https://example.com/4"),
]


@pytest.fixture
async def fake() -> AsyncIterator[FakePerplexity]:
    async with FakePerplexity() as server:
        yield server


@pytest.fixture
async def session() -> AsyncIterator[ClientSession]:
    async with ClientSession() as opened:
        yield opened


@pytest.fixture
async def services(
    fake: FakePerplexity, point_ddgs_at: PointDdgsAt, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[FakePerplexity]:
    """Yield a Perplexity whose key and address are in the environment; DuckDuckGo is served too."""
    monkeypatch.setenv("PERPLEXITY_API_KEY", KEY)
    monkeypatch.setenv("PERPLEXITY_BASE_URL", fake.base_url)
    async with FakeDuckDuckGo(HITS) as duckduckgo:
        point_ddgs_at(duckduckgo.url)
        yield fake
