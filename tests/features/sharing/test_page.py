"""An answer is shared in the whole app, by keyboard alone."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webdriver import WebDriver

from tests.browser.page import Page
from tests.browser.test_answer_buttons import TEXT, as_in_the_docs, open_modal, shot
from tests.browser.test_whole_app import running
from tests.fakes.answers import whole_stream
from tests.fakes.service import stream_reply

pytestmark = pytest.mark.browser

__all__ = ["shot"]


def test_an_answer_is_shared(browser: WebDriver, database: str, shot: Callable[[str], None]) -> None:
    page = Page(browser=browser)
    with running(database, with_key=True) as app:
        app.perplexity.script("/v1/agent", stream_reply(*map(as_in_the_docs, whole_stream(TEXT))))
        page.open(app.url)
        page.send("/ask are heat pumps cheaper to run than gas?")
        page.message_with("What it needs")

        open_modal(page, "Share", "What to share")
        shot("share")
        asked = len(app.perplexity.requests)
        page.key("Worth a look.")
        page.tab_to("Share")
        page.key(Keys.ENTER)
        shared = page.message_with("Worth a look.")
        shot("shared")
        assert "What it needs" in shared.text
        assert len(app.perplexity.requests) == asked
