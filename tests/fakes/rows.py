"""A question as the table holds it, a private `/ask` that came just now, and messages for it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

from bot.features import COMMANDS
from bot.model.message import OutgoingMessage
from bot.model.question import QuestionRow
from bot.storage.questions import QuestionStore

NAMES = tuple(command.name for command in COMMANDS)
BEGAN = datetime(2026, 11, 21, 10, 0, tzinfo=UTC)
SENT = "SELECT sent FROM questions WHERE sent IS NOT NULL UNION ALL SELECT request FROM sent_requests"
"""Read what was sent for all questions: with their answers, and before it left."""

URL = "https://hooks.slack.com/commands/1"


def message(number: int) -> OutgoingMessage:
    section = {"type": "section", "text": {"type": "mrkdwn", "text": f"words {number}"}}
    return OutgoingMessage(text=f"part {number}", blocks=(section,))


def row(**changes: Any) -> QuestionRow:
    base = QuestionRow(
        id=UUID(int=7),
        surface="slash",
        command="ask",
        text="why",
        team_id="T1",
        channel_id="C1",
        user_id="U1",
        response_url=URL,
        response_uses=0,
        message_ts=None,
        thread_ts=None,
        state="delivering",
        claim=1,
        redeliveries=0,
        messages=(message(1),),
        outcome="answered",
        part=0,
        run_id=None,
        received_at=BEGAN,
        received=0.0,
    )
    return replace(base, **changes)


async def claim(questions: QuestionStore, question_id: UUID) -> QuestionRow | None:
    """Take a question as a worker does that knows every command."""
    claimed = await questions.claim(question_id, uuid4(), commands=NAMES)
    return None if claimed is None else claimed.row
