"""What is shared after its text was deleted."""

from __future__ import annotations

import pytest

from bot.listeners.clicks import TEXT_DELETED
from tests.driver import Driver


@pytest.mark.settings(retention_days=0)
async def test_a_text_that_is_not_kept_is_gone(harness: Driver) -> None:
    answer = await harness.answered("/ask why")

    assert await harness.told(answer, "share") == TEXT_DELETED
