"""Every kind of control on the page, with the mouse, the keyboard and a finger, in a wide and a narrow window."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from itertools import cycle, product
from typing import Any

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webdriver import WebDriver
from selenium.webdriver.remote.webelement import WebElement
from slack_sdk.web.async_client import AsyncWebClient

from fake_slack.workspace import DIRECT, GENERAL, TEAM_ID, USER_ID
from tests.browser.hands import HANDS, Hand, held, keyboard, mouse, reach, touch
from tests.browser.page import Page
from tests.fakes.dialogs import DialogApp
from tests.fakes.playground_app import BOT_TOKEN, Site
from tests.fakes.views import BUTTON, CONFIRM, plain

pytestmark = pytest.mark.browser

MENU = {"type": "overflow", "action_id": "more"} | {
    "options": [{"text": plain(label), "value": label} for label in ("Regenerate", "Save as Markdown", "What was sent")]
}
RATING = {
    "type": "feedback_buttons",
    "action_id": "rate",
    "positive_button": {"text": plain("Good"), "value": "up"},
    "negative_button": {"text": plain("Bad"), "value": "down"},
}
SURE = {**BUTTON, "action_id": "sure", "text": plain("Stop all"), "confirm": CONFIRM}
ANSWER = (
    {"type": "actions", "elements": [BUTTON, SURE, MENU]},
    {"type": "context_actions", "elements": [RATING]},
)


class Visitor:
    """The page with an app behind it, used by one hand."""

    def __init__(self, page: Page, site: Site, hand: Hand) -> None:
        self.page = page
        self._site = site
        self._hand = hand

    def call(self, method: str, **arguments: Any) -> Any:
        """Have the app call Slack."""
        client = AsyncWebClient(token=BOT_TOKEN, base_url=f"{self._site.origin}/playground/api/")
        return asyncio.run(client.api_call(method, json=arguments)).data

    def find(self, selector: str, text: str = "", *, within: WebElement | None = None) -> WebElement:
        """Wait for an element that is shown, with a text; returns the last one."""

        def found() -> list[WebElement]:
            place = within or self.page.browser
            shown = [one for one in place.find_elements(By.CSS_SELECTOR, selector) if one.is_displayed()]
            return [one for one in shown if text in one.text or text in one.accessible_name]

        return self.page.wait(found)[-1]

    def use(self, selector: str, text: str = "", *, within: WebElement | None = None) -> WebElement:
        """Press, click or tap an element."""
        element = self.find(selector, text, within=within)
        self._hand(self.page, element)
        return element

    def sent(self, kind: str) -> dict[str, Any]:
        """Wait for the next request of a kind to the app, and return it."""

        def found() -> list[dict[str, Any]]:
            requests = [one.get("event", one) for one in self._site.app.requests]
            return [one for one in requests if one.get("type") == kind or (kind == "command" and "command" in one)]

        request = self.page.wait(found)[-1]
        self._site.app.requests.clear()
        return request


def chosen(visitor: Visitor) -> Any:
    action = visitor.sent("block_actions")["actions"][0]
    return action.get("selected_option", action)["value"]


def use_an_answer(visitor: Visitor) -> None:
    """The newest of many messages, so that its controls are directly above the composer."""
    for number in range(12):
        visitor.call("chat.postMessage", channel=GENERAL.id, text=f"Message {number}")
    visitor.call("chat.postMessage", channel=GENERAL.id, text="An answer", blocks=ANSWER)
    answer = visitor.page.message_with("Stop all")
    visitor.use("button", "Go", within=answer)
    assert chosen(visitor) == "q1"
    for label in ("Regenerate", "Save as Markdown", "What was sent"):
        visitor.use("button", "More options", within=answer)
        for entry in visitor.find("[role=menu]").find_elements(By.CSS_SELECTOR, "[role=menuitem]"):
            reach(visitor.page, entry)
        assert visitor.page.faults() == []
        visitor.use("[role=menuitem]", label)
        assert chosen(visitor) == label
    for label, value in (("Positive", "up"), ("Negative", "down")):
        visitor.use("button", f"{label} feedback", within=answer)
        assert chosen(visitor) == value
    visitor.use("button", "Stop all", within=answer)
    visitor.use("#confirm button", "Yes")
    assert chosen(visitor) == "q1"


def use_a_message(visitor: Visitor) -> None:
    visitor.call("chat.postMessage", channel=GENERAL.id, text="The tower is 330 m tall.")
    message = visitor.page.message_with("330 m")
    visitor.use(".more", within=message)
    visitor.use("[role=menuitem]", "Check this")
    assert visitor.sent("message_action")["callback_id"] == "check"
    visitor.use("#modal header button", "Close")
    visitor.page.wait(lambda: not visitor.page.browser.find_elements(By.CSS_SELECTOR, "#modal[open]"))
    visitor.use(".reply", within=message)
    visitor.use("#threading button", "Leave the thread")
    assert not visitor.page.browser.find_element(By.ID, "threading").is_displayed()


def use_the_composer(visitor: Visitor) -> None:
    visitor.page.type("/as")
    visitor.use("#suggestions li", "/ask")
    visitor.page.key("why?")
    visitor.use("#send")
    assert visitor.sent("command")["text"] == "why?"
    visitor.use("#shortcuts")
    visitor.use("[role=menuitem]", "Set up a digest")
    assert visitor.sent("shortcut")["callback_id"] == "digest"


def stop_a_stream(visitor: Visitor) -> None:
    visitor.page.send("@Web Answers why?")
    visitor.page.message_with("why?")
    root = visitor.call("conversations.history", channel=GENERAL.id)["messages"][-1]["ts"]
    recipient = {"recipient_user_id": USER_ID, "recipient_team_id": TEAM_ID}
    visitor.call("chat.startStream", channel=GENERAL.id, thread_ts=root, markdown_text="Because", **recipient)
    visitor.use("button", "Stop", within=visitor.page.message_with("Because"))
    assert visitor.sent("agent_session_stopped")


def use_the_home_tab(visitor: Visitor) -> None:
    visitor.use("[data-channel^=D]")
    visitor.call(
        "assistant.threads.setSuggestedPrompts", channel_id=DIRECT.id, prompts=[{"title": "Try", "message": "Why?"}]
    )
    visitor.use("#prompts button", "Try")
    assert visitor.sent("message")["text"] == "Why?"
    visitor.use("[role=tab]", "Home")
    home = visitor.find("#home")
    visitor.use("button", "Go", within=home)
    assert chosen(visitor) == "q1"
    visitor.use("button", "Delete", within=home)
    visitor.use("#confirm button", "No")
    visitor.use("button", "Delete", within=home)
    visitor.use("#confirm button", "Yes")
    assert visitor.sent("block_actions")["actions"][0]["action_id"] == "sure"


def fill_in_a_form(visitor: Visitor) -> None:
    visitor.use("#shortcuts")
    visitor.use("[role=menuitem]", "Ask the web")
    form = visitor.find("#modal")
    assert visitor.page.faults() == []
    for name, typed in {"question": "why?", "comment": "so", "number": "7"}.items():
        visitor.use(f"#modal-{name}-{name}")
        visitor.page.key(typed)
    visitor.use("#modal-model-model")
    visitor.page.key(Keys.ARROW_DOWN, Keys.TAB)
    for name in ("parts", "effort"):
        visitor.use(f"#modal-{name}-{name} input[value='1']")
    visitor.use("button", "More", within=form)
    visitor.use("[role=menuitem]")
    assert chosen(visitor) == "1"
    visitor.use("button", "Go", within=form)
    state = visitor.sent("block_actions")["view"]["state"]["values"]
    assert (state["comment"]["comment"]["value"], state["number"]["number"]["value"]) == ("so", "7")
    assert state["model"]["model"]["selected_option"]["value"] == "1"
    assert [one["value"] for one in state["parts"]["parts"]["selected_options"]] == ["0"]
    assert state["effort"]["effort"]["selected_option"]["value"] == "1"
    visitor.use("button", "Next view", within=form)
    visitor.find("#modal h2", "Sources")
    visitor.use("header button", "Back", within=form)
    visitor.find("#modal h2", "Ask the web")
    visitor.use("footer button", "Ask", within=form)
    visitor.page.message_with("You asked: why?")


CONTROLS: tuple[Callable[[Visitor], None], ...] = (
    use_an_answer,
    use_a_message,
    use_the_composer,
    stop_a_stream,
    use_the_home_tab,
    fill_in_a_form,
)


USUAL = ((mouse, 1280), (keyboard, 1280), (touch, 375))
"""Which hand people use in a window of which width."""
AT_EACH_CHANGE = {(control, *usual) for control, usual in zip(CONTROLS, cycle(USUAL), strict=False)}
"""Each is used by one hand, and each hand uses two; `make rare` tries all."""


@pytest.mark.parametrize(
    ("control", "hand", "width"),
    [
        pytest.param(*case, marks=[] if case in AT_EACH_CHANGE else pytest.mark.rare)
        for case in product(CONTROLS, HANDS, (1280, 375))
    ],
)
def test_it_is_used(browser: WebDriver, site: Site, hand: Hand, control: Callable[[Visitor], None], width: int) -> None:
    site.app.reply = DialogApp(site.origin).reply
    page = Page(browser=browser)
    with held(page, hand, width=width):
        page.open(site.address)
        control(Visitor(page, site, hand))
