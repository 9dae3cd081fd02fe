"""A Perplexity on loopback for what the pages show."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.fakes.perplexity import FakePerplexity


@pytest.fixture
async def perplexity() -> AsyncIterator[FakePerplexity]:
    async with FakePerplexity() as fake:
        yield fake
