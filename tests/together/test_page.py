"""The home tab, with what is set up in it, in the whole app and by keyboard alone."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webdriver import WebDriver

from fake_slack.workspace import GENERAL
from tests.browser.page import Page
from tests.browser.test_answer_buttons import close_modal, modal_text, shot
from tests.browser.test_whole_app import running

pytestmark = [pytest.mark.browser, pytest.mark.features("digests", "home", "settings")]

__all__ = ["shot"]


def test_the_home_lists_a_question_and_opens_the_settings(
    browser: WebDriver, database: str, shot: Callable[[str], None]
) -> None:
    page = Page(browser=browser)
    with running(database, with_key=True) as app:
        page.open(app.url)
        page.send("/pplx watch science daily 9:00")
        page.message_with("is set up")
        page.send("/ask what is example")
        page.message_with("Example answer with a claim.")
        page.tab_back_to("Direct message")
        page.key(Keys.ENTER)
        page.wait(lambda: page.focused() == "input")
        page.tab_back_to("Messages", nth=2)  # the list of messages has this name, too
        page.key(Keys.ARROW_LEFT)
        home = browser.find_element(By.ID, "home")
        page.wait(lambda: "what is example" in home.text)
        shot("home")
        assert "$0.00" in home.text
        assert "#general" in home.text
        assert GENERAL.id not in home.text

        page.tab_to("Settings")
        page.key(Keys.ENTER)
        page.wait(lambda: "Settings" in modal_text(page))
        shot("settings")
        close_modal(page)
