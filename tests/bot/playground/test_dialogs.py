"""What the page does with shortcuts, modals and the home tab reaches the app as Slack would send it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from aiohttp import web
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from fake_slack.views import FAILURE
from fake_slack.workspace import DIRECT, GENERAL, USER_ID
from tests.bot.playground.browser_client import BrowserClient
from tests.fakes.dialogs import DialogApp
from tests.fakes.playground_app import Clock, Fields, Site
from tests.fakes.views import field, modal


@pytest.fixture(autouse=True)
def app(site: Site) -> None:
    """Have an app with views behind the playground."""
    site.app.reply = DialogApp(site.origin).reply


async def views(browser: BrowserClient) -> dict[str, Any]:
    """Return what the page shows of views."""
    return [frame.data for frame in await browser.frames() if frame.event == "views"][-1]


async def opened(browser: BrowserClient) -> dict[str, Any]:
    """Open the app's modal by a shortcut and return its view as the page has it."""
    assert await browser.post("shortcut", {"channel": GENERAL.id, "callback_id": "ask"}) == 204
    shown: dict[str, Any] = (await views(browser))["stack"][-1]
    return shown


async def submit(browser: BrowserClient, view: dict[str, Any], **values: Any) -> int:
    entered = {name: {name: value} for name, value in values.items()}
    return await browser.post("submit", {"channel": GENERAL.id, "view_id": view["id"], "values": entered})


async def test_a_shortcut_opens_a_modal_which_a_submission_closes(site: Site, browser: BrowserClient) -> None:
    view = await opened(browser)
    status = await submit(browser, view, question="why?", where=DIRECT.id)
    shortcut, submission = site.app.requests
    [message] = await browser.shown()

    assert (status, (await views(browser))["stack"]) == (204, [])
    assert (shortcut["type"], shortcut["callback_id"], shortcut["user"]["id"]) == ("shortcut", "ask", USER_ID)
    assert submission["view"]["state"]["values"]["question"]["question"]["value"] == "why?"
    assert (message["channel"], message["text"]) == (DIRECT.id, "You asked: why?")


async def test_what_is_missing_is_said_before_the_app_is_asked(site: Site, browser: BrowserClient) -> None:
    await submit(browser, await opened(browser))
    [view] = (await views(browser))["stack"]

    assert view["errors"] == {"question": "Please complete this required field."}
    assert len(site.app.requests) == 1


async def test_the_apps_errors_are_shown_below_the_inputs_until_the_next_try(browser: BrowserClient) -> None:
    await submit(browser, await opened(browser), question="wrong")
    [refused] = (await views(browser))["stack"]
    await submit(browser, refused, question="why?")

    assert refused["errors"] == {"question": "Please ask something else."}
    assert (await views(browser))["stack"] == []


async def test_an_app_that_does_not_answer_is_a_failure_that_keeps_what_was_entered(
    site: Site, browser: BrowserClient
) -> None:
    view = await opened(browser)

    async def fail(_: Fields) -> web.Response:
        return web.Response(status=500)

    site.app.reply = fail
    await submit(browser, view, question="why?")
    [failed] = (await views(browser))["stack"]

    assert failed["failure"] == FAILURE
    assert failed["state"]["question"]["question"]["value"] == "why?"


async def test_a_press_in_a_modal_updates_it_or_pushes_another(site: Site, browser: BrowserClient) -> None:
    view = await opened(browser)
    press = {"channel": GENERAL.id, "view_id": view["id"], "block_id": "buttons"}
    await browser.post("press", press | {"action_id": "more", "value": "1", "values": {"question": {"question": "hm"}}})
    [updated] = (await views(browser))["stack"]
    await browser.post("press", press | {"action_id": "next"})
    stack = (await views(browser))["stack"]

    assert updated["view"]["blocks"][-1]["text"]["text"] == "more: 1"
    assert updated["state"]["question"]["question"]["value"] == "hm"
    assert [one["view"]["title"]["text"] for one in stack] == ["Ask the web", "Sources"]
    assert await submit(browser, stack[-1]) == 400  # it has no such button
    assert await browser.post("press", press | {"action_id": "none"}) == 400
    assert await browser.post("press", press | {"action_id": "more", "value": "9"}) == 400


async def test_closing_everything_is_reported_for_the_view_that_asks(site: Site, browser: BrowserClient) -> None:
    view = await opened(browser)
    await browser.post(
        "press", {"channel": GENERAL.id, "view_id": view["id"], "block_id": "buttons", "action_id": "next"}
    )
    above = (await views(browser))["stack"][-1]
    await browser.post("close", {"channel": GENERAL.id, "view_id": above["id"], "clear": True})
    closed = [one for one in site.app.requests if one["type"] == "view_closed"]

    assert (await views(browser))["stack"] == []
    assert [(one["view"]["id"], one["is_cleared"]) for one in closed] == [(view["id"], True)]
    assert await submit(browser, view, question="why?") == 400


async def test_a_message_shortcut_needs_a_public_message(
    site: Site, browser: BrowserClient, client: AsyncWebClient
) -> None:
    ts = (await client.chat_postMessage(channel=GENERAL.id, text="The tower is 330 m tall."))["ts"]
    hidden = (await client.chat_postEphemeral(channel=GENERAL.id, user=USER_ID, text="Psst"))["message_ts"]
    check = {"channel": GENERAL.id, "callback_id": "check"}
    statuses = [await browser.post("shortcut", check | place) for place in ({"ts": ts}, {"ts": hidden}, {})]
    [payload] = site.app.requests
    await browser.respond(payload["response_url"], text="Supported")

    assert statuses == [204, 400, 400]
    assert (payload["type"], payload["message"]["text"]) == ("message_action", "The tower is 330 m tall.")
    assert [(one["text"], one["private"]) for one in await browser.shown()][-1] == ("Supported", True)


async def test_a_shortcut_that_the_app_does_not_take_is_said(site: Site, browser: BrowserClient) -> None:
    async def fail(_: Fields) -> web.Response:
        return web.Response(status=404)

    site.app.reply = fail

    assert await browser.post("shortcut", {"channel": GENERAL.id, "callback_id": "ask"}) == 502


async def test_the_home_tab_is_published_when_it_is_opened(site: Site, browser: BrowserClient) -> None:
    for _ in range(2):
        await browser.post("open", {"channel": DIRECT.id, "tab": "home"})
    first, second = (one["event"] for one in site.app.requests)
    home = (await views(browser))["home"]

    assert (first["tab"], "view" in first, second["view"]["id"]) == ("home", False, home["id"])


async def test_an_input_can_give_the_answer_a_place(site: Site, browser: BrowserClient, client: AsyncWebClient) -> None:
    view = await opened(browser)
    place = field("conversations_select", name="question", response_url_enabled=True)
    await client.views_update(view_id=view["id"], view=modal(place))
    await submit(browser, view, question=DIRECT.id)
    [address] = site.app.requests[-1]["response_urls"]
    await browser.respond(address["response_url"], text="Here", response_type="in_channel")

    assert (address["block_id"], address["channel_id"]) == ("question", DIRECT.id)
    assert (await browser.shown())[-1]["channel"] == DIRECT.id


async def test_a_trigger_opens_a_view_once_and_for_three_seconds(
    site: Site, browser: BrowserClient, client: AsyncWebClient, clock: Clock
) -> None:
    async def keep(_: Fields) -> web.Response:
        return web.Response()

    site.app.reply = keep
    answers: list[str] = []
    for seconds in (0, 0, 4):
        await browser.say("/ask bees")
        trigger = site.app.requests[-1]["trigger_id"]
        clock.seconds += seconds
        answers += [await _error(client, trigger) for _ in range(2 if len(answers) == 1 else 1)]

    assert answers == ["", "", "exchanged_trigger_id", "expired_trigger_id"]


async def _error(client: AsyncWebClient, trigger: str) -> str:
    try:
        await client.views_open(trigger_id=trigger, view=modal())
    except SlackApiError as refused:
        return str(refused.response["error"])
    return ""


async def test_two_submissions_at_once_do_no_harm(site: Site, browser: BrowserClient) -> None:
    view = await opened(browser)
    statuses = await asyncio.gather(*(submit(browser, view, question="why?") for _ in range(2)))

    assert sorted(statuses) in ([204, 204], [204, 400])
    assert (await views(browser))["stack"] == []
