"""Clicks sent to the listeners of a Bolt app, and the replies to them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from uuid import UUID, uuid4

from slack_bolt.async_app import AsyncBoltRequest
from slack_bolt.response import BoltResponse
from slack_sdk.web.async_client import AsyncWebClient

from bot.listeners import actions
from bot.listeners.context import Register
from bot.listeners.installation import bolt_app
from bot.model.message import OutgoingMessage
from bot.slack.connection import SlackConnection
from bot.views import sources
from tests.fakes.listeners import listener_context

ACK_SECONDS = 2.5


@dataclass(kw_only=True)
class RecordingListeners:
    """The listeners of an app whose questions never load; `replies` are the texts of what was sent for clicks.

    `seconds` is how long the last click waited for its acknowledgement, without the making of the app.
    `listeners` are those of features. With `slack_hangs` a reply is never confirmed.
    """

    listeners: Sequence[Register] = ()
    slack_hangs: bool = False
    replies: list[str] = field(default_factory=list)
    seconds: float = 0.0

    async def click(self, action: str, *, value: str = "") -> BoltResponse:
        """Click a button and return the acknowledgement."""
        body = {
            "type": "block_actions",
            "user": {"id": "U1", "team_id": "T1"},
            "team": {"id": "T1"},
            "channel": {"id": "C1"},
            "response_url": "https://hooks.slack.com/1",
            "actions": [{"type": "button", "action_id": action, "block_id": "b", "value": value, "action_ts": "1.1"}],
        }
        app = bolt_app(
            SlackConnection(bot_token="xoxb-1", signing_secret="s", api_url=""),
            AsyncWebClient(),
            listener_context(self, replies=self),
            [
                actions.register,
                sources.register,
                *self.listeners,
            ],
        )
        request = AsyncBoltRequest(body=body, mode="socket_mode")
        started = time.perf_counter()
        response = await app.async_dispatch(request)
        self.seconds = time.perf_counter() - started
        return response

    async def get(self, question_id: UUID) -> None:
        """Hang, as a database may."""
        await asyncio.Event().wait()

    async def replace_original(self, url: str | None, message: OutgoingMessage) -> None:
        """Record a reply."""
        self.replies.append(message.text)
        if self.slack_hangs:
            await asyncio.Event().wait()

    reply_privately = replace_original


async def assert_acknowledged(action: str, *, listeners: Sequence[Register] = ()) -> None:
    """Click while the database hangs, and Slack as well: this is acknowledged in time anyway."""
    app = RecordingListeners(listeners=listeners, slack_hangs=True)
    response = await app.click(action, value=str(uuid4()))

    assert response.status == 200
    assert app.seconds < ACK_SECONDS
    assert ["reach my database" in text for text in app.replies] == [True]
