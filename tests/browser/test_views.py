"""Modals, the home tab, shortcuts and ratings on the page, by keyboard alone."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webdriver import WebDriver
from selenium.webdriver.remote.webelement import WebElement
from slack_sdk.web.async_client import AsyncWebClient

from fake_slack.views import FAILURE
from fake_slack.workspace import GENERAL
from tests.browser.conftest import served
from tests.browser.page import Page
from tests.fakes.dialogs import QUOTE, DialogApp
from tests.fakes.playground_app import BOT_TOKEN, Fields, Site
from tests.fakes.views import modal as modal_of
from tests.fakes.views import plain
from tests.rare import one_in

pytestmark = pytest.mark.browser

RATING = {
    "type": "context_actions",
    "elements": [
        {
            "type": "feedback_buttons",
            "action_id": "feedback",
            "positive_button": {"text": plain("Good answer"), "value": "up"},
            "negative_button": {"text": plain("Bad answer"), "value": "down"},
        }
    ],
}


@pytest.fixture
def page(browser: WebDriver, site: Site) -> Page:
    site.app.reply = DialogApp(site.origin).reply
    page = Page(browser=browser)
    page.open(site.address)
    return page


def modal(page: Page) -> WebElement:
    """Wait for the modal."""
    return page.wait(lambda: page.browser.find_elements(By.CSS_SELECTOR, "#modal[open]"))[0]


def wait_until_closed(page: Page) -> None:
    page.wait(lambda: not page.browser.find_elements(By.CSS_SELECTOR, "#modal[open]"))


def focused_label(page: Page) -> str:
    """Return the name of what has the focus, as a screen reader says it."""
    return str(page.browser.switch_to.active_element.accessible_name)


def tab_to(page: Page, name: str) -> None:
    """Go with the Tab key to what a screen reader calls so."""
    for _ in range(60):
        page.key(Keys.TAB)
        if focused_label(page) == name:
            return
    raise AssertionError(f"the Tab key does not lead to {name}")


def open_by_shortcut(page: Page) -> WebElement:
    page.tab_back_to("Shortcuts") if page.focused() != "input" else page.key(Keys.TAB)
    page.key(Keys.ENTER)
    page.wait(lambda: focused_label(page) == "Ask the web")
    page.key(Keys.ENTER)
    shown = modal(page)
    page.wait(lambda: page.focused() == "modal-question-question")
    return shown


def requests(site: Site, kind: str) -> list[dict[str, Any]]:
    return [one for one in site.app.requests if one.get("type") == kind]


def test_a_shortcut_opens_a_modal_that_is_corrected_and_submitted(page: Page, site: Site, artifacts: Path) -> None:
    shown = open_by_shortcut(page)
    page.browser.save_screenshot(str(artifacts / "views-modal.png"))
    page.key(Keys.ENTER)
    page.wait(lambda: "Please complete this required field." in shown.text)
    assert requests(site, "view_submission") == []

    page.wait(lambda: page.focused() == "modal-question-question")
    page.key("wrong", Keys.ENTER)
    page.wait(lambda: "Please ask something else." in shown.text)
    page.browser.save_screenshot(str(artifacts / "views-error.png"))
    field = page.browser.switch_to.active_element
    assert (field.get_attribute("value"), field.get_attribute("aria-invalid")) == ("wrong", "true")

    page.key(*[Keys.BACKSPACE] * 5, "why?", Keys.ENTER)
    page.message_with("You asked: why?")
    wait_until_closed(page)
    submission = requests(site, "view_submission")[-1]
    assert submission["view"]["state"]["values"]["day"]["day"]["selected_date"] == "2026-11-30"
    assert page.focused() == "shortcuts"


def test_an_update_is_shown_live_and_keeps_what_was_typed(page: Page, site: Site, artifacts: Path) -> None:
    shown = open_by_shortcut(page)
    page.key("why is")
    tab_to(page, "Go")
    page.key(Keys.ENTER)
    page.wait(lambda: "go: nothing" in shown.text)
    assert focused_label(page) == "Go"

    tab_to(page, "More")
    page.key(Keys.ENTER)
    page.wait(lambda: focused_label(page) == "An option")
    page.key(Keys.ARROW_DOWN, Keys.ENTER)
    page.wait(lambda: "more: 1" in shown.text)
    page.browser.save_screenshot(str(artifacts / "views-updated.png"))
    [first, second] = requests(site, "block_actions")
    assert first["view"]["state"]["values"]["question"]["question"]["value"] == "why is"
    assert second["actions"][0]["selected_option"]["value"] == "1"
    assert page.browser.find_element(By.ID, "modal-question-question").get_attribute("value") == "why is"


def test_while_the_app_answers_nothing_is_sent_twice_and_a_failure_keeps_what_was_typed(
    page: Page, site: Site, artifacts: Path
) -> None:
    shown = open_by_shortcut(page)
    answered = threading.Event()

    async def fail(_: Fields) -> web.Response:
        await asyncio.to_thread(answered.wait, 60)
        return web.Response(status=500)

    site.app.reply = fail
    page.key("why?", Keys.ENTER, Keys.ENTER)
    page.wait(lambda: "Waiting for the app" in shown.text)
    page.browser.save_screenshot(str(artifacts / "views-waiting.png"))
    answered.set()
    page.wait(lambda: FAILURE in shown.text and "Waiting for the app" not in shown.text)
    field = page.browser.switch_to.active_element

    assert (field.get_attribute("id"), field.get_attribute("value")) == ("modal-question-question", "why?")
    assert len(requests(site, "view_submission")) == 1


def test_views_are_stacked_and_closed_one_by_one_or_together(page: Page, site: Site, artifacts: Path) -> None:
    shown = open_by_shortcut(page)
    page.key("half a ques")
    tab_to(page, "Next view")
    page.key(Keys.ENTER)
    page.wait(lambda: shown.find_element(By.TAG_NAME, "h2").text == "Sources")
    page.browser.save_screenshot(str(artifacts / "views-pushed.png"))
    tab_to(page, "Back")
    page.key(Keys.ENTER)
    page.wait(lambda: shown.find_element(By.TAG_NAME, "h2").text == "Ask the web")
    assert page.browser.find_element(By.ID, "modal-question-question").get_attribute("value") == "half a ques"

    page.key(Keys.ESCAPE)
    wait_until_closed(page)
    page.wait(lambda: requests(site, "view_closed"))
    assert page.focused() == "shortcuts"


def test_a_modal_opens_at_its_top_wherever_the_one_before_was_left(page: Page, site: Site) -> None:
    view = modal_of(*[QUOTE] * 20, title=plain("Sources"))
    del view["submit"]

    async def reply(fields: Fields) -> web.Response:
        client = AsyncWebClient(token=BOT_TOKEN, base_url=f"{site.origin}/playground/api/")
        await client.views_open(trigger_id=fields["trigger_id"], view=view)
        return web.Response()

    page.key(Keys.TAB, Keys.ENTER)
    page.wait(lambda: focused_label(page) == "Ask the web")
    page.key(Keys.ESCAPE)
    for _ in range(2):
        site.app.reply = reply
        page.key(Keys.ENTER)
        page.wait(lambda: focused_label(page) == "Ask the web")
        page.key(Keys.ENTER)
        blocks = modal(page).find_element(By.CLASS_NAME, "blocks")
        assert blocks.get_property("scrollTop") == 0
        page.browser.execute_script("arguments[0].scrollTop = 200", blocks)
        page.key(Keys.ESCAPE)
        wait_until_closed(page)


def test_the_focus_stays_inside_the_modal(page: Page) -> None:
    shown = open_by_shortcut(page)
    inside = []
    for _ in range(40):
        page.key(Keys.TAB)
        element = page.browser.switch_to.active_element
        inside.append(
            page.browser.execute_script(
                "return arguments[0].contains(arguments[1]) || arguments[1] === document.body", shown, element
            )
        )

    assert all(inside)


def test_a_message_has_the_apps_shortcuts(page: Page, site: Site) -> None:
    page.send("The tower is 330 m tall.")
    page.message_with("330 m")
    page.tab_back_to("More actions")
    page.key(Keys.ENTER)
    page.wait(lambda: focused_label(page) == "Check this")
    page.key(Keys.ENTER)
    modal(page)
    [payload] = requests(site, "message_action")

    assert (payload["callback_id"], payload["message"]["text"]) == ("check", "The tower is 330 m tall.")


def test_the_home_tab_is_opened_pressed_and_asks_whether_one_is_sure(page: Page, site: Site, artifacts: Path) -> None:
    page.tab_back_to("Direct message")
    page.key(Keys.ENTER)
    page.wait(lambda: page.focused() == "input")
    page.tab_back_to("Messages", nth=2)  # the list of messages has this name, too
    page.key(Keys.ARROW_LEFT)
    home = page.browser.find_element(By.ID, "home")
    page.wait(lambda: "Ask the web, with sources" in home.text and "$0.31" in home.text)
    page.browser.save_screenshot(str(artifacts / "views-home.png"))
    tab_to(page, "Go")
    page.key(Keys.ENTER)
    page.wait(lambda: "You pressed go" in home.text)

    tab_to(page, "Delete")
    page.key(Keys.ENTER)
    page.wait(lambda: page.browser.find_elements(By.CSS_SELECTOR, "#confirm[open]"))
    page.browser.save_screenshot(str(artifacts / "views-confirm.png"))
    page.key(Keys.ESCAPE)
    page.wait(lambda: focused_label(page) == "Delete")
    page.key(Keys.ENTER)
    page.wait(lambda: page.browser.find_elements(By.CSS_SELECTOR, "#confirm[open]"))
    page.key(Keys.TAB, Keys.ENTER)
    page.wait(lambda: "You pressed sure" in home.text)
    assert [one["actions"][0]["action_id"] for one in requests(site, "block_actions")] == ["go", "sure"]
    assert [one["event"]["tab"] for one in requests(site, "event_callback")][-1] == "home"


def test_a_rating_stays_pressed(page: Page, site: Site, artifacts: Path) -> None:
    client = AsyncWebClient(token=BOT_TOKEN, base_url=f"{site.origin}/playground/api/")
    asyncio.run(client.chat_postMessage(channel=GENERAL.id, text="An answer", blocks=[RATING]))
    page.wait(lambda: page.messages()[-1].find_elements(By.CSS_SELECTOR, "button"))
    page.tab_back_to("Negative feedback")
    page.key(Keys.ENTER)
    [payload] = page.wait(lambda: requests(site, "block_actions"))
    pressed = page.messages()[-1].find_elements(By.CSS_SELECTOR, "[aria-pressed=true]")
    page.browser.save_screenshot(str(artifacts / "views-rating.png"))

    assert payload["actions"][0]["value"] == "down"
    assert [button.accessible_name for button in pressed] == ["Negative feedback"]


def test_a_permalink_leads_to_its_message(page: Page, site: Site) -> None:
    async def post() -> str:
        client = AsyncWebClient(token=BOT_TOKEN, base_url=f"{site.origin}/playground/api/")
        sent = [(await client.chat_postMessage(channel=GENERAL.id, text=f"Message {n}"))["ts"] for n in range(40)]
        return str((await client.chat_getPermalink(channel=GENERAL.id, message_ts=sent[3]))["permalink"])

    page.browser.get(asyncio.run(post()))
    page.wait(lambda: "Message 3" in page.browser.switch_to.active_element.text)
    shown = page.browser.switch_to.active_element.rect

    assert 0 < shown["y"] < page.browser.get_window_size()["height"] - shown["height"]


def test_a_restart_closes_the_modal_that_no_one_knows_any_more(browser: WebDriver) -> None:
    page = Page(browser=browser)
    with served() as site:
        site.app.reply = DialogApp(site.origin).reply
        page.open(site.address)
        open_by_shortcut(page)
    with served(port=int(site.origin.rpartition(":")[2])):
        wait_until_closed(page)
        page.send("I am back")

        assert page.message_with("I am back")


@pytest.mark.parametrize(("look", "width"), one_in(3, [("light", 1100), ("dark", 1100), ("light", 360)], first=2))
def test_the_modal_and_the_home_are_readable_by_everyone(page: Page, artifacts: Path, look: str, width: int) -> None:
    def look_at(name: str) -> tuple[list[dict[str, Any]], list[str], tuple[int, int]]:
        page.browser.save_screenshot(str(artifacts / f"views-{name}-{look}-{width}.png"))
        return page.faults(), page.low_contrast_texts(), page.overflow()

    with page.emulate(look=look, width=width):
        open_by_shortcut(page)
        page.key(Keys.ENTER)
        page.wait(lambda: "Please complete" in modal(page).text)
        top = look_at("modal")
        tab_to(page, "More")
        page.key(Keys.ENTER)
        end = look_at("modal-end")
        page.key(Keys.ESCAPE, Keys.ESCAPE)
        wait_until_closed(page)
        page.open_direct()
        page.tab_back_to("Messages", nth=2)
        page.key(Keys.ARROW_LEFT)
        page.wait(lambda: "$0.31" in page.browser.find_element(By.ID, "home").text)
        home = look_at("home")

    assert [top, end, home] == [([], [], (0, 0))] * 3
