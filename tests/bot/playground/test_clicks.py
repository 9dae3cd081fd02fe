"""A press of a button reaches the app as Slack would send it."""

from __future__ import annotations

from typing import Any

import pytest
from aiohttp import web
from slack_sdk.web.async_client import AsyncWebClient

from fake_slack.workspace import GENERAL, USER_ID
from tests.bot.playground.browser_client import BrowserClient
from tests.fakes.playground_app import Site

BUTTON = {
    "type": "button",
    "text": {"type": "plain_text", "text": "Try again"},
    "action_id": "retry",
    "value": "q1",
}
BLOCKS: list[dict[str, Any]] = [
    {"type": "actions", "block_id": "other", "elements": [{**BUTTON, "value": "q0"}]},
    {"type": "actions", "block_id": "way_on", "elements": [BUTTON]},
    {"type": "section", "block_id": "beside", "text": {"type": "mrkdwn", "text": "x"}, "accessory": BUTTON},
]


@pytest.fixture
async def failure(site: Site, browser: BrowserClient) -> dict[str, Any]:
    await browser.say("/ask bees")
    url = site.app.requests.pop()["response_url"]
    await browser.respond(url, text="Sorry", blocks=BLOCKS, replace_original=True)
    return (await browser.shown())[0]


def _press(message: dict[str, Any], **changed: object) -> dict[str, Any]:
    return {"channel": GENERAL.id, "ts": message["ts"], "block_id": "way_on", "action_id": "retry", **changed}


async def test_a_click_arrives_with_the_button_the_person_and_the_place(
    site: Site, browser: BrowserClient, failure: dict[str, Any]
) -> None:
    status = await browser.post("click", _press(failure))
    payload = site.app.requests[0]
    action = payload["actions"][0]

    assert (status, payload["type"], payload["user"]["id"], payload["channel"]["id"]) == (
        204,
        "block_actions",
        USER_ID,
        GENERAL.id,
    )
    assert payload["container"] == {
        "type": "message",
        "message_ts": failure["ts"],
        "channel_id": GENERAL.id,
        "is_ephemeral": True,
    }
    assert {name: action[name] for name in ("action_id", "block_id", "value", "type")} == {
        "action_id": "retry",
        "block_id": "way_on",
        "value": "q1",
        "type": "button",
    }
    assert action["action_ts"] > failure["ts"]
    assert "message" not in payload


async def test_a_click_on_a_public_message_carries_the_message_and_replaces_it_for_all(
    site: Site, browser: BrowserClient
) -> None:
    await browser.say("/ask bees")
    await browser.respond(
        site.app.requests.pop()["response_url"], text="Sorry", blocks=BLOCKS, response_type="in_channel"
    )
    message = (await browser.shown())[-1]
    await browser.post("click", _press(message))
    payload = site.app.requests[0]
    await browser.respond(payload["response_url"], text="The answer", replace_original=True)
    await browser.respond(payload["response_url"], text="A word", replace_original=False)

    assert payload["message"]["ts"] == message["ts"]
    assert await browser.texts() == [
        ("you", "/ask bees", False),
        ("app", "The answer", False),
        ("app", "A word", True),
    ]


async def test_an_answer_to_a_click_takes_the_place_of_the_clicked_message(
    site: Site, browser: BrowserClient, failure: dict[str, Any]
) -> None:
    await browser.post("click", _press(failure))
    await browser.respond(site.app.requests[0]["response_url"], text="The answer", replace_original=True)

    assert [(m["ts"], m["text"]) for m in await browser.shown()] == [(failure["ts"], "The answer")]


async def test_a_button_next_to_a_text_can_be_pressed(
    site: Site, browser: BrowserClient, failure: dict[str, Any]
) -> None:
    await browser.post("click", _press(failure, block_id="beside"))

    assert site.app.requests[0]["actions"][0]["block_id"] == "beside"


async def test_a_message_that_only_the_page_remembers_can_be_clicked(site: Site, browser: BrowserClient) -> None:
    old = {"ts": "1700000000.000001", "text": "Sorry", "blocks": BLOCKS, "private": True}
    await browser.post("click", _press(old, **old))
    await browser.respond(site.app.requests[0]["response_url"], text="The answer", replace_original=True)

    assert [(m["ts"], m["text"], m["private"]) for m in await browser.shown()] == [(old["ts"], "The answer", True)]


TEXT = {"type": "plain_text", "text": "x"}
RATING = {
    "type": "feedback_buttons",
    "action_id": "rate",
    "positive_button": {"text": TEXT, "value": "up"},
    "negative_button": {"text": TEXT, "value": "down"},
}
OPTIONS = [{"text": TEXT, "value": "save"}, {"text": TEXT, "value": "again"}]
MENU = {"type": "overflow", "action_id": "more", "options": OPTIONS}
IN_MENU = {"block_id": "menu", "action_id": "more"}
IN_RATING = {"block_id": "rating", "action_id": "rate"}
CHOICES = [
    {"type": "actions", "block_id": "menu", "elements": [MENU]},
    {"type": "context_actions", "block_id": "rating", "elements": [RATING]},
]


@pytest.mark.parametrize(
    ("click", "reported"),
    [
        (IN_RATING | {"choice": "up"}, {"type": "feedback_buttons", "value": "up"}),
        (IN_RATING | {"choice": "down"}, {"type": "feedback_buttons", "value": "down"}),
        (IN_MENU | {"choice": "again"}, {"type": "overflow", "selected_option": OPTIONS[1]}),
        (IN_MENU | {"choice": "gone"}, None),
        (IN_RATING, None),
    ],
)
async def test_a_choice_is_reported_as_slack_reports_it(
    site: Site, browser: BrowserClient, client: AsyncWebClient, click: dict[str, str], reported: dict[str, Any] | None
) -> None:
    ts = (await client.chat_postMessage(channel=GENERAL.id, text="x", blocks=CHOICES))["ts"]
    status = await browser.post("click", {"channel": GENERAL.id, "ts": ts, **click})
    actions = [request["actions"][0] for request in site.app.requests]

    assert status == (409 if reported is None else 204)
    expected = [] if reported is None else [reported | {name: click[name] for name in ("action_id", "block_id")}]
    assert [{name: value for name, value in one.items() if name != "action_ts"} for one in actions] == expected


@pytest.mark.parametrize("gone", [{"block_id": "none"}, {"action_id": "none"}, {"ts": "1.1"}])
async def test_a_click_on_a_removed_button_is_reported(
    site: Site, browser: BrowserClient, failure: dict[str, Any], gone: dict[str, str]
) -> None:
    assert await browser.post("click", _press(failure, **gone)) == 409
    assert site.app.requests == []


async def test_a_click_that_the_app_refuses_is_reported_privately(
    site: Site, browser: BrowserClient, failure: dict[str, Any]
) -> None:
    async def reply(_: dict[str, Any]) -> web.Response:
        return web.Response(status=503)

    site.app.reply = reply
    await browser.post("click", _press(failure))

    assert (await browser.texts())[-1] == ("slackbot", "This button failed with the error “dispatch_failed”", True)
