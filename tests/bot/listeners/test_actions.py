"""Clicks while the database hangs, and Slack as well: acknowledged in time anyway."""

from __future__ import annotations

import pytest

from tests.bot.listeners.clicks import assert_acknowledged


@pytest.mark.parametrize(
    "action",
    [
        "retry",
        "stop",
        "sources",
        "go_deeper",
        "more_results",
    ],
)
async def test_a_click_is_acknowledged_while_everything_hangs(action: str) -> None:
    await assert_acknowledged(action)
