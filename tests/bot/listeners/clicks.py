"""Clicks sent to the listeners of a Bolt app, and the replies to them."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from functools import partial
from typing import cast
from uuid import UUID

from slack_bolt.async_app import AsyncBoltRequest
from slack_bolt.response import BoltResponse
from slack_sdk.web.async_client import AsyncWebClient

from bot.app import bolt_app
from bot.features import ask_about
from bot.features.sharing import preview
from bot.features.sharing.posting import Sharing
from bot.listeners import actions, answer_actions
from bot.model.message import MarkdownFile, OutgoingMessage
from bot.slack.connection import SlackConnection
from bot.views import sources
from bot.worker.background import FileUploader
from tests.fakes.digest_service import FakeDigests
from tests.fakes.listeners import listener_context


@dataclass(kw_only=True)
class RecordingListeners:
    """The listeners of an app whose questions never load; `replies` are the texts of what was sent for clicks.

    `seconds` is how long the last click waited for its acknowledgement, without the making of the app.
    With `slack_hangs` a reply is never confirmed.
    """

    digests: FakeDigests = field(default_factory=FakeDigests)
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
                partial(
                    actions.register,
                    digests=self.digests,
                    files=cast("FileUploader", self),
                ),
                answer_actions.register,
                ask_about.form.register,
                partial(preview.register, shares=cast("Sharing", self)),
                sources.register,
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

    async def load_report(self, question_id: UUID) -> MarkdownFile | None:
        """Fail: no question loads."""
        raise AssertionError(question_id)

    async def send(self, file: MarkdownFile, user_id: str, **outcomes: object) -> None:
        """Fail: there is no file."""
        raise AssertionError(file, user_id)
