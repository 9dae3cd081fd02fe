"""What people do with answers, messages and the home tab, in the whole app and by keyboard alone."""

from __future__ import annotations

import psycopg
import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webdriver import WebDriver
from selenium.webdriver.remote.webelement import WebElement

from tests.browser.page import Page
from tests.browser.test_whole_app import running
from tests.fakes.answers import whole_stream
from tests.fakes.service import stream_reply

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


def open_home(page: Page) -> WebElement:
    page.tab_back_to("Direct message")
    page.key(Keys.ENTER)
    page.wait(lambda: page.focused() == "input")
    page.tab_back_to("Messages", nth=2)  # the list of messages has this name, too
    page.key(Keys.ARROW_LEFT)
    return page.browser.find_element(By.ID, "home")


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
