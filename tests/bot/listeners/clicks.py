"""Clicks sent to the listeners of a Bolt app, and the replies to them."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from typing import cast
from uuid import UUID

from slack_bolt.async_app import AsyncBoltRequest
from slack_bolt.response import BoltResponse
from slack_sdk.web.async_client import AsyncWebClient

from bot.app import bolt_app
from bot.blocks.escaping import sanitize_view
from bot.commands import COMMANDS
from bot.delivery.shares import Sharing
from bot.listeners.intake import Intake, ListenerContext
from bot.model.message import MarkdownFile, OutgoingMessage
from bot.slack.connection import SlackConnection
from bot.slack.messages import Chat
from bot.slack.views import Views
from bot.storage.budgets import BudgetStore
from bot.storage.feedback import FeedbackStore
from bot.storage.preferences import PreferenceStore
from bot.storage.questions import QuestionStore
from bot.web.metrics import Metrics
from tests.fakes.digest_service import FakeDigests


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
            SlackConnection(bot_token="xoxb-1", signing_secret="s", api_url=""), AsyncWebClient(), self._services()
        )
        request = AsyncBoltRequest(body=body, mode="socket_mode")
        started = time.perf_counter()
        response = await app.async_dispatch(request)
        self.seconds = time.perf_counter() - started
        return response

    async def get(self, question_id: UUID) -> None:
        """Hang, as a database may."""
        await asyncio.Event().wait()

    async def _reply(self, url: str | None, message: OutgoingMessage) -> None:
        self.replies.append(message.text)
        if self.slack_hangs:
            await asyncio.Event().wait()

    async def _report_of(self, question_id: UUID) -> MarkdownFile | None:
        raise AssertionError(question_id)

    def _services(self) -> ListenerContext:
        questions = cast("QuestionStore", self)
        return ListenerContext(
            intake=Intake(questions=questions, metrics=Metrics()),
            questions=questions,
            commands=COMMANDS,
            metrics=Metrics(),
            reply_privately=self._reply,
            replace_original=self._reply,
            cancel_runs=lambda _: None,
            load_report=self._report_of,
            upload_file=lambda file, user_id, *, on_failure, on_refusal: None,
            post_in_thread=lambda *_: asyncio.sleep(0),
            post_ephemeral=lambda *_: asyncio.sleep(0),
            chat=Chat(AsyncWebClient(base_url="http://127.0.0.1:9/")),
            views=Views(AsyncWebClient(base_url="http://127.0.0.1:9/"), sanitize=sanitize_view),
            feedback=cast("FeedbackStore", self),
            sharing=cast("Sharing", self),
            preferences=cast("PreferenceStore", self),
            budgets=cast("BudgetStore", self),
            start=lambda work: work.close(),
            digests=self.digests,
        )
