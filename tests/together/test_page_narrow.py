"""Nothing in a narrow window is wider than its place."""

from __future__ import annotations

from pathlib import Path

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webdriver import WebDriver

from tests.browser.page import Page
from tests.browser.test_forms import modal_of
from tests.browser.test_whole_app import running
from tests.fakes.answers import whole_stream
from tests.fakes.service import stream_reply

pytestmark = [pytest.mark.browser, pytest.mark.features("audit", "budgets", "home", "sharing")]

WIDE = "| " + " | ".join(f"Column number {number}" for number in range(9)) + " |\n" + "|---" * 9 + "|\n| 1" * 9 + " |"
CODE = "```\n" + "a_long_line_of_code = " * 12 + "\n```"
TEXT = f"A heat pump costs less.[1]\n\n{WIDE}\n\n{CODE}\n\nIt is `{'x' * 90}`, at https://a.example/{'y' * 120}."


def test_nothing_scrolls_sideways_on_a_telephone(browser: WebDriver, database: str, artifacts: Path) -> None:
    page = Page(browser=browser)
    found: dict[str, list[str]] = {}

    def look(name: str) -> None:
        found[name] = [*page.sideways(), *(str(fault) for fault in page.faults())]
        browser.save_screenshot(str(artifacts / f"narrow-{name}.png"))

    with running(database, with_key=True) as app, page.emulate(look="light", width=375):
        app.perplexity.script("/v1/agent", stream_reply(*whole_stream(TEXT)))
        page.open(app.url)
        look("first visit")
        page.send("/ask are heat pumps cheaper?")
        answer = page.message_with("Column number 8")
        look("answer")
        for label in ("Sources", "Share"):
            page.press(answer, label)
            page.wait(lambda name=label: name in modal_of(page).text)  # type: ignore[misc]
            look(label)
            page.key(Keys.ESCAPE)
            page.wait(lambda: not browser.find_elements(By.CSS_SELECTOR, "#modal[open]"))
        page.send("/pplx pause")
        page.message_with("aused")
        page.send("/pplx resume")
        page.send("/pplx status")
        page.message_with("24 hours")
        look("status")
        page.open_direct()
        browser.find_element(By.ID, "tab-home").click()
        home = browser.find_element(By.ID, "home")
        page.wait(lambda: "are heat pumps" in home.text)
        look("home")
        next(one for one in home.find_elements(By.TAG_NAME, "button") if one.text == "For admins").click()
        page.wait(lambda: "are heat pumps" not in home.text)
        look("admins")
        browser.execute_script("arguments[0].scrollTop = 1e6", home)
        look("audit")
    assert {name: wide for name, wide in found.items() if wide} == {}
