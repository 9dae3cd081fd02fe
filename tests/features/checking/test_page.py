"""A message is checked in the whole app, by keyboard alone."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webdriver import WebDriver

from tests.browser.page import Page
from tests.browser.test_answer_buttons import close_modal, modal_text, shot
from tests.browser.test_whole_app import running
from tests.fakes.claims import claims_block, verdict, written
from tests.fakes.service import json_reply

pytestmark = pytest.mark.browser

__all__ = ["shot"]


CLAIM = "The Eiffel Tower is 330 m tall."


QUOTE = "The tower is 330 metres tall, about the same height as an 81-storey building."


def test_a_message_is_checked(browser: WebDriver, database: str, shot: Callable[[str], None]) -> None:
    page = Page(browser=browser)
    with running(database, with_key=True) as app:
        found = {"title": "Eiffel Tower", "url": "https://en.wikipedia.org/wiki/Eiffel_Tower", "snippet": QUOTE}
        app.perplexity.script("/v1/agent", json_reply(written(claims_block([CLAIM]))))
        app.perplexity.script("/v1/agent", json_reply(written(verdict("supported", QUOTE))))
        app.perplexity.script("/search", json_reply({"results": [found], "id": "1"}))
        page.open(app.url)
        page.send(CLAIM)
        page.message_with(CLAIM)
        page.tab_back_to("More actions")
        page.key(Keys.ENTER)
        page.wait(lambda: browser.switch_to.active_element.accessible_name == "Ask about this")
        page.key(Keys.ARROW_DOWN)
        page.wait(lambda: browser.switch_to.active_element.accessible_name == "Check this")
        page.key(Keys.ENTER)
        page.wait(lambda: "Claim 2" in modal_text(page))
        shot("check")
        page.tab_to("Check")
        page.key(Keys.ENTER)
        page.wait(lambda: "I’ll send it to our messages." in modal_text(page))
        shot("check-sent")
        close_modal(page)

        page.tab_back_to("Direct message")
        page.key(Keys.ENTER)
        result = page.message_with("Supported")
        shot("checked")
        assert "Supported" in result.text
        assert QUOTE in result.text
        assert "Eiffel Tower" in result.text
