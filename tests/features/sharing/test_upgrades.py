"""What was shared before an upgrade stays shared."""

from __future__ import annotations

from tests.driver import Driver
from tests.end_to_end.test_upgrades import database, old_answer, rolling

__all__ = ["database", "rolling"]


async def test_an_answer_that_was_shared_is_not_shared_again(harness: Driver) -> None:
    answer = await old_answer(harness, "what are wheels?")

    assert "already" in await harness.told(answer, "share")
