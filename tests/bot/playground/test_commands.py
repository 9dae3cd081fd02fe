"""A line from the composer reaches the app as Slack would send it, and the ack comes back as Slack shows it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from aiohttp import web

from fake_slack.conversation import MAX_LINES
from fake_slack.sender import AckError, Sender
from fake_slack.workspace import DIRECT
from tests.bot.playground.browser_client import BrowserClient
from tests.fakes.playground_app import Site


async def test_a_slash_command_arrives_signed_and_with_every_field_of_slacks_form(
    site: Site, browser: BrowserClient
) -> None:
    await browser.say("/ask  what is a payload? ")
    fields = site.app.requests[0]
    response_url, trigger_id = fields.pop("response_url"), fields.pop("trigger_id")

    assert fields == {
        "token": "deprecated",
        "team_id": "T0PLAYGROUND",
        "team_domain": "playground",
        "channel_id": "C0PLAYGROUND",
        "channel_name": "general",
        "user_id": "U0PLAYGROUNDYOU",
        "user_name": "you",
        "command": "/ask",
        "text": "what is a payload?",
        "api_app_id": "A0PLAYGROUND",
        "is_enterprise_install": "false",
    }
    assert response_url.startswith(site.origin + "/playground/response/")
    assert len(trigger_id.split(".")) == 3


async def test_two_commands_have_two_trigger_ids(site: Site, browser: BrowserClient) -> None:
    await browser.say("/ask same")
    await browser.say("/ask same")

    assert len({fields["trigger_id"] for fields in site.app.requests}) == 2


async def test_a_command_in_the_direct_message_names_that_channel(site: Site, browser: BrowserClient) -> None:
    await browser.say("/ask here", channel=DIRECT.id)

    assert (site.app.requests[0]["channel_id"], site.app.requests[0]["channel_name"]) == (DIRECT.id, "directmessage")


@pytest.mark.parametrize(
    ("ack", "shown"),
    [
        (web.Response, []),
        (lambda: web.Response(text="Searching…"), [("app", "Searching…", True)]),
        (lambda: web.Response(text="[1]"), [("app", "[1]", True)]),
        (lambda: web.json_response({"text": "Searching…"}), [("app", "Searching…", True)]),
        (lambda: web.json_response({"blocks": [{"type": "divider"}]}), [("app", "", True)]),
        (
            lambda: web.json_response({"response_type": "in_channel", "text": "Hi"}),
            [("you", "/ask &lt;b&gt; &amp; c", False), ("app", "Hi", False)],
        ),
        (lambda: web.Response(status=500), [("slackbot", "/ask failed with the error “dispatch_failed”", True)]),
        (lambda: web.Response(status=302), [("slackbot", "/ask failed with the error “dispatch_failed”", True)]),
    ],
)
async def test_an_ack_is_shown_as_slack_shows_it(
    site: Site, browser: BrowserClient, ack: Any, shown: list[tuple[str, str, bool]]
) -> None:
    async def reply(_: dict[str, Any]) -> web.Response:
        response: web.Response = ack()
        return response

    site.app.reply = reply
    await browser.say("/ask <b> & c")

    assert await browser.texts() == shown


async def test_an_answer_that_is_faster_than_the_ack_is_not_covered_by_it(site: Site, browser: BrowserClient) -> None:
    async def reply(fields: dict[str, Any]) -> web.Response:
        await browser.respond(fields["response_url"], text="The answer", replace_original=True)
        return web.json_response({"text": "Searching…"})

    site.app.reply = reply
    await browser.say("/ask quickly")

    assert await browser.texts() == [("app", "The answer", True)]


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        (
            "hello <there>",
            [
                ("you", "hello &lt;there&gt;", False),
                ("slackbot", "To ask something, mention `@Web Answers` or start with `/search` or `/ask`.", True),
            ],
        ),
        ("/`x`", [("slackbot", "`/'x'` is not a valid command. Try `/search` or `/ask`.", True)]),
    ],
)
async def test_other_lines_get_a_private_word_and_never_reach_the_app(
    site: Site, browser: BrowserClient, line: str, shown: list[tuple[str, str, bool]]
) -> None:
    await browser.say(line)

    assert await browser.texts() == shown
    assert site.app.requests == []


async def test_an_app_that_does_not_answer_in_time_times_out(site: Site) -> None:
    async def reply(_: dict[str, Any]) -> web.Response:
        await asyncio.sleep(30)
        return web.Response()

    site.app.reply = reply
    sender = Sender(url=site.origin + "/slack/events", signing_secret="playground-signing-secret", ack_seconds=0.05)

    with pytest.raises(AckError, match="operation_timeout"):
        await sender.send_form({"command": "/ask"})
    await sender.close()


async def test_an_app_that_is_not_there_is_a_failed_dispatch() -> None:
    sender = Sender(url="http://127.0.0.1:9/slack/events", signing_secret="s")

    with pytest.raises(AckError, match="dispatch_failed"):
        await sender.send_form({"command": "/ask"})
    await sender.close()


async def test_old_command_lines_are_forgotten(site: Site, browser: BrowserClient) -> None:
    await browser.say("/ask first")
    await browser.say("/ask second")
    for _ in range(MAX_LINES - 1):
        await browser.say("/ask more")
    for fields in site.app.requests[:2]:
        await browser.respond(fields["response_url"], text=fields["text"], response_type="in_channel")

    assert [text for _, text, _ in await browser.texts()] == ["first", "/ask second", "second"]
