"""The page's stream: what is shown, then each change, over lost connections and restarts."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from slack_sdk.web.async_client import AsyncWebClient

from bot.playground.server import event_stream
from fake_slack.timeline import Author, SlackMessage, Timeline
from fake_slack.workspace import GENERAL
from tests.bot.playground.browser_client import BrowserClient
from tests.fakes.playground_app import Site


def _timeline(*texts: str) -> Timeline:
    timeline = Timeline(clock=lambda: 1_700_000_000.0)
    for text in texts:
        _put(timeline, text)
    return timeline


def _put(timeline: Timeline, text: str) -> SlackMessage:
    return timeline.put(SlackMessage(channel=GENERAL.id, ts=timeline.next_ts(), author=Author.APP, text=text))


def _stream(
    timeline: Timeline, closing: asyncio.Event, *, last: str = "", heartbeat: float = 5.0
) -> AsyncIterator[bytes]:
    return event_stream(timeline, last_event_id=last, hello={}, closing=closing, heartbeat_seconds=heartbeat)


async def test_the_stream_begins_with_who_and_what_is_here(browser: BrowserClient) -> None:
    hello = (await browser.frames())[0]

    assert hello.event == "hello"
    assert [command["name"] for command in hello.data["commands"]] == ["/search", "/ask"]
    assert [channel["label"] for channel in hello.data["channels"]] == ["general", "Direct message"]


async def test_a_lost_connection_goes_on_after_the_last_event(client: AsyncWebClient, browser: BrowserClient) -> None:
    await client.chat_postMessage(channel=GENERAL.id, text="seen")
    last = (await browser.frames())[-1].id
    await client.chat_postMessage(channel=GENERAL.id, text="missed")
    frames = await browser.frames(last_event_id=last)

    assert [frame.data["message"]["text"] for frame in frames[1:]] == ["missed"]


async def test_an_event_of_an_earlier_life_means_everything_is_sent(
    client: AsyncWebClient, browser: BrowserClient
) -> None:
    await client.chat_postMessage(channel=GENERAL.id, text="here")
    for last in ("0badc0de-7", "nonsense", "0badc0de-", "-"):
        frames = await browser.frames(last_event_id=last)

        assert [frame.data["message"]["text"] for frame in frames[1:]] == ["here"]


async def test_a_change_during_a_slow_write_is_not_overlooked() -> None:
    closing, timeline = asyncio.Event(), _timeline("one")
    frames = _stream(timeline, closing)
    await anext(frames)
    message = timeline.history(GENERAL.id)[0]
    await anext(frames)
    timeline.remove(message.channel, message.ts)

    assert b'"message": null' in await anext(frames)


async def test_a_change_wakes_a_stream_that_waits() -> None:
    closing, timeline = asyncio.Event(), _timeline()
    frames = _stream(timeline, closing)
    await anext(frames)
    waiting = asyncio.ensure_future(anext(frames))
    await asyncio.sleep(0)
    _put(timeline, "one")

    assert b"one" in await waiting


async def test_a_quiet_stream_shows_that_it_lives(site: Site) -> None:
    closing = asyncio.Event()
    frames = _stream(_timeline(), closing, heartbeat=0.01)
    first, second = await anext(frames), await anext(frames)

    assert (first.startswith(b"event: hello\n"), second) == (True, b": still here\n\n")


async def test_closing_ends_the_stream() -> None:
    closing, timeline = asyncio.Event(), _timeline("one")
    frames = _stream(timeline, closing)
    await anext(frames)
    await anext(frames)
    closing.set()

    assert [frame async for frame in frames] == []


async def test_only_the_last_state_of_a_message_is_sent() -> None:
    closing, timeline = asyncio.Event(), _timeline()
    message = _put(timeline, "Searching…")
    timeline.put(SlackMessage(channel=message.channel, ts=message.ts, author=Author.APP, text="The answer"))
    frames = _stream(timeline, closing)
    sent = [await anext(frames), await anext(frames)]

    assert b"The answer" in sent[1]
    assert timeline.since(0)[-1].revision == 2
