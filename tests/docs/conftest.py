"""A Perplexity and a model on loopback for what the pages show."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.fakes.model_server import FakeModelServer, Says, Turn, calls
from tests.fakes.perplexity import FakePerplexity


@pytest.fixture
async def perplexity() -> AsyncIterator[FakePerplexity]:
    async with FakePerplexity() as fake:
        yield fake


@pytest.fixture
async def model() -> AsyncIterator[FakeModelServer]:
    """Give a model that searches once, and then says what it was told."""
    async with FakeModelServer(turn) as fake:
        yield fake


def turn(messages: list[dict[str, Any]]) -> Turn:
    """Search once, then say that there is nothing; instructions do not count."""
    said = [message for message in messages if message["role"] not in {"system", "developer"}]
    return Says(text="Nothing yet.") if len(said) > 1 else calls("WebSearch", query="new in PostgreSQL 19")
