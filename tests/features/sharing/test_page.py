"""An answer is shared in the whole app, by keyboard alone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webdriver import WebDriver

from tests.browser.page import Page
from tests.browser.test_answer_buttons import TEXT, as_in_the_docs, open_modal, shot
from tests.browser.test_whole_app import running
from tests.fakes.answers import whole_stream
from tests.fakes.service import stream_reply

pytestmark = pytest.mark.browser

__all__ = ["shot"]


def test_an_answer_is_shared(browser: WebDriver, database: str, shot: Callable[[str], None]) -> None:
    page = Page(browser=browser)
    with running(database, with_key=True) as app:
        app.perplexity.script("/v1/agent", stream_reply(*map(as_in_the_docs, whole_stream(TEXT))))
        page.open(app.url)
        page.send("/ask are heat pumps cheaper to run than gas?")
        page.message_with("What it needs")

        open_modal(page, "Share", "What to share")
        shot("share")
        asked = len(app.perplexity.requests)
        page.key("Worth a look.")
        page.tab_to("Share")
        page.key(Keys.ENTER)
        shared = page.message_with("Worth a look.")
        shot("shared")
        assert "What it needs" in shared.text
        assert len(app.perplexity.requests) == asked


@pytest.mark.rare
def test_an_answer_is_shared_from_its_preview_by_keyboard(browser: WebDriver, database: str, artifacts: Path) -> None:
    text = (
        "## Costs\n\nA heat pump costs **less** to run. [1]\n\n"
        "## Limits\n\n- Only below 55 °C. [2]\n- Not `all` houses.\n\n1. Measure\n2. Ask"
    )
    page = Page(browser=browser)
    with running(database, with_key=True) as app:
        app.perplexity.script("/v1/agent", stream_reply(*whole_stream(text)))
        page.open(app.url)
        page.send("/ask are heat pumps cheaper?")
        page.message_with("Only below 55")
        page.tab_back_to("Share")
        page.key(Keys.ENTER)
        modal = page.wait(lambda: browser.find_elements(By.CSS_SELECTOR, "#modal[open]"))[0]
        assert "shared by" in modal.text
        browser.save_screenshot(str(artifacts / "app-share.png"))
        page.key("Worth reading", Keys.TAB, Keys.TAB, Keys.SPACE)  # the second section
        page.wait(lambda: "Only below 55" not in modal.text)
        browser.save_screenshot(str(artifacts / "app-share-part.png"))
        page.tab_to("Share")
        page.key(Keys.ENTER)
        shared = page.message_with("Worth reading")

        assert "A heat pump costs less to run." in shared.text
        assert "Only below 55" not in shared.text
        assert page.links(shared) == [("[1]", "https://a.example/1"), ("a.example", "https://a.example/1")]
        browser.save_screenshot(str(artifacts / "app-shared.png"))
