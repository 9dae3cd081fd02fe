from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.fakes.perplexity import KEY, FakePerplexity


@pytest.fixture
async def fake() -> AsyncIterator[FakePerplexity]:
    async with FakePerplexity() as server:
        yield server


@pytest.fixture
def settings(fake: FakePerplexity) -> dict[str, str]:
    """The environment of a command that can reach the fake only."""
    return {
        "PERPLEXITY_API_KEY": KEY,
        "PERPLEXITY_BASE_URL": fake.base_url,
        # DuckDuckGo needs no key; a proxy that does not exist keeps the chain's last resort on this machine.
        "DDGS_PROXY": "http://127.0.0.1:9",
    }
