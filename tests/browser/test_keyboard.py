"""What people do with answers, messages and the home tab, in the whole app and by keyboard alone."""

from __future__ import annotations

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webdriver import WebDriver

from tests.browser.page import Page
from tests.browser.test_whole_app import running

pytestmark = pytest.mark.browser

MENU_OF_ANSWER, MENU_OF_QUESTION = "More options", "⋯"


def modal(page: Page) -> str:
    """Return the text of the modal; empty without one."""
    return " ".join(one.text for one in page.browser.find_elements(By.CSS_SELECTOR, "#modal[open]"))


def focused_name(page: Page) -> str:
    return str(page.browser.switch_to.active_element.accessible_name)


def pick(page: Page, menu: str, choice: str) -> None:
    """Open a menu and pick one of its entries."""
    if menu not in {focused_name(page), page.browser.switch_to.active_element.text}:
        page.tab_back_to(menu) if menu == MENU_OF_ANSWER else page.tab_to(menu)
    page.key(Keys.ENTER)
    page.wait(lambda: page.browser.switch_to.active_element.get_attribute("role") == "menuitem")
    for _ in range(6):
        if page.browser.switch_to.active_element.text == choice:
            break
        page.key(Keys.ARROW_DOWN)
    assert page.browser.switch_to.active_element.text == choice
    page.key(Keys.ENTER)


def press(page: Page, label: str) -> None:
    page.tab_to(label)
    page.key(Keys.ENTER)


@pytest.mark.rare
def test_a_message_is_asked_about_and_a_shortcut_asks(browser: WebDriver, database: str) -> None:
    page = Page(browser=browser)
    with running(database, with_key=True) as app:
        page.open(app.url)
        page.send("The tower is 330 m tall.")
        page.message_with("330 m")
        page.tab_back_to("More actions")
        page.key(Keys.ENTER)
        page.wait(lambda: focused_name(page) == "Ask about this")
        page.key(Keys.ENTER)
        page.wait(lambda: "The message" in modal(page))
        page.wait(lambda: page.focused() == "modal-question-question")
        page.key("is that true?")
        press(page, "Ask")
        page.wait(lambda: not modal(page))

        page.tab_to("Shortcuts")
        page.key(Keys.ENTER)
        page.wait(lambda: page.browser.switch_to.active_element.get_attribute("role") == "menuitem")
        page.key(Keys.ENTER)
        page.wait(lambda: page.focused() == "modal-question-question")
        page.key("what is example")
        press(page, "Ask")
        page.wait(lambda: not modal(page))

        page.tab_back_to("Direct message")
        page.key(Keys.ENTER)
        page.message_with("You asked: what is example")
        page.wait(lambda: len(app.perplexity.requests) == 2)
        assert "The tower is 330 m tall." in str(app.perplexity.requests[0].json["input"])
