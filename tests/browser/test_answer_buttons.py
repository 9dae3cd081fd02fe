"""The buttons below an answer, and the check of a message, in the whole app and by keyboard alone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webdriver import WebDriver

from tests.browser.page import Page
from tests.browser.test_whole_app import running
from tests.fakes.answers import beginning, deltas, whole_stream
from tests.fakes.service import stream_reply

pytestmark = pytest.mark.browser

TEXT = (
    "**Yes, in most existing buildings a heat pump costs less to run than a gas boiler.**[1]\n\n"
    "## What decides it\n\nElectricity costs 28 ct a kilowatt-hour and gas 12 ct.[2]\n\n"
    "## What it needs\n\nA flow temperature below 55 degrees.[1]"
)
EXCERPT = b"A kilowatt-hour of gas costs 12 ct; the flow temperature should stay below 55 degrees."


IN_THE_DOCS = {
    b"\\u2026": EXCERPT,
    b"Page 1": b"Heat pumps in old houses: a field test",
    b"Page 2": b"What heating costs",
    b"a.example": b"ise.fraunhofer.de",
    b"b.example": b"test.de",
    b"q1": b"heat pump running costs",
}
"""What a stand-in says, and what the pictures of the documentation show instead."""


def as_in_the_docs(chunk: bytes) -> bytes:
    for placeholder, shown in IN_THE_DOCS.items():
        chunk = chunk.replace(placeholder, shown)
    return chunk


def modal_text(page: Page) -> str:
    return " ".join(one.text for one in page.browser.find_elements(By.CSS_SELECTOR, "#modal[open]"))


def open_modal(page: Page, label: str, title: str) -> None:
    """Press a button below the last answer."""
    page.tab_back_to(label)
    page.key(Keys.ENTER)
    page.wait(lambda: title in modal_text(page))


def close_modal(page: Page) -> None:
    page.key(Keys.ESCAPE)
    page.wait(lambda: not modal_text(page))


@pytest.fixture
def shot(browser: WebDriver, artifacts: Path) -> Callable[[str], None]:
    return lambda name: saved_without_faults(browser, artifacts / f"app-{name}.png")


def saved_without_faults(browser: WebDriver, path: Path) -> None:
    """Save what is shown, which axe-core finds nothing serious in."""
    assert browser.save_screenshot(str(path))
    assert Page(browser=browser).faults() == []


def test_sources_are_read(browser: WebDriver, database: str, shot: Callable[[str], None]) -> None:
    page = Page(browser=browser)
    with running(database, with_key=True) as app:
        app.perplexity.script("/v1/agent", stream_reply(*map(as_in_the_docs, whole_stream(TEXT))))
        page.open(app.url)
        page.send("/ask are heat pumps cheaper to run than gas?")
        answer = page.message_with("What it needs")
        shot("answer-buttons")
        assert "ise.fraunhofer.de · test.de" in answer.text

        open_modal(page, "Sources", "2 pages · 2 cited")
        shot("sources")
        assert "28 ct is not in the excerpts" in modal_text(page).replace("\n", " ")
        close_modal(page)


def test_what_was_written_of_an_answer_stays(browser: WebDriver, database: str, artifacts: Path) -> None:
    page = Page(browser=browser)

    def shot(name: str) -> None:
        for look, width in (("light", 1100), ("dark", 1100), ("light", 375), ("dark", 375)):
            with page.emulate(look=look, width=width, height=480):
                saved_without_faults(browser, artifacts / f"app-{name}-{look}-{width}.png")
                assert page.sideways() == []

    with running(database, with_key=True) as app:
        page.open(app.url)
        page.open_direct()
        half = [as_in_the_docs(chunk) for chunk in (*beginning(), *deltas(TEXT)[:10])]
        cut = stream_reply(
            *half, *[b": thinking\n\n"] * 20, pause=0.2
        )  # text that was not shown yet is asked for again
        app.perplexity.script("/v1/agent", cut, cut, cut)
        page.send("are heat pumps cheaper to run than gas?")
        broken = page.message_with("Try again")
        shot("broken-off")
        assert "This is only a part: the answer broke off." in broken.text

        app.perplexity.lasting["/v1/agent"] = stream_reply(*half, hang=True)
        page.send("and than oil?")
        page.press(page.message_with("Writing …"), "Stop")
        stopped = page.message_with("You stopped this answer.")
        shot("stopped")
        assert "in most existing buildings" in stopped.text
