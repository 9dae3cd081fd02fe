"""The newest messages are there after a restart."""

from __future__ import annotations

import asyncio
import json
import resource
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from slack_sdk.web.async_client import AsyncWebClient

from bot.playground.memory import MAX_REMEMBERED, save
from fake_slack.timeline import Author, SlackMessage
from fake_slack.workspace import GENERAL, TEAM_ID, USER_ID
from tests.bot.playground.browser_client import BrowserClient
from tests.fakes.playground_app import BOT_TOKEN, Site, serve

BLOCKS: list[dict[str, Any]] = [{"type": "markdown", "text": "**Because** …", "block_id": "b1"}]


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    return tmp_path / "playground.json"


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def written(path: Path) -> list[str]:
    """Return the texts in the file, none if there is no file."""
    return [one["text"] for one in json.loads(path.read_text())] if path.exists() else []


@asynccontextmanager
async def opened(saved: Path) -> AsyncIterator[tuple[Site, AsyncWebClient, BrowserClient]]:
    async with serve(saved=saved) as site, aiohttp.ClientSession() as session:
        client = AsyncWebClient(token=BOT_TOKEN, base_url=f"{site.origin}/playground/api/", session=session)
        yield site, client, await BrowserClient.enter(session, site.address)


async def test_messages_are_shown_again_and_can_be_changed(saved: Path) -> None:
    async with opened(saved) as (_, client, browser):
        await browser.say("why?")
        root = (await client.chat_postMessage(channel=GENERAL.id, text="An answer", blocks=BLOCKS))["ts"]
        await client.chat_postMessage(
            channel=GENERAL.id,
            text="More",
            thread_ts=root,
            metadata={"event_type": "answer", "event_payload": {"n": 1}},
        )
        await client.chat_postEphemeral(channel=GENERAL.id, user=USER_ID, text="For you")
        await client.files_upload_v2(channel=GENERAL.id, content="# Saved", filename="answer.md", title="An answer")
        before = await browser.shown()
    async with opened(saved) as (_, client, browser):
        after = await browser.shown()
        await client.chat_update(channel=GENERAL.id, ts=root, text="A better answer")
        changed = (await browser.texts())[2]

    assert len(after) == 6
    assert after == before
    assert changed == ("app", "A better answer", False)
    assert mode(saved) == 0o600


async def test_a_stream_is_kept_as_far_as_it_was(saved: Path) -> None:
    async with opened(saved) as (_, client, browser):
        root = (await client.chat_postMessage(channel=GENERAL.id, text="why?"))["ts"]
        await client.chat_startStream(
            channel=GENERAL.id,
            thread_ts=root,
            markdown_text="Because",
            recipient_user_id=USER_ID,
            recipient_team_id=TEAM_ID,
        )
    async with opened(saved) as (_, client, browser):
        shown = (await browser.shown())[-1]

    assert (shown["text"], shown["live_until"]) == ("Because", None)


async def test_only_the_newest_are_kept(saved: Path) -> None:
    async with opened(saved) as (_, client, _browser):
        for number in range(MAX_REMEMBERED + 3):
            await client.chat_postMessage(channel=GENERAL.id, text=f"Message {number}")
    async with opened(saved) as (_, client, browser):
        shown = await browser.texts()

    assert (len(shown), shown[0][1], shown[-1][1]) == (200, "Message 3", "Message 202")


async def test_what_was_written_just_now_outlives_a_crash(saved: Path) -> None:
    async with opened(saved) as (site, client, _):
        keeping = asyncio.create_task(site.playground.keep_messages())
        await client.chat_postMessage(channel=GENERAL.id, text="Here")
        async with asyncio.timeout(60):
            while True:
                if texts := written(saved):
                    break
                await asyncio.sleep(0.05)
        keeping.cancel()

    assert texts == ["Here"]


@pytest.mark.parametrize("content", [b"", b"{", b"\xff", b"5", b'[{"text": "x"}]', b'{"messages": []}', b"[null]"])
def test_an_unreadable_file_is_an_empty_page_and_is_logged(
    saved: Path, content: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    saved.write_bytes(content)
    asyncio.run(begin_again(saved))

    assert [record.msg for record in caplog.records if record.levelname == "WARNING"] == ["playground.not_read"]


async def begin_again(saved: Path) -> None:
    """See an empty page, and what is posted now after another restart."""
    async with opened(saved) as (_, client, browser):
        assert await browser.shown() == []
        await client.chat_postMessage(channel=GENERAL.id, text="Here")
    async with opened(saved) as (_, client, browser):
        assert [text for _, text, _ in await browser.texts()] == ["Here"]


async def test_a_folder_that_cannot_be_written_is_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async with opened(tmp_path / "missing" / "playground.json") as (_, client, _browser):
        await client.chat_postMessage(channel=GENERAL.id, text="Here")

    assert [record.msg for record in caplog.records if record.levelname == "WARNING"] == ["playground.not_saved"]


def test_a_full_disk_is_logged_and_leaves_no_file_behind(saved: Path, caplog: pytest.LogCaptureFixture) -> None:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, before[1]))
    try:
        save(saved, [SlackMessage(channel=GENERAL.id, ts="1.000001", author=Author.APP, text="Here")])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)

    assert [*saved.parent.iterdir()] == []
    assert [record.msg for record in caplog.records if record.levelname == "WARNING"] == ["playground.not_saved"]


async def test_a_process_that_changed_nothing_writes_nothing(saved: Path) -> None:
    async with opened(saved):
        pass

    assert written(saved) == []
