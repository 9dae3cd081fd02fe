"""The form below search results gone wrong: a deleted channel, a text that is gone."""

from __future__ import annotations

import pytest

from bot.listeners.clicks import TEXT_DELETED
from tests.driver import Driver
from tests.end_to_end.test_interaction_faults import is_answered_directly, view_of


async def test_deleted_channel__it_is_answered_in_the_direct_message(harness: Driver) -> None:
    await is_answered_directly(
        harness, lambda harness: view_of(harness, "/search why", "ask_about"), {"question": "why?"}
    )


@pytest.mark.settings(retention_days=0)
async def test_a_text_that_is_not_kept_is_gone(harness: Driver) -> None:
    answer = await harness.answered("/search why")

    assert await harness.told(answer, "ask_about") == TEXT_DELETED
