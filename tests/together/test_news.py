"""The buttons below news, in their order."""

from __future__ import annotations

import pytest

from tests.driver import Driver, actions
from tests.end_to_end.test_news import private_news

pytestmark = pytest.mark.features("ask_about", "digests", "sharing")


async def test_the_buttons_of_news_are_in_order(harness: Driver) -> None:
    assert actions(await private_news(harness)) == ["follow_up", "share", "digest_modal", "more"]
