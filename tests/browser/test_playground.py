"""The playground in a real browser: what a person types, reads and presses."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webdriver import WebDriver
from slack_sdk.web.async_client import AsyncWebClient

from fake_slack.workspace import USER_ID
from tests.browser.conftest import served
from tests.browser.page import Page
from tests.fakes.playground_app import BOT_TOKEN, Site
from tests.rare import one_in

pytestmark = pytest.mark.browser


@pytest.fixture
def page(browser: WebDriver, site: Site) -> Page:
    page = Page(browser=browser)
    page.open(site.address)
    return page


def test_an_empty_channel_offers_questions_until_one_is_asked(page: Page, artifacts: Path) -> None:
    page.browser.save_screenshot(str(artifacts / "playground-empty.png"))
    shown = page.browser.find_element(By.TAG_NAME, "body").text
    examples = [one.text for one in page.browser.find_elements(By.CSS_SELECTOR, "#examples button")]
    page.press_prompt(examples[0])
    page.message_with("current stable release")

    assert (examples[0], len(examples)) == ("What is new in Python 3.14?", 3)
    assert (shown.count("Web Answers"), shown.lower().count("playground")) == (2, 1)
    assert not page.browser.find_element(By.ID, "examples").is_displayed()


@pytest.mark.parametrize("width", [1280, 375])
def test_the_composer_says_what_it_is_for(page: Page, site: Site, width: int) -> None:
    with page.emulate(look="light", width=width):
        asyncio.run(_post_directly(site, "x"))
        page.send("hello")
        channel = placeholder(page)
        page.reply_to(page.message_with("hello"))
        thread = placeholder(page)
        page.send("and then?")
        page.message_with("To ask something, mention @Web Answers here.")
        page.open_direct()

        assert [channel, thread, placeholder(page)] == [
            ("Message #general, or / for commands", True),
            ("Reply…", True),
            ("Message Web Answers", True),
        ]


def placeholder(page: Page) -> tuple[str, bool]:
    """Return what the empty composer says, and whether it fits."""
    shown, fits = page.browser.execute_script(
        "const input = document.querySelector('#input');"
        "const pen = document.createElement('canvas').getContext('2d');"
        "const {font, paddingLeft, paddingRight} = getComputedStyle(input);"
        "pen.font = font;"
        "const room = input.clientWidth - parseFloat(paddingLeft) - parseFloat(paddingRight);"
        "return [input.placeholder, pen.measureText(input.placeholder).width <= room];"
    )
    return shown, fits


def test_a_search_shows_results_with_the_addresses_of_their_pages(page: Page, artifacts: Path) -> None:
    page.send("/search python 3.14 free threading")
    message = page.message_with("What’s New In Python 3.14")
    page.browser.save_screenshot(str(artifacts / "playground-search.png"))

    assert page.links(message) == [
        ("What’s New In Python 3.14", "https://docs.python.org/3.14/whatsnew/3.14.html"),
        ("PEP 779 – Criteria for supported status", "https://peps.python.org/pep-0779/"),
    ]
    assert "# A heading, --- and [text](parens) stay as they are; so does <b>." in message.text


def test_an_answer_shows_its_heading_list_table_and_code(page: Page, artifacts: Path) -> None:
    page.send("/ask What is new?")
    message = page.message_with("current stable release")
    page.browser.save_screenshot(str(artifacts / "playground-ask.png"))

    def texts(selector: str) -> list[str]:
        return [element.text for element in message.find_elements(By.CSS_SELECTOR, selector)]

    assert texts("h2") == ["What changed"]
    assert texts("th") == ["Build", "Single thread", "8 threads"]
    assert texts("pre code") == ["uv python install 3.14t\n  python3.14t -X gil=0"]
    assert texts("ul ul li") == ["nested, too"]
    assert texts("ol li") == ["first", "second"]
    assert texts("blockquote") == ["A quoted line"]


def test_the_private_searching_line_gives_way_to_the_answer(page: Page) -> None:
    page.send("/ask anything")
    page.message_with("current stable release")

    assert page.wait_until_gone("Searching the web")


def test_try_again_brings_the_answer_in_the_place_of_the_failure(page: Page, site: Site, artifacts: Path) -> None:
    page.send("/ask fail")
    failure = page.message_with("Sorry, no search service answered")
    page.browser.save_screenshot(str(artifacts / "playground-failure.png"))
    page.press(failure, "Try again")
    page.message_with("current stable release")

    assert page.wait_until_gone("Sorry, no search service answered")
    assert len(page.messages()) == 1
    assert (
        site.app.requests[-1]["actions"][0]["action_id"],
        site.app.requests[-1]["actions"][0]["value"],
    ) == ("retry", "q1")


def test_a_public_answer_is_below_the_line_that_asked_for_it(page: Page) -> None:
    page.send("/search --public <b>bees</b>")
    answer = page.message_with("What’s New In Python 3.14")
    line = page.message_with("/search --public <b>bees</b>")

    assert "Only visible to you" not in answer.text + line.text


def test_hostile_text_is_only_text(page: Page, artifacts: Path) -> None:
    title = page.browser.title
    page.send("/ask hostile")
    message = page.message_with("onerror")
    page.browser.save_screenshot(str(artifacts / "playground-hostile.png"))
    addresses = {address for _, address in page.links(message)}

    assert title == page.browser.title
    assert message.find_elements(By.CSS_SELECTOR, "img, script, iframe") == []
    assert {"https://evil.example/i.png", "https://e.co/"} == addresses
    assert message.text.count("<img src=x onerror=\"document.title='owned'\">") == 5


def test_emoji_and_quotes_show_without_any_font(page: Page, artifacts: Path) -> None:
    page.send("/ask passages")
    message = page.message_with("No answer model")
    page.browser.save_screenshot(str(artifacts / "playground-passages.png"))
    drawn = message.find_elements(By.CSS_SELECTOR, "svg.emoji")

    assert [emoji.get_attribute("aria-label") for emoji in drawn] == ["warning", "mag"]
    assert page.links(message) == [("[1]", "https://docs.python.org/3.14/whatsnew/3.14.html")]


def test_a_slash_lists_the_commands_and_tab_completes_one(page: Page, artifacts: Path) -> None:
    page.type("/")
    options = [o.text for o in page.browser.find_elements(By.CSS_SELECTOR, "#suggestions li")]
    page.browser.save_screenshot(str(artifacts / "playground-suggestions.png"))
    page.type(Keys.ARROW_DOWN + Keys.TAB)

    assert options[0].splitlines() == ["/search", "[--n 1-20] QUERY", "Search the web"]
    assert page.composer_text() == "/ask "


def test_shift_enter_starts_a_line_and_arrow_up_brings_back_the_last_one(page: Page) -> None:
    page.type("/ask one" + Keys.SHIFT + Keys.ENTER + Keys.NULL + "two")
    written = page.composer_text()
    page.type(Keys.ENTER)
    page.message_with("current stable release")
    sent = page.composer_text()
    page.type(Keys.ARROW_UP)

    assert (written, sent, page.composer_text()) == ("/ask one\ntwo", "", "/ask one\ntwo")


@pytest.mark.parametrize(
    ("line", "answer"),
    one_in(
        3,
        [
            ("hello there", "To ask something, mention @Web Answers or start with /search or /ask."),
            ("/poem", "/poem is not a valid command. Try /search or /ask."),
            ("/ask silent", "/ask failed with the error “dispatch_failed”"),
        ],
    ),
)
def test_a_message_that_the_app_refuses_is_reported_privately(page: Page, line: str, answer: str) -> None:
    page.send(line)
    message = page.message_with(answer)

    assert "Only visible to you" in message.text


def test_a_direct_message_shows_a_dot_until_it_is_opened(page: Page, site: Site, artifacts: Path) -> None:
    asyncio.run(_post_directly(site, "Part two of your answer"))
    page.wait(lambda: page.browser.find_elements(By.CSS_SELECTOR, "[data-channel^=D] .unread"))
    page.browser.save_screenshot(str(artifacts / "playground-unread.png"))
    hidden = page.messages()
    page.browser.find_element(By.CSS_SELECTOR, "button[data-channel^=D]").click()
    page.message_with("Part two of your answer")

    assert hidden == []
    assert page.browser.find_elements(By.CSS_SELECTOR, ".unread") == []


def test_a_page_that_is_opened_again_is_at_its_end__and_what_was_read_stays_read(page: Page, site: Site) -> None:
    asyncio.run(_post_directly(site, "Part two of your answer"))
    with page.emulate(look="light", width=1100, height=400):
        page.send("hello there")
        page.message_with("To ask something")
        page.send("/ask What is new?")
        page.message_with("current stable release")
        page.open(site.address)
        page.message_with("current stable release")

        assert page.wait(lambda: page.browser.execute_script(LEFT_BELOW) < 2)
    assert page.browser.find_elements(By.CLASS_NAME, "unread") == []


LEFT_BELOW = """
    const {scrollHeight, scrollTop, clientHeight} = document.querySelector("#messages");
    return scrollHeight - scrollTop - clientHeight;
"""
"""How much of the channel is below what is in view."""


def test_a_restart_is_announced_and_the_shown_messages_stay_usable(browser: WebDriver) -> None:
    page = Page(browser=browser)
    with served() as site:
        page.open(site.address)
        page.send("/ask fail")
        failure = page.message_with("Sorry, no search service answered")
    page.wait(lambda: "cannot be reached" in page.notice())
    with served(port=int(site.origin.rpartition(":")[2])):
        page.wait(lambda: "restarted" in page.notice())
        page.press(failure, "Try again")
        page.message_with("current stable release")

        assert page.wait_until_gone("Sorry, no search service answered")


@pytest.mark.rare
def test_a_restart_keeps_what_was_read_for_this_page_and_a_new_one(browser: WebDriver, tmp_path: Path) -> None:
    page, saved = Page(browser=browser), tmp_path / "playground.json"
    with served(saved=saved) as site:
        page.open(site.address)
        page.open_direct()
        asyncio.run(_post_directly(site, "Part one of your answer"))
        page.message_with("Part one of your answer")
        page.browser.find_element(By.CSS_SELECTOR, "button[data-channel^=C]").click()
        page.send("hello there")
        page.message_with("hello there")
    page.wait(lambda: "cannot be reached" in page.notice())
    with served(port=int(site.origin.rpartition(":")[2]), saved=saved) as site:
        page.wait(lambda: "restarted" in page.notice())
        page.send("hello again")
        page.message_with("hello again")
        assert page.browser.find_elements(By.CLASS_NAME, "unread") == []
        asyncio.run(_post_directly(site, "Part two of your answer"))
        page.wait(lambda: page.browser.find_elements(By.CSS_SELECTOR, "[data-channel^=D] .unread"))

        page.open(site.address)
        assert page.message_with("hello there")
        page.open_direct()
        assert page.message_with("Part one of your answer")


def test_a_line_that_cannot_be_sent_is_reported_and_kept(browser: WebDriver) -> None:
    page = Page(browser=browser)
    with served() as site:
        page.open(site.address)
    page.send("/ask anything")
    page.wait(lambda: "was not sent" in page.notice())

    assert page.wait(page.composer_text) == "/ask anything"


def test_the_page_calls_only_its_own_server_and_logs_no_error(page: Page, site: Site) -> None:
    page.log("browser")
    page.open(site.address)
    for line in ("/search bees", "/ask passages", "/ask hostile", "/ask all"):
        page.send(line)
    page.message_with("current stable release")

    assert {site.origin} == page.requested_origins()
    assert page.log("browser") == []


@pytest.mark.parametrize(("look", "width"), one_in(3, [("dark", 1100), ("light", 420), ("dark", 420)], first=2))
def test_it_fits_dark_and_narrow_windows(page: Page, artifacts: Path, look: str, width: int) -> None:
    with page.emulate(look=look, width=width):
        page.send("/ask What is new?")
        message = page.message_with("current stable release")
        page.browser.save_screenshot(str(artifacts / f"playground-{look}-{width}.png"))
        overflow = page.browser.execute_script("return document.documentElement.scrollWidth - innerWidth")

        assert (overflow <= 0, message.size["width"] <= width) == (True, True)


async def _post_directly(site: Site, text: str) -> None:
    client = AsyncWebClient(token=BOT_TOKEN, base_url=f"{site.origin}/playground/api/")
    channel = (await client.conversations_open(users=USER_ID))["channel"]["id"]
    await client.chat_postMessage(channel=channel, text=text)
