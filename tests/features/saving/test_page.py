"""An answer is saved in the whole app, by keyboard alone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webdriver import WebDriver

from tests.browser.page import Page
from tests.browser.test_answer_buttons import shot
from tests.browser.test_whole_app import running

pytestmark = pytest.mark.browser

__all__ = ["shot"]


def test_an_answer_is_saved_and_the_file_is_downloaded(
    browser: WebDriver, database: str, shot: Callable[[str], None], tmp_path: Path
) -> None:
    page = Page(browser=browser)
    page.download_to(tmp_path)
    with running(database, with_key=True) as app:
        page.open(app.url)
        page.send("/ask what is example")
        page.message_with("Example answer with a claim.")
        page.tab_back_to("More options")
        page.key(Keys.ENTER)
        page.wait(lambda: browser.switch_to.active_element.get_attribute("role") == "menuitem")
        while "Save" not in browser.switch_to.active_element.text:
            page.key(Keys.ARROW_DOWN)
        page.key(Keys.ENTER)
        page.message_with("direct message")

        page.tab_back_to("Direct message")
        page.key(Keys.ENTER)
        page.message_with("answer-what-is-example.md")
        shot("saved")
        page.tab_back_to("what is example")
        page.key(Keys.ENTER)
        saved = tmp_path / "answer-what-is-example.md"
        page.wait(saved.exists)

        assert "Example answer with a claim.[1]" in saved.read_text(encoding="utf-8")
        assert browser.current_url.endswith("/playground")
