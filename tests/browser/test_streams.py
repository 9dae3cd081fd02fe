"""The playground in a real browser: what a person sees of an app that streams, and how they stop it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webdriver import WebDriver
from slack_sdk.web.async_client import AsyncWebClient

from fake_slack.workspace import DIRECT, GENERAL, TEAM_ID, USER_ID
from tests.browser.page import Page
from tests.fakes.playground_app import BOT_TOKEN, Site, quiet

pytestmark = pytest.mark.browser

SEARCHED = {"type": "task_update", "id": "1", "title": "Searched “heat pump running cost 2026”", "status": "complete"}
READING = {
    "type": "task_update",
    "id": "2",
    "title": "Reading 8 pages",
    "status": "in_progress",
    "sources": [{"type": "url", "url": "https://www.destatis.de/preise", "text": "destatis.de"}],
}
LABEL = {"type": "plain_text", "text": "Think longer"}
BUTTON = {"type": "button", "text": LABEL, "action_id": "deeper", "value": "q1"}
STOP_BLOCKS = [
    {
        "type": "context",
        "elements": [{"type": "mrkdwn", "text": "*Sources*  1 <https://www.destatis.de/preise|Power>"}],
    },
    {"type": "actions", "elements": [BUTTON]},
]


class Streaming:
    """An app that streams into the thread of the page's first message, one call at a time."""

    def __init__(self, site: Site) -> None:
        self._client = AsyncWebClient(token=BOT_TOKEN, base_url=f"{site.origin}/playground/api/")
        self._place: dict[str, Any] = {}

    def call(self, method: str, **arguments: Any) -> Any:
        return asyncio.run(self._client.api_call(method, json=arguments)).data

    def start(self, *, channel: str, **more: Any) -> None:
        root = self.call("conversations.history", channel=channel)["messages"][-1]["ts"]
        call = {"recipient_user_id": USER_ID, "recipient_team_id": TEAM_ID, "thread_ts": root, **more}
        self._place = {"channel": channel, "ts": self.call("chat.startStream", channel=channel, **call)["ts"]}

    def append(self, *chunks: dict[str, Any]) -> None:
        self.call("chat.appendStream", **self._place, chunks=list(chunks))

    def stop(self, **more: Any) -> None:
        self.call("chat.stopStream", **self._place, **more)


@pytest.fixture
def page(browser: WebDriver, site: Site) -> Page:
    page = Page(browser=browser)
    page.open(site.address)
    return page


@pytest.fixture
def app(site: Site) -> Streaming:
    site.app.reply = quiet
    return Streaming(site)


def _is_live(page: Page) -> bool:
    return bool(page.browser.find_elements(By.CSS_SELECTOR, 'article[aria-busy="true"]'))


@pytest.mark.parametrize("mode", ["plan", "timeline"])
def test_a_stream_grows_from_steps_to_text_to_blocks(page: Page, app: Streaming, artifacts: Path, mode: str) -> None:
    page.send("@Web Answers are heat pumps cheaper to run than gas?")
    page.message_with("heat pumps")
    plan = [{"type": "plan_update", "title": "Answering"}] if mode == "plan" else []
    app.start(channel=GENERAL.id, task_display_mode=mode, chunks=[*plan, SEARCHED, READING])
    page.message_with("Reading 8 pages")
    page.browser.save_screenshot(str(artifacts / f"playground-stream-{mode}-steps.png"))
    app.append(READING | {"status": "complete"}, {"type": "markdown_text", "text": "**Yes, in most existing "})
    page.message_with("Yes, in most existing")
    app.append({"type": "markdown_text", "text": "buildings** it costs less. [[1]](https://www.destatis.de/preise)"})
    page.message_with("Yes, in most existing buildings it costs less.")
    assert _is_live(page)
    page.browser.save_screenshot(str(artifacts / f"playground-stream-{mode}-text.png"))
    app.stop(blocks=STOP_BLOCKS)
    message = page.message_with("Think longer")
    page.browser.save_screenshot(str(artifacts / f"playground-stream-{mode}-stopped.png"))

    assert not _is_live(page)
    assert message.text.index("Reading 8 pages") < message.text.index("Yes, in most") < message.text.index("Sources")
    assert page.faults() == []
    assert page.low_contrast_texts() == []
    with page.emulate(look="dark", width=400):
        page.browser.save_screenshot(str(artifacts / f"playground-stream-{mode}-dark.png"))
        assert page.low_contrast_texts() == []


def test_the_stop_button_is_reached_by_keyboard_and_ends_the_stream(page: Page, app: Streaming, site: Site) -> None:
    page.send("@Web Answers why?")
    page.message_with("why?")
    app.start(channel=GENERAL.id, markdown_text="Because")
    page.message_with("Because")
    page.tab_back_to("Stop")
    page.key(Keys.ENTER)
    page.wait(lambda: not _is_live(page))
    event = page.wait(lambda: [r["event"] for r in site.app.requests if "event" in r][1:])[0]

    assert (event["type"], len(event["streaming_message_ts"])) == ("agent_session_stopped", 1)
    assert page.focused() == "messages"


@pytest.mark.rare
def test_a_message_that_is_edited_is_read_aloud_when_it_is_left_alone(page: Page, app: Streaming) -> None:
    ts = app.call("chat.postMessage", channel=GENERAL.id, text="Searching")["ts"]
    page.message_with("Searching")
    assert not _is_live(page)
    for seconds in (3, 6):
        app.call("chat.update", channel=GENERAL.id, ts=ts, text=f"Searching for {seconds} s")
        page.message_with(f"{seconds} s")
        assert _is_live(page)

    assert page.wait(lambda: not _is_live(page))


def test_opening_the_direct_message_tells_the_app_and_its_prompts_can_be_pressed(
    page: Page, app: Streaming, site: Site, artifacts: Path
) -> None:
    page.open_direct()
    opened = page.wait(lambda: [r["event"] for r in site.app.requests if "event" in r])[0]
    prompts = [{"title": "What is new?", "message": "What is new in open source databases?"}]
    app.call("assistant.threads.setSuggestedPrompts", channel_id=DIRECT.id, title="Ask the web", prompts=prompts)
    shown = page.wait(lambda: page.browser.find_elements(By.CSS_SELECTOR, "#prompts:not([hidden]) button"))
    page.browser.save_screenshot(str(artifacts / "playground-prompts.png"))
    assert page.faults() == []
    shown[0].send_keys(Keys.ENTER)
    page.message_with("What is new in open source databases?")

    assert (opened["type"], opened["tab"], opened["channel"]) == ("app_home_opened", "messages", DIRECT.id)
    assert page.wait(lambda: not page.browser.find_element(By.ID, "prompts").is_displayed())


def test_a_status_is_shown_until_the_app_answers(page: Page, app: Streaming, site: Site) -> None:
    page.open_direct()
    page.send("why?")
    page.message_with("why?")
    root = app.call("conversations.history", channel=DIRECT.id)["messages"][0]["ts"]
    app.call("assistant.threads.setStatus", channel_id=DIRECT.id, thread_ts=root, status="is searching …")
    status = page.wait(lambda: page.browser.find_elements(By.CSS_SELECTOR, "#statuses li"))[0]

    assert status.text.startswith("Web Answers is searching …")
    app.call("chat.postMessage", channel=DIRECT.id, thread_ts=root, text="Because.")
    assert page.wait(lambda: not page.browser.find_elements(By.CSS_SELECTOR, "#statuses li"))


CHOICES = [
    {
        "type": "actions",
        "elements": [
            {
                "type": "overflow",
                "action_id": "more",
                "options": [
                    {"text": {"type": "plain_text", "text": label}, "value": label.lower()}
                    for label in ("Regenerate", "Save")
                ],
            }
        ],
    },
    {
        "type": "context_actions",
        "elements": [
            {
                "type": "feedback_buttons",
                "action_id": "rate",
                "positive_button": {"text": {"type": "plain_text", "text": "Good"}, "value": "up"},
                "negative_button": {"text": {"type": "plain_text", "text": "Bad"}, "value": "down"},
            }
        ],
    },
]


def test_menus_and_ratings_are_used_by_keyboard(page: Page, app: Streaming, site: Site) -> None:
    def chosen(count: int) -> Any:
        found = page.wait(lambda: [r["actions"][0] for r in site.app.requests if "actions" in r][count - 1 :])
        return found[0].get("selected_option", found[0])["value"]

    app.call("chat.postMessage", channel=GENERAL.id, text="Rate this", blocks=[*STOP_BLOCKS, *CHOICES])
    message = page.message_with("Think longer")
    menu = message.find_element(By.CSS_SELECTOR, 'button[aria-label="More options"]')
    for keys, expected in (((Keys.ENTER,), "regenerate"), ((Keys.ARROW_DOWN, Keys.ENTER), "save")):
        menu.send_keys(Keys.ENTER)
        page.wait(lambda: page.browser.switch_to.active_element.get_attribute("role") == "menuitem")
        for key in keys:
            page.browser.switch_to.active_element.send_keys(key)
        assert chosen(1) == expected
        page.wait(lambda: page.browser.switch_to.active_element == menu)
        site.app.requests.clear()
    menu.send_keys(Keys.ENTER)
    assert page.faults() == []
    page.browser.switch_to.active_element.send_keys(Keys.ESCAPE)
    page.wait(lambda: menu.get_attribute("aria-expanded") == "false")
    for label, expected in (("Positive", "up"), ("Negative", "down")):
        message.find_element(By.CSS_SELECTOR, f'button[aria-label="{label} feedback"]').send_keys(Keys.ENTER)
        assert chosen(1) == expected
        site.app.requests.clear()
