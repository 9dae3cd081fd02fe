"""A digest is set up on the page."""

from __future__ import annotations

from pathlib import Path

import pytest
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webdriver import WebDriver

from tests.browser.page import Page
from tests.browser.test_forms import wait_for_modal
from tests.browser.test_whole_app import running

pytestmark = pytest.mark.browser


def test_a_digest_is_set_up_in_a_form(browser: WebDriver, database: str, artifacts: Path) -> None:
    page = Page(browser=browser)
    with running(database, with_key=True) as app:
        page.open(app.url)
        page.send("/pplx watch")
        wait_for_modal(page, "Set up a digest")
        page.wait(lambda: page.focused() == "modal-topic-topic")
        browser.save_screenshot(str(artifacts / "app-digest-form.png"))
        page.key("open source databases", Keys.ENTER)

        assert "weekdays at 9:00" in page.message_with("is set up").text
