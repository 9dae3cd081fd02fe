"""The buttons below an old answer, after an upgrade."""

from __future__ import annotations

from tests.driver import Driver
from tests.end_to_end.test_upgrades import database, old_answer, rolling

__all__ = ["database", "rolling"]


async def test_an_old_answer_is_rated(harness: Driver) -> None:
    rated = await old_answer(harness, "are heat pumps cheap?")
    await harness.click(rated, "feedback", "down")
    assert await harness.submit(comment="It is not.") == {}
    assert await harness.rows("SELECT user_id, up, comment FROM feedback") == [("U1", False, "It is not.")]
