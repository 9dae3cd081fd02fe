"""The buttons below an answer, by keyboard alone."""

from __future__ import annotations

import psycopg
import pytest
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webdriver import WebDriver

from tests.browser.page import Page
from tests.browser.test_keyboard import MENU_OF_ANSWER, modal, pick, press
from tests.browser.test_whole_app import running
from tests.fakes.answers import whole_stream
from tests.fakes.service import stream_reply

pytestmark = [pytest.mark.browser, pytest.mark.features("feedback", "saving")]


@pytest.mark.rare
def test_an_answer_is_saved_asked_again_deepened_and_rated(browser: WebDriver, database: str) -> None:
    page = Page(browser=browser)
    with running(database, with_key=True) as app:
        page.open(app.url)
        page.send("/ask --public what is example")
        page.message_with("Example answer with a claim.")
        pick(page, MENU_OF_ANSWER, "Save as Markdown")
        page.message_with("I’ll send you the answer as a file")

        app.perplexity.script("/v1/agent", stream_reply(*whole_stream("A second answer.[1]")))
        page.tab_to("Message")
        pick(page, MENU_OF_ANSWER, "Regenerate")
        page.message_with("A second answer.")

        app.perplexity.script("/v1/agent", stream_reply(*whole_stream("A deeper answer.[1]")))
        page.tab_to("Message")
        pick(page, MENU_OF_ANSWER, "Think longer")
        page.message_with("A deeper answer.")
        assert [request.json["effort"] for request in app.perplexity.requests] == ["fast", "fast", "medium"]

        page.tab_to("Message")
        page.tab_back_to("Bad answer")
        page.key(Keys.ENTER)
        page.wait(lambda: "What was wrong?" in modal(page))
        page.key(Keys.SPACE)
        press(page, "Send")
        page.wait(lambda: not modal(page))
    with psycopg.connect(database) as connection:
        assert connection.execute("SELECT up, reasons FROM feedback").fetchall() == [(False, ["wrong"])]
