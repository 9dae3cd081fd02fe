"""Clicks while the database hangs, and Slack as well: acknowledged in time anyway."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection
from typing import Any, cast
from uuid import UUID, uuid4

import pytest
from slack_bolt.async_app import AsyncBoltRequest
from slack_sdk.web.async_client import AsyncWebClient

from bot.app import bolt_app
from bot.commands import COMMANDS
from bot.listeners.intake import Journal, Services
from bot.model.digest import DigestAction, DigestResult
from bot.model.message import OutgoingMessage
from bot.slack.connection import SlackConnection
from bot.storage.questions import Questions
from bot.web.metrics import Metrics
from perplexity.deepdive.types import DeepDive
from tests.fakes.digest_service import FakeDigests

ACK_SECONDS = 2.5


class Hanging(FakeDigests):
    """A database and a Slack that never answer; `told` is what was to be said."""

    def __init__(self) -> None:
        super().__init__()
        self.told: list[str] = []

    async def get(self, question_id: UUID) -> None:
        await asyncio.Event().wait()

    async def apply_button(
        self, verb: DigestAction, id: UUID, *, user_id: str, teams: Collection[str], by: str
    ) -> DigestResult:
        """Hang."""
        await asyncio.Event().wait()
        raise AssertionError(id)

    async def tell(self, url: str | None, message: OutgoingMessage) -> None:
        self.told.append(message.text)
        await asyncio.Event().wait()

    async def report_of(self, question_id: UUID) -> DeepDive | None:
        raise AssertionError(question_id)

    def services(self) -> Services:
        questions = cast("Questions", self)
        return Services(
            journal=Journal(questions=questions),
            questions=questions,
            commands=COMMANDS,
            metrics=Metrics(),
            tell=self.tell,
            replace=self.tell,
            end_runs=lambda _: None,
            report_of=self.report_of,
            send_file=lambda report, user_id, *, sorry, refused: None,
            say=lambda *_: asyncio.sleep(0),
            whisper=lambda *_: asyncio.sleep(0),
            watching=self,
        )


def click(action: str) -> dict[str, Any]:
    return {
        "type": "block_actions",
        "user": {"id": "U1", "team_id": "T1"},
        "team": {"id": "T1"},
        "channel": {"id": "C1"},
        "response_url": "https://hooks.slack.com/1",
        "actions": [
            {"type": "button", "action_id": action, "block_id": "b", "value": str(uuid4()), "action_ts": "1.1"}
        ],
    }


@pytest.mark.parametrize("action", ["retry", "stop", "as_file", *(f"digest_{verb}" for verb in DigestAction)])
async def test_a_click_is_acknowledged_while_everything_hangs(action: str) -> None:
    hanging = Hanging()
    app = bolt_app(
        SlackConnection(bot_token="xoxb-1", signing_secret="s", api_url=""), AsyncWebClient(), hanging.services()
    )
    started = time.perf_counter()
    response = await app.async_dispatch(AsyncBoltRequest(body=click(action), mode="socket_mode"))
    took = time.perf_counter() - started

    assert response.status == 200
    assert took < ACK_SECONDS
    assert ["reach my database" in text for text in hanging.told] == [True]
