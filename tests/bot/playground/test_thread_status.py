"""What is shown around messages: prompts, the status of a thread and Slack's own stop button."""

from __future__ import annotations

from typing import Any

import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from fake_slack.thread_status import STATUS_SECONDS
from fake_slack.timeline import Timeline
from fake_slack.web_api import WebApi
from fake_slack.workspace import DIRECT, GENERAL, TEAM_ID, USER_ID, Workspace
from tests.bot.playground.browser_client import BrowserClient
from tests.fakes.playground_app import BOT_TOKEN, Clock, Site

PROMPT = {"title": "What is new?", "message": "What is new in databases?"}
THREAD = "1700000000.000100"
TO_ASKER = {"recipient_user_id": USER_ID, "recipient_team_id": TEAM_ID}


async def around(browser: BrowserClient) -> dict[str, Any]:
    """Return what the page shows around the messages of the direct message."""
    frames = [frame.data for frame in await browser.frames() if frame.event == "around"]
    return frames[-1] if frames else {}


async def test_prompts_are_shown_until_the_person_writes(client: AsyncWebClient, browser: BrowserClient) -> None:
    await client.assistant_threads_setSuggestedPrompts(channel_id=DIRECT.id, title="Ask", prompts=[PROMPT])
    shown = await around(browser)
    await browser.say("why?", channel=DIRECT.id)

    assert (shown["title"], shown["prompts"]) == ("Ask", [PROMPT])
    assert (await around(browser))["prompts"] == []


async def test_a_call_that_names_a_thread_shows_no_prompts(client: AsyncWebClient, browser: BrowserClient) -> None:
    await client.assistant_threads_setSuggestedPrompts(channel_id=DIRECT.id, thread_ts=THREAD, prompts=[PROMPT])

    assert await around(browser) == {}


@pytest.mark.parametrize(
    ("method", "arguments", "error"),
    [
        ("setSuggestedPrompts", {"channel_id": "C0", "prompts": [PROMPT]}, "channel_not_found"),
        ("setSuggestedPrompts", {"channel_id": DIRECT.id, "prompts": [PROMPT] * 5}, "invalid_arguments"),
        ("setSuggestedPrompts", {"channel_id": DIRECT.id, "prompts": ["What is new?"]}, "invalid_arguments"),
        ("setSuggestedPrompts", {"channel_id": DIRECT.id, "prompts": [{"title": "What?"}]}, "invalid_arguments"),
        ("setStatus", {"channel_id": DIRECT.id, "status": "is searching"}, "invalid_thread_ts"),
        ("setStatus", {"channel_id": DIRECT.id, "thread_ts": "x", "status": "is searching"}, "invalid_thread_ts"),
        ("setStatus", {"channel_id": DIRECT.id, "thread_ts": THREAD, "loading_messages": ["x"] * 11},
         "invalid_arguments"),
    ],
)  # fmt: skip
async def test_a_refusal_names_slacks_error(
    client: AsyncWebClient, method: str, arguments: dict[str, Any], error: str
) -> None:
    with pytest.raises(SlackApiError) as refused:
        await client.api_call(f"assistant.threads.{method}", json=arguments)

    assert refused.value.response["error"] == error


async def test_a_status_ends_with_a_reply_or_an_empty_one(client: AsyncWebClient, browser: BrowserClient) -> None:
    async def set_status(status: str) -> None:
        await client.assistant_threads_setStatus(channel_id=DIRECT.id, thread_ts=THREAD, status=status)

    seen = []
    for _ in range(2):
        await set_status("is searching")
        seen.append([status["text"] for status in (await around(browser))["statuses"].values()])
        if len(seen) == 1:
            await client.chat_postMessage(channel=DIRECT.id, thread_ts=THREAD, text="Because.")
        else:
            await set_status("")
        seen.append(list((await around(browser))["statuses"]))

    assert seen == [["is searching"], [], ["is searching"], []]


def test_a_status_ends_after_two_minutes() -> None:
    clock = Clock(seconds=1_700_000_000.0)
    shown = Timeline(clock=clock).around
    shown.set_status("D1", THREAD, "is searching")
    before = shown.status("D1", THREAD)
    clock.seconds += STATUS_SECONDS

    assert (before, shown.status("D1", THREAD)) == ("is searching", "")


async def test_a_stream_is_a_session_until_it_is_stopped(clock: Clock) -> None:
    timeline = Timeline(clock=clock)
    api = WebApi(timeline=timeline, workspace=Workspace(scopes=["chat:write"]), bot_token=BOT_TOKEN, origin="")
    states = []
    for how in ({}, {"session_status": "closed"}):
        place = {"channel": GENERAL.id, "thread_ts": THREAD}
        ts = (await api.call("chat.startStream", place | TO_ASKER, token=BOT_TOKEN))["ts"]
        states.append(timeline.around.session(GENERAL.id, THREAD))
        await api.call("chat.stopStream", {"channel": GENERAL.id, "ts": ts} | how, token=BOT_TOKEN)
        states.append(timeline.around.session(GENERAL.id, THREAD))

    assert states == ["processing", "active", "processing", "closed"]


async def test_the_stop_button_ends_the_streams_of_its_thread_and_tells_the_app(
    client: AsyncWebClient, browser: BrowserClient, site: Site
) -> None:
    here, elsewhere = [
        (await client.api_call("chat.startStream", json={"channel": GENERAL.id, "thread_ts": thread, **TO_ASKER}))["ts"]
        for thread in (THREAD, "1.1")
    ]
    await client.assistant_threads_setStatus(channel_id=GENERAL.id, thread_ts=THREAD, status="is searching")
    await browser.post("stop", {"channel": GENERAL.id, "thread_ts": THREAD})
    with pytest.raises(SlackApiError, match="stopped_by_user"):
        await client.chat_appendStream(channel=GENERAL.id, ts=here, markdown_text="y")
    await client.chat_appendStream(channel=GENERAL.id, ts=elsewhere, markdown_text="y")
    (envelope,) = site.app.requests
    event = envelope["event"]

    assert event.pop("event_ts")
    assert event == {
        "type": "agent_session_stopped",
        "channel": GENERAL.id,
        "thread_ts": THREAD,
        "user": USER_ID,
        "streaming_message_ts": [here],
    }
    assert (await around(browser))["statuses"] == {}


@pytest.mark.parametrize(("channel", "events"), [(DIRECT.id, ["app_home_opened"]), (GENERAL.id, [])])
async def test_opening_the_direct_message_is_reported(
    browser: BrowserClient, site: Site, channel: str, events: list[str]
) -> None:
    assert await browser.post("open", {"channel": channel}) == 204
    assert [request["event"]["type"] for request in site.app.requests] == events


@pytest.mark.parametrize("what", ["open", "stop"])
async def test_other_sites_cannot_press_anything(browser: BrowserClient, site: Site, what: str) -> None:
    assert await browser.post(what, {"channel": DIRECT.id}, Origin="http://evil.example") == 403
    assert site.app.requests == []
