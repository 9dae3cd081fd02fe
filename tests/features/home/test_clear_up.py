"""A stop in the home tab replaces the status message."""

from __future__ import annotations

import pytest

from tests.driver import Driver
from tests.end_to_end.test_clear_up import ask, wait_until_cleared
from tests.end_to_end.test_edits import TS


@pytest.mark.parametrize("text", ["/search wheels", "/ask why?", "search wheels", "news technology", "why?"])
async def test_a_stop_in_the_home_tab_replaces_the_status_message(harness: Driver, text: str) -> None:
    question = await ask(harness, text)

    await harness.open_home("stop")  # where a click has no address for a reply
    await harness.press_home("stop", question)
    await wait_until_cleared(harness)

    shown = harness.slack.thread("DU1", TS) or [p for p in harness.slack.posts if p.method == "response_url"]
    assert "*Stopped" in shown[-1].shown_text
    assert '"stop"' not in shown[-1].shown_text
