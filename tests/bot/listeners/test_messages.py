"""Messages in: what an event is read as, and what is said when it cannot be kept."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, cast
from uuid import UUID

import pytest
from psycopg import OperationalError
from slack_bolt.async_app import AsyncBoltRequest
from slack_sdk.web.async_client import AsyncWebClient

from bot.app import bolt_app
from bot.commands import COMMANDS
from bot.listeners.intake import Journal, Services
from bot.listeners.messages import DATABASE_DOWN, MessageEvent, parse_event, receive
from bot.model.message import OutgoingMessage
from bot.slack.connection import SlackConnection
from bot.storage.questions import NewQuestion, Questions
from bot.web.metrics import Metrics
from tests.fakes.digest_service import FakeDigests


def envelope(*own: str, **event: Any) -> dict[str, Any]:
    said = {"type": "app_mention", "channel": "C1", "user": "U1", "ts": "1.1", "text": "<@U0APP> why"} | event
    authorizations = [{"user_id": user, "is_bot": True} for user in own]
    return {"team_id": "T1", "event": said, "authorizations": authorizations}


ASKED = MessageEvent(surface="mention", team="T1", channel="C1", user="U1", ts="1.1", thread_ts="1.1", text="why")


@pytest.mark.parametrize(
    ("body", "asked"),
    [
        (envelope("U0APP"), ASKED),
        (envelope(), ASKED),
        (envelope() | {"authorizations": None}, ASKED),
        (envelope() | {"authorizations": ["x", {"is_bot": True}, {"user_id": "U1"}]}, ASKED),
        (envelope("U0APP", "U0ORG", text="<@U0ORG> why"), ASKED),
        (envelope("U0APP") | {"event": "x"}, None),
        (envelope("U0APP") | {"event": None}, None),
        ({}, None),
        (envelope("U0APP", user=None), None),
        (envelope("U0APP", type="message", channel_type="channel", text="why"), None),
        (envelope("U0APP", type="message", channel_type="group"), ASKED),
        (envelope("U0APP", type="message", channel_type="mpim"), ASKED),
    ],
)
def test_an_event_is_read_as(body: dict[str, Any], asked: MessageEvent | None) -> None:
    assert parse_event(body) == asked


def test_both_events_of_a_mention_have_one_key_and_another_message_another() -> None:
    mention = parse_event(envelope("U0APP"))
    message = parse_event(envelope("U0APP", type="message", channel_type="channel"))
    other = parse_event(envelope("U0APP", ts="1.2"))

    assert mention is not None
    assert message is not None
    assert other is not None
    assert mention.delivery_key == message.delivery_key == "T1:C1:1.1"
    assert other.delivery_key != mention.delivery_key


async def no_report(question_id: UUID) -> None:
    """There are no reports here."""


@dataclass
class Away:
    """A database that is away, and the asker who is told so; `hangs` says that they cannot be told either."""

    hangs: bool = False
    said: list[tuple[str, str | None, str]] = field(default_factory=list)
    whispered: list[tuple[str, str, str | None, str]] = field(default_factory=list)

    async def receive(self, _: NewQuestion) -> bool:
        raise OperationalError("away")

    async def say(self, channel: str, thread_ts: str, message: OutgoingMessage) -> None:
        self.said.append((channel, thread_ts, message.text))

    async def whisper(self, channel: str, user: str, thread_ts: str | None, message: OutgoingMessage) -> None:
        if self.hangs:
            await asyncio.Event().wait()
        self.whispered.append((channel, user, thread_ts, message.text))

    def services(self) -> Services:
        async def tell(url: str | None, message: OutgoingMessage) -> None:
            raise AssertionError(url, message)

        questions = cast("Questions", self)
        return Services(
            journal=Journal(questions=questions, seconds=0.45),
            questions=questions,
            commands=COMMANDS,
            metrics=Metrics(),
            tell=tell,
            replace=tell,
            end_runs=lambda _: None,
            report_of=no_report,
            send_file=lambda report, user_id, *, sorry, refused: None,
            say=self.say,
            whisper=self.whisper,
            watching=FakeDigests(),
        )


async def test_what_cannot_be_kept_is_refused_so_that_slack_delivers_it_again__and_the_asker_is_told_once() -> None:
    away = Away()

    first = await receive(envelope("U0APP"), away.services(), redelivered=False)
    second = await receive(envelope("U0APP"), away.services(), redelivered=True)

    assert first is not None
    assert second is not None
    assert (first.status, second.status) == (503, 503)
    assert (away.whispered, away.said) == ([("C1", "U1", None, DATABASE_DOWN)], [])


async def test_in_a_thread_and_in_a_direct_message_the_asker_is_told_there() -> None:
    away = Away()

    await receive(envelope("U0APP", thread_ts="1.0"), away.services(), redelivered=False)
    await receive(envelope("U0APP", type="message", channel_type="im"), away.services(), redelivered=False)

    assert away.whispered == [("C1", "U1", "1.0", DATABASE_DOWN)]
    assert away.said == [("C1", "1.1", DATABASE_DOWN)]


async def test_slack_being_away_too_does_not_keep_the_refusal_waiting() -> None:
    refused = await asyncio.wait_for(receive(envelope("U0APP"), Away(hangs=True).services(), redelivered=False), 2)

    assert refused is not None
    assert refused.status == 503


async def test_what_is_no_question_is_acknowledged_although_the_database_is_away() -> None:
    assert await receive(envelope("U0APP", bot_id="B1"), Away().services(), redelivered=False) is None


@pytest.mark.parametrize("kind", ["app_mention", "message"])
async def test_bolt_hands_the_refusal_on(kind: str) -> None:
    away = Away()
    app = bolt_app(
        SlackConnection(bot_token="xoxb-1", signing_secret="s", api_url=""), AsyncWebClient(), away.services()
    )
    body = envelope("U0APP", type=kind, channel_type="channel") | {"type": "event_callback"}
    headers: dict[str, str | Sequence[str]] = {"x-slack-retry-num": "2"}

    first = await app.async_dispatch(AsyncBoltRequest(body=body, mode="socket_mode"))
    again = await app.async_dispatch(AsyncBoltRequest(body=body, mode="socket_mode", headers=headers))

    assert (first.status, again.status, len(away.whispered)) == (503, 503, 1)
