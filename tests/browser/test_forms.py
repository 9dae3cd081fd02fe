"""The forms of the whole app on the page: opened, filled in and submitted by keyboard alone."""

from __future__ import annotations

from pathlib import Path

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webdriver import WebDriver
from selenium.webdriver.remote.webelement import WebElement

from tests.browser.hands import mouse
from tests.browser.page import Page
from tests.browser.test_whole_app import running
from tests.docs.pages import is_here
from tests.driver import asked_in

pytestmark = pytest.mark.browser


def wait_for_modal(page: Page, title: str) -> None:
    """Wait for a form, which axe-core finds nothing serious in."""
    page.wait(lambda: [one for one in page.browser.find_elements(By.CSS_SELECTOR, "#modal[open]") if title in one.text])
    assert page.faults() == []


def tab_to(page: Page, id: str) -> None:
    """Go with the Tab key to the field of an input block."""
    for _ in range(80):
        if page.focused().startswith(f"modal-{id}-"):
            return
        page.key(Keys.TAB)
    raise AssertionError(f"the Tab key does not lead to {id}")


def press_more(page: Page) -> None:
    """Go with the Tab key to the button that shows the rest of a form, and press it."""
    for _ in range(20):
        page.key(Keys.TAB)
        if page.browser.switch_to.active_element.text == "More":
            break
    page.key(Keys.ENTER)


def test_the_command_alone_opens_a_form_that_is_filled_in(browser: WebDriver, database: str, artifacts: Path) -> None:
    page = Page(browser=browser)
    with running(database, with_key=True) as app:
        page.open(app.url)
        page.send("/pplx")
        wait_for_modal(page, "Ask a question")
        page.wait(lambda: page.focused() == "modal-question-question")
        browser.save_screenshot(str(artifacts / "app-ask-form.png"))
        page.key("what is example")
        press_more(page)
        page.wait(lambda: browser.find_elements(By.CSS_SELECTOR, "[id^='modal---country']"))
        assert page.faults() == []
        browser.save_screenshot(str(artifacts / "app-ask-form-more.png"))
        tab_to(page, "--country")
        page.key("UK", Keys.ENTER)
        page.wait(lambda: "Did you mean GB?" in browser.find_element(By.ID, "modal").text)
        browser.save_screenshot(str(artifacts / "app-ask-form-error.png"))

        tab_to(page, "--country")
        page.key(Keys.BACKSPACE, Keys.BACKSPACE, "GB", Keys.ENTER)
        answer = page.message_with("Example answer with a claim.")
        assert "Only visible to you" in answer.text
        assert asked_in(app.perplexity.requests[-1]) == "what is example"


FORMS = {
    "/ask": "Ask a question",
    "/search": "Search for pages",
    "/news": "Read the news",
    "/deepdive": "Deep dive",
    "/pplx watch": "Set up a digest",
    "/pplx settings": "Settings",
}


@pytest.mark.parametrize("width", [1280, pytest.param(375, marks=pytest.mark.rare)])
def test_every_form_and_the_help_by_mouse(browser: WebDriver, database: str, artifacts: Path, width: int) -> None:
    page = Page(browser=browser)
    forms = {line: title for line, title in FORMS.items() if is_here(f"{line} …")}
    with running(database, with_key=True) as app, page.emulate(look="light", width=width):
        for line, title in forms.items():
            page.open(app.url)
            page.send(line)
            wait_for_modal(page, title)
            name = f"form-{line.strip('/').replace(' ', '-')}-{width}"
            browser.save_screenshot(str(artifacts / f"{name}.png"))
            if line == "/pplx watch":
                page.key("tea")
                mouse(page, choice_of(page, "Choose days"))
                page.wait(lambda: "Monday" in modal_of(page).text)
            elif line != "/pplx settings":
                page.key("tea")
            if line != "/pplx settings":
                mouse(page, button_of(page, "More"))
                page.wait(lambda: "More" not in modal_of(page).text.splitlines())
                assert page.faults() == []
                assert modal_of(page).find_element(By.CSS_SELECTOR, "textarea, input").get_attribute("value") == "tea"
                browser.save_screenshot(str(artifacts / f"{name}-more.png"))
            mouse(page, button_of(page, "Cancel"))
            page.wait(lambda: not browser.find_elements(By.CSS_SELECTOR, "#modal[open]"))

        page.open(app.url)
        page.send("/pplx help")
        helped = page.message_with("Ask me anything")
        assert page.faults() == []
        browser.save_screenshot(str(artifacts / f"help-{width}.png"))
        page.press(helped, "All options")
        wait_for_modal(page, "All options")
        browser.save_screenshot(str(artifacts / f"help-options-{width}.png"))


def modal_of(page: Page) -> WebElement:
    return page.browser.find_element(By.CSS_SELECTOR, "#modal[open]")


def button_of(page: Page, label: str) -> WebElement:
    return next(one for one in modal_of(page).find_elements(By.TAG_NAME, "button") if one.text == label)


def choice_of(page: Page, label: str) -> WebElement:
    return next(one for one in modal_of(page).find_elements(By.TAG_NAME, "label") if one.text == label)


def test_the_composer_takes_text_after_a_form_was_closed(browser: WebDriver, database: str) -> None:
    page = Page(browser=browser)
    with running(database, with_key=True) as app:
        page.open(app.url)
        page.send("/ask")
        wait_for_modal(page, "Ask a question")
        page.key(Keys.ESCAPE)
        page.wait(lambda: not browser.find_elements(By.CSS_SELECTOR, "#modal[open]"))
        page.send("/ask what is example")

        assert page.message_with("Example answer with a claim.")
