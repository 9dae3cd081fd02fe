"""What is written without a slash: mentions and direct messages are reported to the app as Slack reports them."""

from __future__ import annotations

from typing import Any

import pytest
from aiohttp import web
from slack_sdk.web.async_client import AsyncWebClient

from fake_slack.workspace import DIRECT, GENERAL
from tests.bot.playground.browser_client import BrowserClient
from tests.fakes.playground_app import Site

MENTION = "<@U0PLAYGROUNDBOT>"


async def test_a_mention_is_reported_with_every_field_of_slacks_envelope(site: Site, browser: BrowserClient) -> None:
    await browser.say("@Web Answers what is a payload & <why>?")
    (envelope,) = site.app.requests
    (shown,) = await browser.shown()
    event = envelope.pop("event")

    assert envelope.pop("event_id").startswith("Ev")
    assert envelope == {
        "token": "deprecated",
        "team_id": "T0PLAYGROUND",
        "context_team_id": "T0PLAYGROUND",
        "api_app_id": "A0PLAYGROUND",
        "type": "event_callback",
        "event_time": int(float(shown["ts"])),
        "authorizations": [
            {
                "enterprise_id": None,
                "team_id": "T0PLAYGROUND",
                "user_id": "U0PLAYGROUNDBOT",
                "is_bot": True,
                "is_enterprise_install": False,
            }
        ],
        "is_ext_shared_channel": False,
    }
    assert event == {
        "type": "app_mention",
        "user": "U0PLAYGROUNDYOU",
        "text": f"{MENTION} what is a payload &amp; &lt;why&gt;?",
        "ts": shown["ts"],
        "channel": GENERAL.id,
        "event_ts": shown["ts"],
        "team": "T0PLAYGROUND",
    }
    assert shown["text"].startswith("<@U0PLAYGROUNDBOT|Web Answers> what")


@pytest.mark.parametrize(
    ("line", "channel", "reported"),
    [
        ("hey @web answers, why", GENERAL.id, ("app_mention", f"hey {MENTION}, why")),
        ("why", DIRECT.id, ("message", "why")),
        ("@Web Answers why", DIRECT.id, ("message", f"{MENTION} why")),
        ("help", DIRECT.id, ("message", "help")),
        ("mail me@Web Answers", GENERAL.id, None),
        ("@Web Answersome", GENERAL.id, None),
        ("hello", GENERAL.id, None),
    ],
)
async def test_only_what_is_for_the_app_reaches_it(
    site: Site, browser: BrowserClient, line: str, channel: str, reported: tuple[str, str] | None
) -> None:
    await browser.say(line, channel=channel)

    expected = [] if reported is None else [reported]
    assert [(r["event"]["type"], r["event"]["text"]) for r in site.app.requests] == expected


async def test_a_reply_names_its_thread__and_the_app_answers_in_it(
    site: Site, browser: BrowserClient, client: AsyncWebClient
) -> None:
    await browser.say("@Web Answers why")
    root = (await browser.shown())[0]["ts"]
    await browser.post("say", {"channel": GENERAL.id, "text": "@Web Answers and now?", "thread_ts": root})
    posted = await client.chat_postMessage(channel=GENERAL.id, thread_ts=root, text="So")

    assert [request["event"].get("thread_ts") for request in site.app.requests] == [None, root]
    replies = await client.conversations_replies(channel=GENERAL.id, ts=root)
    assert [message["text"] for message in replies["messages"]][-1] == "So"
    assert posted["message"]["thread_ts"] == root


async def test_a_slash_command_in_a_thread_is_refused_as_slack_refuses_it(site: Site, browser: BrowserClient) -> None:
    await browser.post("say", {"channel": GENERAL.id, "text": "/ask why", "thread_ts": "1.1"})

    ((author, text, private),) = await browser.texts()
    assert (author, private, site.app.requests) == ("slackbot", True, [])
    assert "not supported in threads" in text


async def test_an_event_that_the_app_refuses_is_reported(site: Site, browser: BrowserClient) -> None:
    async def reply(_: dict[str, Any]) -> web.Response:
        return web.Response(status=503)

    site.app.reply = reply
    await browser.say("why", channel=DIRECT.id)

    assert (await browser.texts())[-1] == ("slackbot", "Web Answers did not take this message: “dispatch_failed”", True)
