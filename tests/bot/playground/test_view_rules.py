"""The stand-in for Slack keeps Slack's rules for views: a careless app breaks each once, a careful one none."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from fake_slack.request_parsing import BadInput
from fake_slack.timeline import Author, SlackMessage
from fake_slack.views import FAILURE, View
from tests.fakes.person import NotSubmitted, Person
from tests.fakes.playground_app import SIGNING_SECRET, Fields, PlaygroundApp, Reply
from tests.fakes.slack import BOT_TOKEN, FakeSlack, Fault
from tests.fakes.views import (
    ASKS,
    BUTTON,
    FULL,
    HEADING,
    OPTIONS,
    TABLE,
    TEXT,
    Block,
    buttons,
    field,
    home,
    modal,
    plain,
)


@dataclass
class Bot:
    """An app that opens views; `app` keeps what people send to it, and its `reply` answers them."""

    slack: FakeSlack
    client: AsyncWebClient
    app: PlaygroundApp
    person: Person
    triggers: int = 0

    def trigger(self, *, view: str | None = None, user: str = "U1", channel: str = "") -> str:
        self.triggers += 1
        return self.slack.views.issue_trigger(user, view=view, channel=channel, id=f"trigger-{self.triggers}")

    async def open(self, *blocks: Block, user: str = "U1", channel: str = "", **more: Any) -> View:
        trigger = self.trigger(user=user, channel=channel)
        await self.client.views_open(trigger_id=trigger, view=modal(*blocks, **more))
        return self.slack.modal(user)

    async def push(self, *blocks: Block, **more: Any) -> View:
        top = self.slack.modal()
        await self.client.views_push(trigger_id=self.trigger(view=top.id), view=modal(*blocks, **more))
        return self.slack.modal()

    async def update(self, *blocks: Block, **more: Any) -> None:
        where = {"view_id": self.slack.modal().id} if "external_id" not in more else {}
        await self.client.views_update(view=modal(*blocks), **{**where, **more})

    async def publish(self, *blocks: Block, user: str = "U1", **more: Any) -> None:
        await self.client.views_publish(user_id=user, view=home(*blocks), **more)

    def answers(self, answer: object, *, status: int = 200) -> None:
        """Answer each request with this, as JSON unless it is text."""
        self.app.reply = _replies(answer, status)


def _replies(answer: object, status: int) -> Reply:
    async def reply(_: Fields) -> web.Response:
        return web.Response(text=answer if isinstance(answer, str) else json.dumps(answer), status=status)

    return reply


@pytest.fixture
async def bot() -> AsyncIterator[Bot]:
    app = PlaygroundApp()
    server = web.Application()
    server.router.add_post("/slack/events", app.handle)
    async with FakeSlack() as slack, aiohttp.ClientSession() as session, TestServer(server) as site:
        client = AsyncWebClient(token=BOT_TOKEN, base_url=slack.api_url, session=session)
        person = Person(
            session=session,
            app_url=str(site.make_url("")).rstrip("/"),
            response_url=slack.response_url,
            secret=SIGNING_SECRET,
            slack=slack,
        )
        yield Bot(slack=slack, client=client, app=app, person=person)


async def an_unknown_trigger(bot: Bot) -> None:
    await bot.client.views_open(trigger_id="unknown", view=modal())


async def a_trigger_used_twice(bot: Bot) -> None:
    await bot.open()
    await bot.client.views_open(trigger_id="trigger-1", view=modal())


async def a_trigger_used_late(bot: Bot) -> None:
    trigger = bot.trigger()
    bot.slack.advance(3.1)
    await bot.client.views_open(trigger_id=trigger, view=modal())


async def an_expired_trigger(bot: Bot) -> None:
    trigger = bot.trigger()
    bot.slack.views.expire_triggers()
    await bot.client.views_open(trigger_id=trigger, view=modal())


async def no_view(bot: Bot) -> None:
    await bot.client.api_call("views.open", json={"trigger_id": bot.trigger()})


async def a_home_tab_as_modal(bot: Bot) -> None:
    await bot.client.views_open(trigger_id=bot.trigger(), view=home())


async def a_modal_as_home_tab(bot: Bot) -> None:
    await bot.client.views_publish(user_id="U1", view=modal())


async def a_fourth_view(bot: Bot) -> None:
    await bot.open()
    for _ in range(3):
        await bot.push()


async def a_push_on_nothing(bot: Bot) -> None:
    await bot.client.views_push(trigger_id=bot.trigger(), view=modal())


async def a_push_on_a_closed_view(bot: Bot) -> None:
    view = await bot.open()
    await bot.person.close(view)
    await bot.client.views_push(trigger_id=bot.trigger(view=view.id), view=modal())


async def an_update_of_a_closed_view(bot: Bot) -> None:
    view = await bot.open()
    await bot.person.close(view)
    await bot.client.views_update(view_id=view.id, view=modal())


async def an_update_of_an_old_version(bot: Bot) -> None:
    view = await bot.open()
    await bot.update(hash=view.hash)
    await bot.update(hash=view.hash)


async def an_update_without_a_name(bot: Bot) -> None:
    await bot.open()
    await bot.client.api_call("views.update", json={"view": modal()})


async def a_malformed_view(bot: Bot) -> None:
    await bot.open(TABLE)


async def an_update_into_a_home_tab(bot: Bot) -> None:
    view = await bot.open()
    await bot.client.views_update(view_id=view.id, view=home())


async def a_name_given_twice(bot: Bot) -> None:
    await bot.open(external_id="mine")
    await bot.push(external_id="mine")


async def an_old_home_tab(bot: Bot) -> None:
    await bot.publish()
    old = bot.slack.home().hash
    await bot.publish(hash=old)
    await bot.publish(hash=old)


async def an_old_version_of_a_home_tab_by_its_id(bot: Bot) -> None:
    await bot.publish()
    old = bot.slack.home()
    await bot.client.views_update(view_id=old.id, view=home())
    await bot.client.views_update(view_id=old.id, view=home(), hash=old.hash)


async def too_large(bot: Bot) -> None:
    await bot.open(*[{"type": "section", "text": {"type": "mrkdwn", "text": "é" * 3000}}] * 50)


async def a_channel_that_is_not_there(bot: Bot) -> None:
    await bot.client.conversations_info(channel="X1")


async def a_public_channel_without_its_scope(bot: Bot) -> None:
    bot.slack.workspace.scopes.remove("channels:read")
    await bot.client.conversations_info(channel="C1")


async def a_private_channel_without_its_scope(bot: Bot) -> None:
    bot.slack.workspace.scopes.remove("groups:read")
    await bot.client.conversations_info(channel="G1")


async def a_link_to_no_message(bot: Bot) -> None:
    await bot.client.chat_getPermalink(channel="C1", message_ts="1.2")


async def no_home_tab(bot: Bot) -> None:
    bot.slack.workspace.refused["views.publish"] = "not_enabled"
    await bot.publish()


Rule = Callable[[Bot], Awaitable[None]]

BROKEN: list[tuple[Rule, str]] = [
    (an_unknown_trigger, "invalid_trigger_id"),
    (a_trigger_used_twice, "exchanged_trigger_id"),
    (a_trigger_used_late, "expired_trigger_id"),
    (an_expired_trigger, "expired_trigger_id"),
    (no_view, "invalid_arguments"),
    (a_home_tab_as_modal, "invalid_arguments"),
    (a_modal_as_home_tab, "invalid_arguments"),
    (a_fourth_view, "push_limit_reached"),
    (a_push_on_nothing, "not_found"),
    (a_push_on_a_closed_view, "not_found"),
    (an_update_of_a_closed_view, "not_found"),
    (an_update_of_an_old_version, "hash_conflict"),
    (an_update_without_a_name, "invalid_arguments"),
    (a_malformed_view, "invalid_arguments"),
    (an_update_into_a_home_tab, "invalid_arguments"),
    (a_name_given_twice, "duplicate_external_id"),
    (an_old_home_tab, "hash_conflict"),
    (an_old_version_of_a_home_tab_by_its_id, "hash_conflict"),
    (too_large, "view_too_large"),
    (a_channel_that_is_not_there, "channel_not_found"),
    (a_public_channel_without_its_scope, "missing_scope"),
    (a_private_channel_without_its_scope, "missing_scope"),
    (a_link_to_no_message, "message_not_found"),
    (no_home_tab, "not_enabled"),
]


@pytest.mark.parametrize(("rule", "error"), BROKEN, ids=[rule.__name__ for rule, _ in BROKEN])
async def test_a_careless_app_gets_slacks_error(bot: Bot, rule: Rule, error: str) -> None:
    with pytest.raises(SlackApiError, match=f"'error': '{error}'"):
        await rule(bot)

    assert bot.slack.answered[-1].error == error


ENTERED = {
    "note": "Because",
    "radio_buttons": "1",
    "multi_static_select": ["0", "1"],
    "number_input": "7",
    "multi_conversations_select": ["C2"],
}


async def test_a_careful_app_opens_everything_and_gets_what_was_entered(bot: Bot) -> None:
    opened = await bot.client.views_open(trigger_id=bot.trigger(channel="C1"), view=FULL)
    shown = opened["view"]
    await bot.person.submit(bot.slack.modal(), ENTERED)
    [payload] = bot.app.requests
    values = payload["view"]["state"]["values"]

    assert (shown["type"], shown["callback_id"], shown["private_metadata"]) == ("modal", "full", '{"question": "q1"}')
    assert (shown["root_view_id"], shown["previous_view_id"], shown["app_id"]) == (shown["id"], None, "A1")
    assert (shown["team_id"], shown["bot_id"], bool(shown["hash"])) == ("T1", "B0APP", True)
    assert shown["state"]["values"]["title"]["title"] == {"type": "plain_text_input", "value": "A title"}
    assert (payload["type"], payload["user"]["id"], payload["view"]["id"]) == ("view_submission", "U1", shown["id"])
    assert payload["trigger_id"]
    assert payload["view"]["private_metadata"] == '{"question": "q1"}'
    assert {block: next(iter(state.values())) for block, state in values.items()} == {
        "note": {"type": "plain_text_input", "value": "Because"},
        "title": {"type": "plain_text_input", "value": "A title"},
        "checkboxes": {"type": "checkboxes", "selected_options": OPTIONS[:1]},
        "radio_buttons": {"type": "radio_buttons", "selected_option": OPTIONS[1]},
        "static_select": {"type": "static_select", "selected_option": OPTIONS[1]},
        "multi_static_select": {"type": "multi_static_select", "selected_options": OPTIONS},
        "users_select": {"type": "users_select", "selected_user": "U1"},
        "conversations_select": {"type": "conversations_select", "selected_conversation": "C1"},
        "multi_conversations_select": {"type": "multi_conversations_select", "selected_conversations": ["C2"]},
        "datepicker": {"type": "datepicker", "selected_date": "2026-11-30"},
        "timepicker": {"type": "timepicker", "selected_time": "09:30"},
        "number_input": {"type": "number_input", "value": "7"},
        "url_text_input": {"type": "url_text_input", "value": None},
    }
    [address] = payload["response_urls"]
    assert (address["block_id"], address["channel_id"]) == ("conversations_select", "C1")
    assert address["response_url"].startswith(bot.slack.origin)
    assert bot.slack.views.stack("U1") == ()


@pytest.mark.parametrize(
    ("block", "value"),
    [
        (ASKS, None),
        (ASKS, ""),
        (field("plain_text_input", name="why", min_length=3), "ab"),
        (field("plain_text_input", name="why", max_length=2), "abc"),
        (field("checkboxes", name="why", options=OPTIONS), []),
        (field("datepicker", name="why"), None),
        (field("number_input", name="why", is_decimal_allowed=False), "1.5"),
        (field("number_input", name="why", is_decimal_allowed=True, min_value="2"), "1.5"),
        (field("number_input", name="why", is_decimal_allowed=True, max_value="1"), "1.5"),
        (field("number_input", name="why", is_decimal_allowed=True), "many"),
        (field("url_text_input", name="why"), "example"),
        (field("email_text_input", name="why"), "example"),
    ],
)
async def test_slacks_client_does_not_submit_what_is_not_valid(bot: Bot, block: Block, value: object) -> None:
    view = await bot.open(block)
    with pytest.raises(NotSubmitted):
        await bot.person.submit(view, {"why": value})

    assert bot.app.requests == []
    assert list(bot.slack.modal().errors) == ["why"]


@pytest.mark.parametrize(
    ("block", "value"),
    [
        (field("static_select", name="why", options=OPTIONS), "2"),
        (field("multi_static_select", name="why", options=OPTIONS, max_selected_items=1), ["0", "1"]),
        (ASKS, ["a list"]),
    ],
)
async def test_no_one_can_enter_what_a_view_does_not_offer(bot: Bot, block: Block, value: object) -> None:
    view = await bot.open(block)
    with pytest.raises(BadInput):
        await bot.person.submit(view, {"why": value})


SECOND = modal(TEXT, title=plain("Second"))
OPEN = ["A modal", "A modal"]
ANSWERS: list[tuple[object, int, tuple[list[str], dict[str, str], str]]] = [
    ("", 200, (["A modal"], {}, "")),
    ({"response_action": "clear"}, 200, ([], {}, "")),
    ({"response_action": "update", "view": SECOND}, 200, (["A modal", "Second"], {}, "")),
    ({"response_action": "push", "view": SECOND}, 200, ([*OPEN, "Second"], {}, "")),
    ({"response_action": "errors", "errors": {"why": "No"}}, 200, (OPEN, {"why": "No"}, "")),
    ({"response_action": "errors", "errors": {"who": "No"}}, 200, (OPEN, {}, FAILURE)),
    ({"response_action": "errors", "errors": {}}, 200, (OPEN, {}, FAILURE)),
    ({"response_action": "update", "view": home()}, 200, (OPEN, {}, FAILURE)),
    ({"response_action": "update", "view": modal(TABLE)}, 200, (OPEN, {}, FAILURE)),
    ({"response_action": "update"}, 200, (OPEN, {}, FAILURE)),
    ({"response_action": "dance"}, 200, (OPEN, {}, FAILURE)),
    ({"text": "Thanks"}, 200, (OPEN, {}, FAILURE)),
    ("", 500, (OPEN, {}, FAILURE)),
]


@pytest.mark.parametrize(("answer", "status", "expected"), ANSWERS)
async def test_an_answer_to_a_submission_changes_the_modal(
    bot: Bot, answer: object, status: int, expected: tuple[list[str], dict[str, str], str]
) -> None:
    bot.answers(answer, status=status)
    await bot.open()
    view = await bot.push(ASKS)
    await bot.person.submit(view, {"why": "Because"})
    stack = bot.slack.views.stack("U1")
    titles = [one.content["title"]["text"] for one in stack]

    assert (titles, stack[-1].errors if stack else {}, stack[-1].failure if stack else "") == expected


async def test_a_fourth_view_by_an_answer_is_a_failure(bot: Bot) -> None:
    bot.answers({"response_action": "push", "view": SECOND})
    await bot.open()
    await bot.push()
    view = await bot.push()
    await bot.person.submit(view)

    assert bot.slack.modal().failure == FAILURE


async def test_what_was_entered_survives_an_update_that_keeps_the_input(bot: Bot) -> None:
    menu = field("static_select", name="menu", options=OPTIONS)
    view = await bot.open(ASKS, menu, buttons(BUTTON))
    await bot.person.press(view, "go", values={"why": "Because", "menu": "1"})
    await bot.update(ASKS, field("static_select", name="menu", options=OPTIONS[:1]), HEADING)

    assert bot.slack.modal().id == view.id
    assert bot.slack.modal().state == {
        "why": {"why": {"type": "plain_text_input", "value": "Because"}},
        "menu": {"menu": {"type": "static_select", "selected_option": None}},
    }


async def test_a_press_in_a_view_reports_the_view_and_has_no_response_url(bot: Bot) -> None:
    view = await bot.open(ASKS, buttons(BUTTON, {"type": "overflow", "action_id": "more", "options": OPTIONS}))
    await bot.person.press(view, "more", "1", values={"why": "Because"}, token="p1")
    [payload] = bot.app.requests
    [action] = payload["actions"]

    assert (payload["type"], payload["container"]) == ("block_actions", {"type": "view", "view_id": view.id})
    assert not {"channel", "message", "response_url"} & set(payload)
    assert payload["view"]["state"]["values"]["why"]["why"]["value"] == "Because"
    assert (action["action_id"], action["block_id"], action["selected_option"]) == ("more", "buttons", OPTIONS[1])
    await bot.client.views_push(trigger_id=payload["trigger_id"], view=SECOND)
    [below, above] = bot.slack.views.stack("U1")
    assert (above.root, above.previous) == (below.id, below.id)


MESSAGE = {
    "blocks": [
        buttons(
            BUTTON,
            {"type": "overflow", "action_id": "more", "options": OPTIONS},
            {"type": "checkboxes", "action_id": "parts", "options": OPTIONS},
            {"type": "static_select", "action_id": "menu", "options": OPTIONS},
        ),
        {
            "type": "context_actions",
            "block_id": "rating",
            "elements": [
                {
                    "type": "feedback_buttons",
                    "action_id": "feedback",
                    "positive_button": {"text": plain("Good"), "value": "up"},
                    "negative_button": {"text": plain("Bad"), "value": "down"},
                }
            ],
        },
    ]
}


@pytest.mark.parametrize(
    ("action_id", "value", "reported"),
    [
        ("go", None, {"type": "button", "value": "q1"}),
        ("more", "1", {"type": "overflow", "selected_option": OPTIONS[1]}),
        ("parts", ["0"], {"type": "checkboxes", "selected_options": OPTIONS[:1]}),
        ("menu", "0", {"type": "static_select", "selected_option": OPTIONS[0]}),
        ("feedback", "down", {"type": "feedback_buttons", "value": "down"}),
    ],
)
async def test_a_choice_in_a_message_is_reported_with_its_value(
    bot: Bot, action_id: str, value: object, reported: dict[str, Any]
) -> None:
    await bot.person.choose(MESSAGE | {"ts": "1.5"}, action_id, value)
    [payload] = bot.app.requests
    [action] = payload["actions"]

    assert reported.items() <= action.items()
    assert (payload["container"]["message_ts"], payload["container"]["is_ephemeral"]) == ("1.5", False)
    assert payload["message"]["ts"] == "1.5"
    assert payload["response_url"].startswith(bot.slack.origin)


async def test_an_ephemeral_message_is_not_in_the_payload(bot: Bot) -> None:
    await bot.person.choose(MESSAGE, "go")

    assert "message" not in bot.app.requests[0]
    assert bot.app.requests[0]["container"]["is_ephemeral"]


async def test_a_view_that_is_closed_is_reported_if_it_asks_for_it(bot: Bot) -> None:
    await bot.open(notify_on_close=True)
    await bot.push()
    view = await bot.push(notify_on_close=True)
    await bot.person.close(view)
    await bot.person.close(bot.slack.modal(), clear=True)

    assert [(one["type"], one["view"]["id"], one["is_cleared"]) for one in bot.app.requests] == [
        ("view_closed", view.id, False),
        ("view_closed", view.root, True),
    ]
    assert bot.slack.views.stack("U1") == ()


async def test_closing_a_view_that_clears_closes_the_modal(bot: Bot) -> None:
    await bot.open()
    await bot.person.close(await bot.push(clear_on_close=True))

    assert bot.slack.views.stack("U1") == ()


async def test_a_message_shortcut_brings_the_message_and_opens_a_view(bot: Bot) -> None:
    await bot.person.message_shortcut("check", {"ts": "1.5", "text": "The tower is 330 m tall.", "user": "U2"})
    [payload] = bot.app.requests
    await bot.client.views_open(trigger_id=payload["trigger_id"], view=modal())

    assert (payload["type"], payload["callback_id"], payload["channel"]["id"]) == ("message_action", "check", "C1")
    assert (payload["message"]["text"], payload["message_ts"]) == ("The tower is 330 m tall.", "1.5")
    assert payload["response_url"].startswith(bot.slack.origin)
    assert bot.slack.modal().channel == "C1"


async def test_a_global_shortcut_has_no_place(bot: Bot) -> None:
    await bot.person.shortcut("ask")
    [payload] = bot.app.requests
    await bot.client.views_open(trigger_id=payload["trigger_id"], view=modal())

    assert (payload["type"], payload["callback_id"]) == ("shortcut", "ask")
    assert not {"channel", "response_url", "message"} & set(payload)


async def test_the_home_tab_is_reported_when_it_is_opened(bot: Bot) -> None:
    await bot.person.open_home()
    await bot.publish(TABLE)
    await bot.person.open_home()
    await bot.person.open_home(tab="messages")
    first, second, third = (request["event"] for request in bot.app.requests)

    assert (first["type"], first["tab"], "view" in first) == ("app_home_opened", "home", False)
    assert (second["view"]["id"], second["view"]["type"]) == (bot.slack.home().id, "home")
    assert (third["tab"], "view" in third) == ("messages", False)


async def test_people_have_their_own_modals_and_homes(bot: Bot) -> None:
    second = replace(bot.person, user="U2")
    first_view, second_view = await bot.open(ASKS), await bot.open(ASKS, user="U2")
    await bot.publish(HEADING, user="U2")
    await second.submit(second_view, {"why": "Because"})

    assert bot.slack.views.stack("U1") == (first_view,)
    assert bot.slack.views.stack("U2") == ()
    assert bot.app.requests[0]["user"]["id"] == "U2"
    assert bot.slack.views.home("U1") is None
    assert bot.slack.home("U2").blocks[0]["type"] == "header"


async def test_two_submissions_at_once_both_arrive_and_one_closes_the_modal(bot: Bot) -> None:
    await bot.open()
    view = await bot.push(ASKS)
    await asyncio.gather(*(bot.person.submit(view, {"why": "Because"}, token=token) for token in ("s1", "s2")))

    assert len(bot.app.requests) == 2
    assert len(bot.slack.views.stack("U1")) == 1


async def test_calls_fail_as_a_test_says(bot: Bot) -> None:
    bot.slack.fail("views.open", Fault(status=200, body='{"ok": false, "error": "internal_error"}'))
    with pytest.raises(SlackApiError, match="internal_error"):
        await bot.open()
    await bot.open()


async def test_a_conversation_and_a_message_can_be_looked_up(bot: Bot) -> None:
    bot.slack.workspace.channels["G1"] = {"creator": "U7", "is_ext_shared": True}
    public = (await bot.client.conversations_info(channel="C1"))["channel"]
    private = (await bot.client.conversations_info(channel="G1"))["channel"]
    bot.slack.timeline.put(
        SlackMessage(
            channel="C1", ts="1795255200.000100", author=Author.YOU, text="Why?", thread_ts="1795255200.000001"
        )
    )
    link = await bot.client.chat_getPermalink(channel="C1", message_ts="1795255200.000100")

    assert (public["creator"], public["name"], public["is_private"], public["is_member"]) == ("U1", "c1", False, True)
    assert (private["creator"], private["is_private"], private["is_ext_shared"]) == ("U7", True, True)
    assert link["permalink"].endswith("/archives/C1/p1795255200000100?thread_ts=1795255200.000001&cid=C1")
