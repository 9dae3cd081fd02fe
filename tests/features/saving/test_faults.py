"""What is saved although its channel or its text was deleted."""

from __future__ import annotations

import pytest

from bot.listeners.clicks import TEXT_DELETED
from tests.driver import Driver
from tests.end_to_end.test_interaction_faults import answer


async def test_deleted_channel__an_answer_is_saved_as_a_file(harness: Driver) -> None:
    message = await answer(harness)
    harness.slack.delete_channel()
    await harness.click(message, "more", "save")

    await harness.slack.wait_until(lambda: bool(harness.slack.files))


@pytest.mark.settings(retention_days=0)
async def test_a_text_that_is_not_kept_is_gone(harness: Driver) -> None:
    answer = await harness.answered("/ask why")

    assert await harness.told(answer, "more", "save") == TEXT_DELETED
