"""How fast people ask keeps no one from pausing."""

from __future__ import annotations

import pytest

from tests.driver import Driver


@pytest.mark.settings(user_questions_per_minute=1)
async def test_pause_is_taken_from_who_asks_too_fast(harness: Driver) -> None:
    shown = [await harness.ask("/ask why", trigger=f"t{number}") for number in range(2)]

    assert shown[1]["text"].startswith("You’ve asked a lot in a short time.")
    assert "Only admins" in (await harness.ask("/pplx pause", trigger="p"))["text"]
