"""Events of messages: how they are parsed, and the reply if a question cannot be saved."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

import pytest
from psycopg import OperationalError
from slack_bolt.async_app import AsyncBoltRequest
from slack_sdk.web.async_client import AsyncWebClient

from bot.commands.routing import EXAMPLES
from bot.listeners.context import ListenerContext
from bot.listeners.installation import bolt_app
from bot.listeners.intake import Intake
from bot.listeners.messages import (
    NOT_SAVED,
    MessageEvent,
    open_tab,
    parse_event,
    receive,
    register,
)
from bot.model.message import OutgoingMessage, SuggestedPrompt
from bot.model.question import NewQuestion
from bot.slack.connection import SlackConnection
from bot.slack.messages import PostResult, Sent
from bot.storage.questions import QuestionStore
from bot.web.metrics import Metrics
from tests.fakes.listeners import listener_context, returning


def envelope(*own: str, **event: Any) -> dict[str, Any]:
    message = {"type": "app_mention", "channel": "C1", "user": "U1", "ts": "1.1", "text": "<@U0APP> why"} | event
    authorizations = [{"user_id": user, "is_bot": True} for user in own]
    return {"team_id": "T1", "event": message, "authorizations": authorizations}


def reply(**event: Any) -> dict[str, Any]:
    """Return a reply in a channel's thread without a mention."""
    said = {"type": "message", "channel_type": "channel", "text": "why", "thread_ts": "1.0"}
    return envelope("U0APP", **said | event)


PARSED = MessageEvent(surface="mention", team="T1", channel="C1", user="U1", ts="1.1", thread_ts="1.1", text="why")
FOLLOW_UP = replace(PARSED, surface="follow_up", thread_ts="1.0")


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (envelope("U0APP"), PARSED),
        (envelope(), PARSED),
        (envelope() | {"authorizations": None}, PARSED),
        (envelope() | {"authorizations": ["x", {"is_bot": True}, {"user_id": "U1"}]}, PARSED),
        (envelope("U0APP", "U0ORG", text="<@U0ORG> why"), PARSED),
        (envelope("U0APP") | {"event": "x"}, None),
        (envelope("U0APP") | {"event": None}, None),
        ({}, None),
        (envelope("U0APP", user=None), None),
        (envelope("U0APP", type="message", channel_type="channel", text="why"), None),
        (reply(), FOLLOW_UP),
        (reply(channel_type="group", subtype="thread_broadcast"), FOLLOW_UP),
        (reply(channel_type="mpim"), None),
        (reply(thread_ts="1.1"), None),
        (reply(text="  "), None),
        (reply(text="<@U2> why"), None),
        (reply(text="<!here> why"), None),
        (reply(text="ask <@U2> why"), replace(FOLLOW_UP, text="ask <@U2> why")),
        (reply(text="why, <@U0APP>"), replace(FOLLOW_UP, surface="mention", text="why,")),
        (reply(bot_id="B1"), None),
        (reply(bot_profile={"id": "B1", "name": "Workflow"}), None),
        (reply(subtype="bot_message"), None),
        (reply(user="U0APP"), None),
        (reply(user="USLACKBOT"), None),
        (envelope("U0APP", type="message", channel_type="group"), PARSED),
        (envelope("U0APP", type="message", channel_type="mpim"), PARSED),
    ],
)
def test_an_event_is_parsed(body: dict[str, Any], expected: MessageEvent | None) -> None:
    assert parse_event(body) == expected


def test_both_events_of_a_mention_have_one_key_and_another_message_another() -> None:
    mention = parse_event(envelope("U0APP"))
    message = parse_event(envelope("U0APP", type="message", channel_type="channel"))
    other = parse_event(envelope("U0APP", ts="1.2"))

    assert mention is not None
    assert message is not None
    assert other is not None
    assert mention.delivery_key == message.delivery_key == "T1:C1:1.1"
    assert other.delivery_key != mention.delivery_key


@dataclass
class DatabaseDown:
    """A database that fails, and the replies to the asker; with `hangs` a reply never arrives."""

    hangs: bool = False
    follow_ups: bool = False
    posts: list[tuple[str, str | None, str]] = field(default_factory=list)
    ephemeral_posts: list[tuple[str, str, str | None, str]] = field(default_factory=list)
    suggested: list[tuple[str, tuple[SuggestedPrompt, ...]]] = field(default_factory=list)

    async def insert(self, _: NewQuestion) -> bool:
        raise OperationalError("down")

    async def takes_follow_up(self, **place: Any) -> bool:
        raise OperationalError("down")

    async def asked_directly(self, **place: str) -> list[tuple[str, str]]:
        raise OperationalError("down")

    async def suggest_prompts(self, channel: str, prompts: Sequence[SuggestedPrompt]) -> PostResult:
        self.suggested.append((channel, tuple(prompts)))
        return Sent()

    async def post_in_thread(self, channel: str, thread_ts: str, message: OutgoingMessage) -> None:
        self.posts.append((channel, thread_ts, message.text))

    async def post_ephemeral(self, channel: str, user: str, thread_ts: str | None, message: OutgoingMessage) -> None:
        if self.hangs:
            await asyncio.Event().wait()
        self.ephemeral_posts.append((channel, user, thread_ts, message.text))

    def services(self) -> ListenerContext:
        return listener_context(
            self,
            intake=Intake(
                questions=cast("QuestionStore", self),
                metrics=Metrics(),
                follow_ups=self.follow_ups,
                record_sender=returning(None),
                seconds=0.45,
            ),
            chat=self,
            replies=self,
        )


async def test_an_unsaved_event_is_refused_so_that_slack_redelivers_it__and_the_asker_gets_one_reply() -> None:
    listeners = DatabaseDown()

    first = await receive(envelope("U0APP"), listeners.services(), redelivered=False)
    second = await receive(envelope("U0APP"), listeners.services(), redelivered=True)

    assert first is not None
    assert second is not None
    assert (first.status, second.status) == (503, 503)
    assert (listeners.ephemeral_posts, listeners.posts) == ([("C1", "U1", None, NOT_SAVED)], [])


async def test_in_a_thread_and_in_a_direct_message_the_reply_is_there() -> None:
    listeners = DatabaseDown()

    await receive(envelope("U0APP", thread_ts="1.0"), listeners.services(), redelivered=False)
    await receive(envelope("U0APP", type="message", channel_type="im"), listeners.services(), redelivered=False)

    assert listeners.ephemeral_posts == [("C1", "U1", "1.0", NOT_SAVED)]
    assert listeners.posts == [("C1", "1.1", NOT_SAVED)]


async def test_if_slack_hangs_too_the_refusal_does_not_wait() -> None:
    refused = await asyncio.wait_for(
        receive(envelope("U0APP"), DatabaseDown(hangs=True).services(), redelivered=False), 2
    )

    assert refused is not None
    assert refused.status == 503


async def test_a_reply_while_the_database_is_down_is_redelivered_and_nobody_is_told() -> None:
    listeners = DatabaseDown()

    refused = await receive(reply(), DatabaseDown(follow_ups=True).services(), redelivered=False)

    assert refused is not None
    assert refused.status == 503
    assert (listeners.ephemeral_posts, listeners.posts) == ([], [])
    # A channel may take replies although the app does not by default.
    undecided = await receive(reply(), listeners.services(), redelivered=False)
    assert undecided is not None
    assert undecided.status == 503


async def test_while_the_database_is_down_examples_are_suggested() -> None:
    listeners = DatabaseDown()
    opened = envelope("U0APP", type="app_home_opened", channel="D1", tab="messages")

    await open_tab(opened, listeners.services())

    assert listeners.suggested == [("D1", EXAMPLES)]


async def test_an_event_without_a_question_is_acknowledged_while_the_database_is_down() -> None:
    assert await receive(envelope("U0APP", bot_id="B1"), DatabaseDown().services(), redelivered=False) is None


@pytest.mark.parametrize("kind", ["app_mention", "message"])
async def test_bolt_returns_the_refusal(kind: str) -> None:
    listeners = DatabaseDown()
    app = bolt_app(
        SlackConnection(bot_token="xoxb-1", signing_secret="s", api_url=""),
        AsyncWebClient(),
        listeners.services(),
        [register],
    )
    body = envelope("U0APP", type=kind, channel_type="channel") | {"type": "event_callback"}
    headers: dict[str, str | Sequence[str]] = {"x-slack-retry-num": "2"}

    first = await app.async_dispatch(AsyncBoltRequest(body=body, mode="socket_mode"))
    again = await app.async_dispatch(AsyncBoltRequest(body=body, mode="socket_mode", headers=headers))

    assert (first.status, again.status, len(listeners.ephemeral_posts)) == (503, 503, 1)
