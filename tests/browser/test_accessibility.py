"""The page for everyone: by keyboard, by screen reader, on a telephone, in a thread, in one's own time zone."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest
from aiohttp import web
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webdriver import WebDriver
from selenium.webdriver.remote.webelement import WebElement
from slack_sdk.web.async_client import AsyncWebClient

from fake_slack.workspace import GENERAL, TEAM_ID, USER_ID
from tests.browser.conftest import serve_app
from tests.browser.page import Page
from tests.docs.pages import is_here
from tests.fakes.playground_app import BOT_TOKEN, Fields, Site
from tests.fakes.ports import free_port
from tests.fakes.views import BUTTON, Block, buttons, plain

pytestmark = pytest.mark.browser

COLUMNS = ("Year", *(f"Region {number}" for number in range(1, 12)))
TABLE = "\n".join(
    [
        f"| {' | '.join(COLUMNS)} |",
        "|---" * len(COLUMNS) + "|",
        *(f"| {year} |" + " 12 345 678.9 |" * (len(COLUMNS) - 1) for year in range(2015, 2027)),
    ]
)
CITED = "\n\n".join(
    f"Claim {number}. [[{number % 12 + 1}]](https://a.example/{number % 12 + 1})" for number in range(40)
)
MORE = "\n\nmore" * 3
ARABIC = """\
## ارتفاع أسعار الطاقة

- المنتجون يتحدثون عن طلبات كثيرة (2026).

| السنة | السعر |
|---|---|
| 2024 | 12 345,6 |

> اقتباس قصير

- English comes last."""
LONG = "\n\n".join(f"Paragraph {number} of a long answer." for number in range(60))


@pytest.fixture
def page(browser: WebDriver, site: Site) -> Page:
    page = Page(browser=browser)
    page.open(site.address)
    return page


class App:
    """What the app does in the playground's Slack."""

    def __init__(self, site: Site) -> None:
        self._site = site

    def post(self, markdown: str, *, below: Sequence[Block] = (), **more: Any) -> str:
        """Post a message to the channel, with blocks below its text, and return its `ts`."""
        return str(self._call("chat_postMessage", text="x", blocks=[_block(markdown), *below], **more)["ts"])

    def update(self, ts: str, markdown: str) -> None:
        """Change a message."""
        self._call("chat_update", ts=ts, text="x", blocks=[_block(markdown)])

    def stream(self, markdown: str, **more: Any) -> None:
        """Begin a stream."""
        self._call("chat_startStream", markdown_text=markdown, **more)

    def _call(self, method: str, **arguments: Any) -> Any:
        async def call() -> Any:
            client = AsyncWebClient(token=BOT_TOKEN, base_url=f"{self._site.origin}/playground/api/")
            return await getattr(client, method)(channel=GENERAL.id, **arguments)

        return asyncio.run(call())


@pytest.fixture
def app(site: Site) -> App:
    return App(site)


def _block(text: str) -> dict[str, Any]:
    if "<" in text:
        return {"type": "section", "text": {"type": "mrkdwn", "text": text}}
    return {"type": "markdown", "text": text}


def below(page: Page, message: WebElement) -> float:
    """Return how many pixels of a message's end are below what is in view; negative where it is above that line."""
    pixels: float = page.browser.execute_script(
        "const list = document.querySelector('#messages');"
        "return arguments[0].getBoundingClientRect().bottom - list.getBoundingClientRect().bottom;",
        message,
    )
    return pixels


def above(page: Page, message: WebElement) -> float:
    """Return how many pixels of a message's beginning are above what is in view; negative if it is below that."""
    pixels: float = page.browser.execute_script(
        "const list = document.querySelector('#messages');"
        "return list.getBoundingClientRect().top - arguments[0].getBoundingClientRect().top;",
        message,
    )
    return pixels


def test_a_reply_in_a_thread_stays_in_view_while_it_grows_until_its_question_is_at_the_top(
    page: Page, app: App
) -> None:
    root = app.post("The first of many")
    for number in range(25):
        app.post(f"Message {number}{MORE}")
    page.message_with("Message 24")
    page.reply_to(page.message_with("The first of many"))
    page.send("and then?")
    page.message_with("and then?")
    question = page.message_with("and then?")
    reply = app.post("Searching…", thread_ts=root)
    for paragraphs in (1, 10):
        app.update(reply, "\n\n".join(f"Paragraph {number}" for number in range(paragraphs)))
        assert -600 < below(page, page.message_with(f"Paragraph {paragraphs - 1}")) < 1
    app.update(reply, LONG)
    page.message_with("Paragraph 59")
    app.post("And more", thread_ts=root)
    page.message_with("And more")

    assert abs(above(page, question)) < 1


def test_who_scrolled_up_is_left_there(page: Page, app: App) -> None:
    root = app.post("The first of many")
    earlier = app.post("An earlier message")
    for number in range(25):
        app.post(f"Message {number}{MORE}")
    page.message_with("Message 24")
    page.reply_to(page.message_with("The first of many"))
    page.send("and then?")
    page.message_with("and then?")
    reply = app.post("Searching…", thread_ts=root)
    page.message_with("Searching…")
    reading = page.message_with("Message 12")
    page.browser.execute_script("arguments[0].scrollIntoView({block: 'start'})", reading)
    page.wait(lambda: abs(below(page, reading)) > 0)
    before = below(page, reading)
    app.update(reply, LONG)
    app.update(earlier, "Two lines\n\nnow")
    page.message_with("Paragraph 59")
    page.message_with("Two lines")

    assert abs(below(page, reading) - before) < 2


def test_who_is_at_the_end_of_the_channel_gets_a_long_answer_from_its_beginning(page: Page, app: App) -> None:
    for number in range(25):
        app.post(f"Message {number}{MORE}")
    assert below(page, page.message_with("Message 24")) < 1
    ts = app.post("Searching…")
    assert below(page, page.message_with("Searching…")) < 1
    app.update(ts, LONG)

    assert abs(above(page, page.message_with("Paragraph 59"))) < 1


def test_what_follows_a_click_is_in_view(page: Page, app: App, site: Site) -> None:
    async def thank(fields: Fields) -> web.Response:
        if fields.get("type") == "block_actions":
            client = AsyncWebClient(token=BOT_TOKEN, base_url=f"{site.origin}/playground/api/")
            await client.chat_postEphemeral(channel=GENERAL.id, user=USER_ID, text="Thank you\nfor that")
        return web.Response()

    site.app.reply = thank
    with page.emulate(look="light", width=1100, height=500):
        page.send("why?")
        page.message_with("why?")
        app.post("Because." + MORE, below=[buttons(BUTTON)])
        button = page.message_with("Because.").find_element(By.ID, str(BUTTON["action_id"]))
        assert below(page, button) < 0
        button.click()

        assert below(page, page.message_with("for that")) < 1


def test_who_scrolled_up_is_told_of_new_messages_and_goes_there(page: Page, app: App) -> None:
    for number in range(25):
        app.post(f"Message {number}{MORE}")
    reading = page.message_with("Message 12")
    assert "New messages" not in page.buttons()
    page.browser.execute_script("arguments[0].scrollIntoView({block: 'start'})", reading)
    app.post(f"Message 25{MORE}")
    newest = page.message_with("Message 25")
    told = page.browser.find_element(By.ID, "newer")
    assert page.wait(told.is_displayed)
    assert (abs(above(page, reading)) < 1, page.faults(), page.low_contrast_texts()) == (True, [], [])
    told.click()
    page.wait(lambda: not told.is_displayed())

    assert below(page, newest) < 1


def test_rows_of_buttons_are_as_close_as_the_buttons_of_a_row(page: Page, app: App) -> None:
    more = {**BUTTON, "action_id": "more", "text": plain("What is the largest planet of all of them?")}
    app.post("An answer", below=[{**buttons(more), "block_id": "alone"}, buttons(BUTTON, more)])
    page.message_with("An answer")
    boxes = "return [...document.querySelectorAll('.body button')].map(one => one.getBoundingClientRect().toJSON())"
    alone, left, right = page.browser.execute_script(boxes)
    with page.emulate(look="light", width=320):
        narrow = page.browser.execute_script(boxes)

    assert (left["top"] - alone["bottom"], right["left"] - left["right"], right["top"]) == (8, 8, left["top"])
    assert narrow[2]["top"] - narrow[1]["bottom"] == 8
    assert max(one["right"] for one in narrow) < 320


def test_the_stop_button_of_a_long_answer_stays_in_view(page: Page, app: App) -> None:
    recipient = {"recipient_user_id": USER_ID, "recipient_team_id": TEAM_ID}
    root = app.post("A question?")
    app.stream(LONG, thread_ts=root, **recipient)
    stop = page.message_with("Paragraph 59").find_element(By.CLASS_NAME, "stop")

    assert below(page, stop) < 1


def test_a_wide_table_scrolls_sideways_on_a_telephone_and_breaks_no_number(
    page: Page, app: App, artifacts: Any
) -> None:
    with page.emulate(look="light", width=375):
        app.post(TABLE)
        table = page.message_with("2026").find_element(By.CLASS_NAME, "table")
        page.browser.save_screenshot(str(artifacts / "playground-table-375.png"))
        inner, outer, sideways = page.browser.execute_script(
            "const [table] = arguments; return [table.scrollWidth, table.clientWidth,"
            "  document.documentElement.scrollWidth - innerWidth"
            "  + document.querySelector('#messages').scrollWidth - document.querySelector('#messages').clientWidth];",
            table,
        )
        lines = page.browser.execute_script(
            "const range = document.createRange();"
            "return [...arguments[0].querySelectorAll('td')].map((cell) => {"
            "  range.selectNodeContents(cell); return range.getClientRects().length; });",
            table,
        )

    assert (inner > outer, sideways, set(lines)) == (True, 0, {1})


def test_the_composer_is_a_combobox(page: Page) -> None:
    box = page.browser.find_element(By.ID, "input")

    def state() -> tuple[str | None, str | None, str | None]:
        active = box.get_attribute("aria-activedescendant")
        chosen = page.browser.find_elements(By.CSS_SELECTOR, f"#{active}[role=option][aria-selected=true] b")
        return box.get_attribute("role"), box.get_attribute("aria-expanded"), chosen[0].text if chosen else None

    closed = state()
    page.type("/")
    opened = state()
    page.type(Keys.ARROW_DOWN)
    moved = state()
    page.type(Keys.ESCAPE)
    escaped = state()
    page.type("a" + Keys.ENTER)

    assert [closed, opened, moved, escaped, state()] == [
        ("combobox", "false", None),
        ("combobox", "true", "/search"),
        ("combobox", "true", "/ask"),
        ("combobox", "false", None),
        ("combobox", "false", None),
    ]
    assert (page.composer_text(), box.get_attribute("aria-controls")) == ("/ask ", "suggestions")
    assert page.browser.find_element(By.ID, "suggestions").get_attribute("role") == "listbox"


def test_each_message_says_whose_it_is_and_who_sees_it(page: Page, app: App) -> None:
    root = app.post("A question?")
    app.post("An answer", thread_ts=root)
    page.send("/ask anything")
    page.message_with("An answer")
    page.message_with("current stable release")
    names = [message.accessible_name for message in page.messages()]

    assert [name.partition(",")[0] for name in names] == ["Web Answers"] * 3
    assert names[1].endswith("reply in a thread")
    assert names[2].endswith("only visible to you")


def test_forty_citations_are_one_stop_and_the_arrow_keys_go_through_them(page: Page, app: App) -> None:
    app.post(CITED)
    message = page.message_with("Claim 39")
    stops = message.find_elements(By.CSS_SELECTOR, "a[href]:not([tabindex='-1'])")
    links = message.find_elements(By.TAG_NAME, "a")
    stops[0].send_keys(Keys.ARROW_RIGHT)
    second = page.browser.switch_to.active_element
    second.send_keys(Keys.END)
    last = page.browser.switch_to.active_element

    assert (len(links), len(stops), second, last) == (40, 1, links[1], links[-1])
    assert second.accessible_name == "Source 2"
    assert len(message.find_elements(By.CSS_SELECTOR, "a[href]:not([tabindex='-1'])")) == 1


def test_times_are_in_the_reader_s_own_zone(page: Page, app: App) -> None:
    with in_zone(page, "Asia/Tokyo"):
        app.post("as of <!date^1728936000^{date_short_pretty} at {time}|14 Oct 2024 20:00 UTC>")
        app.post("and <!date^x^{time}|no time> and <!date^1728936000^{nothing}|an unknown form>")
        shown = page.message_with("as of")
        odd = page.message_with("and")
        time = shown.find_element(By.CSS_SELECTOR, ".body time")

    assert "as of Oct 15, 2024 at 5:00 AM" in shown.text.replace("\u202f", " ")
    assert time.get_attribute("datetime") == "2024-10-14T20:00:00.000Z"
    assert "and no time and an unknown form" in odd.text


@contextmanager
def in_zone(page: Page, zone: str) -> Iterator[None]:
    """Show the page in a time zone."""
    page.browser.execute_cdp_cmd("Emulation.setTimezoneOverride", {"timezoneId": zone})
    try:
        yield
    finally:
        page.browser.execute_cdp_cmd("Emulation.setTimezoneOverride", {"timezoneId": ""})


def test_a_text_from_right_to_left_keeps_its_direction(page: Page, app: App, artifacts: Any) -> None:
    app.post(ARABIC)
    message = page.message_with("English")
    page.browser.save_screenshot(str(artifacts / "playground-arabic.png"))

    def directions(selector: str) -> list[str]:
        found = message.find_elements(By.CSS_SELECTOR, selector)
        return [one.value_of_css_property("direction") for one in found]

    first, second = message.find_elements(By.CSS_SELECTOR, "td")
    assert [directions(one) for one in (".body ul", "table", "blockquote")] == [["rtl", "ltr"], ["rtl"], ["rtl"]]
    assert first.location["x"] > second.location["x"]


def test_axe_finds_nothing_serious(
    browser: WebDriver, database: str, artifacts: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{free_port()}")
    page = Page(browser=browser)
    found: dict[str, Any] = {}
    overflows = []
    with serve_app(database) as url:
        page.open(url)
        for look, width in [("light", 1280), ("dark", 375)]:
            with page.emulate(look=look, width=width):
                browser.save_screenshot(str(artifacts / f"app-first-visit-{look}-{width}.png"))
                found[f"first visit, {look}, {width}"] = page.faults()
        page.press_prompt("Why is the sky blue?")
        page.message_with("Rayleigh")
        page.send("/news science --recency week")
        page.message_with("Europa Clipper")
        if is_here("/deepdive …"):
            page.send("/deepdive how did Twitter become X")
            page.message_with("Of 6 posts")
        page.send("@Web Answers how do the planets compare")
        page.message_with("Escape velocity")
        page.send("/ask bees")
        page.message_with("Try again")
        page.send("hello")
        page.type("/")
        for look, width in [("light", 1280), ("light", 375), ("dark", 1280), ("dark", 375)]:
            with page.emulate(look=look, width=width):
                browser.save_screenshot(str(artifacts / f"app-everything-{look}-{width}.png"))
                found[f"everything, {look}, {width}"] = page.faults()
                found[f"colours, {look}, {width}"] = page.low_contrast_texts()
                overflows.append(page.overflow())

    assert overflows == [(0, 0)] * 4
    assert {where: faults for where, faults in found.items() if faults} == {}
