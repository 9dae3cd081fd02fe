"""The menus of the home tab, by keyboard alone."""

from __future__ import annotations

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webdriver import WebDriver
from selenium.webdriver.remote.webelement import WebElement

from tests.browser.page import Page
from tests.browser.test_keyboard import MENU_OF_QUESTION, modal, pick, press
from tests.browser.test_whole_app import running

pytestmark = pytest.mark.browser


def open_home(page: Page) -> WebElement:
    page.tab_back_to("Direct message")
    page.key(Keys.ENTER)
    page.wait(lambda: page.focused() == "input")
    page.tab_back_to("Messages", nth=2)  # the list of messages has this name, too
    page.key(Keys.ARROW_LEFT)
    return page.browser.find_element(By.ID, "home")


@pytest.mark.rare
def test_the_home_s_menus(browser: WebDriver, database: str) -> None:
    page = Page(browser=browser)
    with running(database, with_key=True) as app:
        page.open(app.url)
        page.send("/ask what is example")
        page.message_with("Example answer with a claim.")
        home = open_home(page)
        page.wait(lambda: "what is example" in home.text)
        pick(page, MENU_OF_QUESTION, "Open")
        page.wait(lambda: "Example answer with a claim." in modal(page))
        page.key(Keys.ESCAPE)
        page.wait(lambda: not modal(page))

        for choice, questions in (("Ask again", 2), ("What has changed since?", 3)):
            pick(page, MENU_OF_QUESTION, choice)
            page.wait(lambda count=questions: home.text.count("what is example") == count)  # type: ignore[misc]
        assert "Begin with what has changed since" in str(app.perplexity.requests[-1].json["input"])

        pick(page, MENU_OF_QUESTION, "Delete")
        page.wait(lambda: "deleted for good" in modal(page))
        page.key(Keys.SPACE)
        press(page, "Delete")
        page.wait(lambda: not modal(page))
        page.wait(lambda: home.text.count("what is example") == 2)

        app.perplexity.hold()
        pick(page, MENU_OF_QUESTION, "Ask again")
        page.wait(lambda: "Running" in home.text)
        press(page, "Stop")
        page.wait(lambda: "Running" not in home.text)
