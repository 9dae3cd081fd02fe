"""News that came by a command can be asked on by their button."""

from __future__ import annotations

from tests.driver import Driver
from tests.end_to_end.test_news import assert_asked_on, private_news


async def test_news_can_be_asked_on(harness: Driver) -> None:
    await harness.click(await private_news(harness), "follow_up")
    await harness.submit(question="Where is the first?")
    await assert_asked_on(harness)
