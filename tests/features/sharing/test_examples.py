"""A recorded example is shared as one: in the preview, and in the channel."""

from __future__ import annotations

import pytest

from bot.playground.examples import RECORDED_LABEL
from fake_slack.workspace import GENERAL
from tests.end_to_end.test_examples import LINES, NEWS, answered, keyless, opened, pressed


@pytest.mark.parametrize(("line", "words"), [(LINES[0], "Rayleigh"), (NEWS, "Europa Clipper lifts off")])
async def test_its_label_goes_with_it(database: str, line: str, words: str) -> None:
    async with keyless(database) as browser:
        (shown,) = await answered(browser, line, words)
        await pressed(browser, shown, "share")
        preview = await opened(browser)
        sent = {"channel": GENERAL.id, "view_id": preview["id"], "values": {}}
        assert await browser.post("submit", sent) == 204
        public = await browser.wait_for(lambda message: not message["private"] and words in str(message))

    assert RECORDED_LABEL in str(preview)
    assert RECORDED_LABEL in str(public["blocks"])
