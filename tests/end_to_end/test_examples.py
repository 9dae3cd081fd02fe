"""A playground without any key: four recorded examples, and without a network one sentence for anything else."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import ClientSession
from pydantic import SecretStr

from bot.model.question import RECORDED
from bot.playground.examples import OFFLINE, RECORDED_LABEL
from bot.storage.questions import connection_pool
from bot.views.sent import NOTHING_SENT
from fake_slack.workspace import DIRECT, GENERAL
from tests.bot.playground.browser_client import BrowserClient
from tests.docs.pages import is_here
from tests.fakes.first_run import RecordedPauses, started
from tests.fakes.perplexity import KEY, FakePerplexity
from tests.fakes.person import SIGNING_SECRET, Person
from tests.fakes.ports import free_port
from tests.fakes.slack import BOT_TOKEN, FakeSlack

LINES = ("/ask Why is the sky blue?", "/deepdive How did Twitter become X?", "/ask How do the planets compare?")
NEWS = "/news science --recency week"


@asynccontextmanager
async def keyless(
    database: str, *, pause: RecordedPauses | None = None, **settings: Any
) -> AsyncIterator[BrowserClient]:
    """Start the app and open its page."""
    async with started(database, pause=pause, **settings) as address, ClientSession() as session:
        yield await BrowserClient.enter(session, address)


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{free_port()}")


async def answered(browser: BrowserClient, line: str, words: str, *, channel: str = GENERAL.id) -> list[dict[str, Any]]:
    """Send a line and return the messages with these words, once there is one."""
    before = len(await browser.shown())
    assert await browser.say(line, channel=channel) == 204
    async with asyncio.timeout(60):
        while True:
            shown = (await browser.shown())[before:]
            if found := [message for message in shown if words in str(message)]:
                return found
            await asyncio.sleep(0.05)


async def pressed(browser: BrowserClient, message: dict[str, Any], action: str, *, choice: str = "") -> None:
    """Press a button below a message, or take a choice from its menu."""
    elements = [(block["block_id"], one) for block in message["blocks"] for one in block.get("elements", ())]
    place, element = next((place, one) for place, one in elements if one.get("action_id") == action)
    chosen = next((one["value"] for one in element.get("options", ()) if one["value"].startswith(choice)), None)
    body = {name: message[name] for name in ("channel", "ts", "text", "blocks", "private")}
    clicked = body | {"block_id": place, "action_id": action, "choice": chosen}
    assert await browser.post("click", clicked) == 204


async def opened(browser: BrowserClient) -> dict[str, Any]:
    """Return the modal, once there is one."""
    async with asyncio.timeout(60):
        while True:
            views = [frame.data["stack"] for frame in await browser.frames() if frame.event == "views"]
            if views and views[-1]:
                view: dict[str, Any] = views[-1][-1]
                return view


async def assert_replayed(database: str, line: str, words: str) -> None:
    """Send an example, and look at what is shown of it and kept."""
    pauses = RecordedPauses()
    async with keyless(database, pause=pauses) as browser:
        shown = await answered(browser, line, words)

    assert all(RECORDED_LABEL in str(message["blocks"][0]) for message in shown)
    assert all(message["text"].startswith(RECORDED_LABEL) for message in shown)
    assert 5 < sum(pauses.seconds) < 60
    assert "$0.0" not in str(shown)
    async with connection_pool(database) as pool, pool.connection() as connection:
        asked = await (await connection.execute("SELECT * FROM questions")).fetchall()
    assert [(one["provider"], one["cost_usd"]) for one in asked] == [(RECORDED, None)]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (LINES[0], "Rayleigh"),
        (LINES[2], "Escape velocity"),
        (NEWS, "Europa Clipper lifts off"),
    ],
)
@pytest.mark.usefixtures("no_network")
async def test_each_example_is_replayed_through_the_app_and_marked(database: str, line: str, words: str) -> None:
    await assert_replayed(database, line, words)


@pytest.mark.parametrize(
    "line", ["/ask WHY is the sky blue", "/ask why, is the sky “blue”?!", "/ask --public why is the sky blue"]
)
@pytest.mark.usefixtures("no_network")
async def test_an_example_is_known_without_case_and_punctuation(database: str, line: str) -> None:
    async with keyless(database) as browser:
        (shown,) = await answered(browser, line, "Rayleigh")

    assert "Think longer" not in str(shown)


@pytest.mark.parametrize(
    ("line", "words"), [("/search Why is the sky blue?", "Rayleigh"), ("/ask what’s new in science", "Europa Clipper")]
)
@pytest.mark.usefixtures("no_network")
async def test_its_label_after_any_command_is_the_example(database: str, line: str, words: str) -> None:
    async with keyless(database) as browser:
        (shown,) = await answered(browser, line, words)

    assert RECORDED_LABEL in str(shown["blocks"][0])


async def test_what_is_told_of_an_example_is_no_live_answer_s(database: str) -> None:
    async with keyless(database) as browser:
        (shown,) = await answered(browser, LINES[0], "Rayleigh")
        await pressed(browser, shown, "sources")
        sources = str(await opened(browser))
        await pressed(browser, shown, "more", choice="sent")
        await browser.wait_for(lambda message: message["text"] == NOTHING_SENT)

    details = sources.partition("*Details*")[2]
    assert NOTHING_SENT in details
    assert [words for words in ("Perplexity", "Searched for") if words in details] == []


@pytest.mark.parametrize("line", ["/ask why is the sky blue today", "/ask --domain nasa.gov why is the sky blue"])
@pytest.mark.usefixtures("no_network")
async def test_what_asks_for_more_is_no_example(database: str, line: str) -> None:
    async with keyless(database) as browser:
        assert await answered(browser, line, OFFLINE)


@pytest.mark.usefixtures("no_network")
async def test_the_news_are_of_the_time_of_the_recording(database: str) -> None:
    async with keyless(database) as browser:
        shown = str(await answered(browser, NEWS, "Europa Clipper lifts off"))

    assert "14 Oct 2024" in shown
    assert "left out" not in shown
    assert all(words in shown for words in ("chemistry Nobel", "physics Nobel", "microRNA", "Hera"))


@pytest.mark.usefixtures("no_network")
async def test_what_is_suggested_in_the_direct_message_is_recorded(database: str) -> None:
    async with keyless(database) as browser:
        assert await browser.post("open", {"channel": DIRECT.id, "tab": "messages"}) == 204
        around = [frame.data for frame in await browser.frames() if frame.event == "around"]
        prompts = [prompt["message"] for prompt in around[-1]["prompts"]]
        shown = [await answered(browser, prompt, RECORDED_LABEL, channel=DIRECT.id) for prompt in prompts]

    assert len(shown) == 3


async def test_the_page_is_offered_them_with_the_prefix_of_the_commands(database: str) -> None:
    async with keyless(database, command_prefix="x-") as browser:
        hello = next(frame for frame in await browser.frames() if frame.event == "hello")

    offered = list(filter(is_here, (*LINES, NEWS)))
    assert [prompt["label"] for prompt in hello.data["prompts"]] == [
        *(line.partition(" ")[2] for line in offered[:-1]),
        "What’s new in science?",
    ]
    assert [prompt["line"] for prompt in hello.data["prompts"]] == [one.replace("/", "/x-", 1) for one in offered]


@pytest.mark.usefixtures("no_network")
async def test_without_a_network_anything_else_is_answered_in_one_sentence(database: str) -> None:
    async with keyless(database) as browser:
        lines = list(filter(is_here, ("/ask which port is open", "/search bees", "/news tech", "/deepdive bees")))
        messages = [message for line in lines for message in await answered(browser, line, OFFLINE)]

    assert [
        [block["text"]["text"] for block in message["blocks"] if block["type"] == "section"] for message in messages
    ] == [[OFFLINE]] * len(lines)
    assert RECORDED_LABEL not in str(messages)


@pytest.mark.usefixtures("no_network")
async def test_without_a_service_that_needs_no_key_it_is_the_same_sentence(database: str) -> None:
    async with keyless(database, providers="perplexity") as browser:
        assert await answered(browser, "/ask bees", OFFLINE)


async def test_with_a_key_the_examples_are_gone(database: str) -> None:
    async with (
        FakePerplexity() as perplexity,
        keyless(database, perplexity_api_key=SecretStr(KEY), perplexity_base_url=perplexity.base_url) as browser,
    ):
        hello = next(frame for frame in await browser.frames() if frame.event == "hello")
        shown = await answered(browser, LINES[0], "Example answer with a claim")

    assert hello.data["prompts"] == []
    assert RECORDED_LABEL not in str(shown)


@pytest.mark.usefixtures("no_network")
async def test_a_real_slack_without_a_key_is_never_answered_with_an_example(
    database: str, slack: FakeSlack, session: ClientSession
) -> None:
    settings: dict[str, Any] = {
        "slack_bot_token": SecretStr(BOT_TOKEN),
        "slack_signing_secret": SecretStr(SIGNING_SECRET),
        "slack_api_url": slack.api_url,
    }
    async with started(database, **settings) as origin:
        person = Person(session=session, app_url=origin, response_url=slack.response_url)
        assert (await person.type_command(LINES[0])).status == 200
        (post,) = await slack.wait_for(1)

    assert "no search service could answer" in post.shown_text
    assert RECORDED_LABEL not in post.shown_text
