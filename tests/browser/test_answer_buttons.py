"""The buttons below an answer, and the check of a message, in the whole app and by keyboard alone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webdriver import WebDriver

from bot.playground.slack.workspace import GENERAL
from tests.browser.page import Page
from tests.browser.test_whole_app import running
from tests.fakes.answers import beginning, deltas, whole_stream
from tests.fakes.claims import claims_block, verdict, written
from tests.fakes.service import json_reply, stream_reply

pytestmark = pytest.mark.browser

TEXT = (
    "**Yes, in most existing buildings a heat pump costs less to run than a gas boiler.**[1]\n\n"
    "## What decides it\n\nElectricity costs 28 ct a kilowatt-hour and gas 12 ct.[2]\n\n"
    "## What it needs\n\nA flow temperature below 55 degrees.[1]"
)
EXCERPT = b"A kilowatt-hour of gas costs 12 ct; the flow temperature should stay below 55 degrees."
CLAIM = "The Eiffel Tower is 330 m tall."
QUOTE = "The tower is 330 metres tall, about the same height as an 81-storey building."


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


def test_sources_are_read_and_an_answer_is_shared(
    browser: WebDriver, database: str, shot: Callable[[str], None]
) -> None:
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


def test_a_message_is_checked(browser: WebDriver, database: str, shot: Callable[[str], None]) -> None:
    page = Page(browser=browser)
    with running(database, with_key=True) as app:
        found = {"title": "Eiffel Tower", "url": "https://en.wikipedia.org/wiki/Eiffel_Tower", "snippet": QUOTE}
        app.perplexity.script("/v1/agent", json_reply(written(claims_block([CLAIM]))))
        app.perplexity.script("/v1/agent", json_reply(written(verdict("supported", QUOTE))))
        app.perplexity.script("/search", json_reply({"results": [found], "id": "1"}))
        page.open(app.url)
        page.send(CLAIM)
        page.message_with(CLAIM)
        page.tab_back_to("More actions")
        page.key(Keys.ENTER)
        page.wait(lambda: browser.switch_to.active_element.accessible_name == "Ask about this")
        page.key(Keys.ARROW_DOWN)
        page.wait(lambda: browser.switch_to.active_element.accessible_name == "Check this")
        page.key(Keys.ENTER)
        page.wait(lambda: "Claim 2" in modal_text(page))
        shot("check")
        page.tab_to("Check")
        page.key(Keys.ENTER)
        page.wait(lambda: "I’ll send it to our messages." in modal_text(page))
        shot("check-sent")
        close_modal(page)

        page.tab_back_to("Direct message")
        page.key(Keys.ENTER)
        result = page.message_with("Supported")
        shot("checked")
        assert "Supported" in result.text
        assert QUOTE in result.text
        assert "Eiffel Tower" in result.text


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


def test_results_are_continued_asked_about_and_saved(
    browser: WebDriver, database: str, shot: Callable[[str], None]
) -> None:
    page = Page(browser=browser)
    with running(database, with_key=True) as app:
        found = [
            {"title": f"Result {number}", "url": f"https://a.example/{number}", "snippet": "It is blue."}
            for number in range(1, 5)
        ]
        app.perplexity.script("/search", *(json_reply({"results": found[:count], "id": "1"}) for count in (2, 4)))
        page.open(app.url)
        page.send("/search --n 2 why is the sky blue")
        page.message_with("Result 2")
        page.tab_back_to("More results")
        page.key(Keys.ENTER)
        more = page.message_with("Result 4")
        assert "Result 1" not in more.text
        assert "3." in more.text

        page.tab_to("Message")
        app.perplexity.script("/v1/agent", json_reply(written("It is blue, the page says.[3]")))
        open_modal(page, "Ask about these", "Result 4")
        shot("ask-about")
        page.key("what colour is it?")
        page.tab_to("Ask")
        page.key(Keys.ENTER)
        answer = page.message_with("It is blue, the page says.")
        shot("asked-about")
        assert ("[1]", "https://a.example/3") in page.links(answer)
