"""Search results are continued and asked about in the whole app, by keyboard alone."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webdriver import WebDriver

from tests.browser.page import Page
from tests.browser.test_answer_buttons import open_modal, shot
from tests.browser.test_whole_app import running
from tests.fakes.claims import written
from tests.fakes.service import json_reply

pytestmark = pytest.mark.browser

__all__ = ["shot"]


def test_results_are_continued_asked_about_and_saved(
    browser: WebDriver, database: str, shot: Callable[[str], None]
) -> None:
    page = Page(browser=browser)
    with running(database, with_key=True) as app:
        found = [
            {"title": f"Result {number}", "url": f"https://a.example/{number}", "snippet": "It is blue."}
            for number in range(1, 5)
        ]
        app.perplexity.script("/search", *(json_reply({"results": found[:count], "id": "1"}) for count in (2, 4)))
        page.open(app.url)
        page.send("/search --n 2 why is the sky blue")
        page.message_with("Result 2")
        page.tab_back_to("More results")
        page.key(Keys.ENTER)
        more = page.message_with("Result 4")
        assert "Result 1" not in more.text
        assert "3." in more.text

        page.tab_to("Message")
        app.perplexity.script("/v1/agent", json_reply(written("It is blue, the page says.[3]")))
        open_modal(page, "Ask about these", "Result 4")
        shot("ask-about")
        page.key("what colour is it?")
        page.tab_to("Ask")
        page.key(Keys.ENTER)
        answer = page.message_with("It is blue, the page says.")
        shot("asked-about")
        assert ("[1]", "https://a.example/3") in page.links(answer)
