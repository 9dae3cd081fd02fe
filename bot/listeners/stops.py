"""Clicks on Stop: a question that takes minutes ends at once, for its asker only."""

from __future__ import annotations

import logging
from typing import Any
from uuid import UUID

from slack_bolt.async_app import AsyncAck, AsyncApp

from bot.blocks.base import OutgoingMessage
from bot.blocks.progress import stopped_message
from bot.commands.notices import notice_message
from bot.listeners.clicks import (
    DATABASE_AWAY,
    DATABASE_SECONDS,
    clicker,
    is_askers,
    response_url,
    said_in_time,
    turned_away,
)
from bot.listeners.services import Services
from bot.storage.patience import AWAY
from bot.storage.questions import QuestionRow

log = logging.getLogger(__name__)

UNKNOWN = "I no longer know this question."
SOMEBODY_ELSE_S = "Only the person who asked can stop this."
STOPPED = "This was stopped already."
OVER = "There is nothing to stop any more: the answer is on its way, or was given up."


def register(app: AsyncApp, services: Services) -> None:
    """Listen to the button that stands below what is under way."""

    @app.action("stop")
    async def stop(ack: AsyncAck, body: dict[str, Any], action: dict[str, Any]) -> None:
        if not await turned_away(body, services):
            url = response_url(body)
            result = await stopped(str(action.get("value", "")), body, services)
            if isinstance(result, str):
                await said_in_time(services.tell(url, notice_message(result)))
            else:
                await said_in_time(services.replace(url, result))
        await ack()


async def stopped(value: str, body: dict[str, Any], services: Services) -> OutgoingMessage | str:
    """Close the question as stopped and cancel its runs; return what replaces its message, or why that failed."""
    try:
        question_id = UUID(value)
    except ValueError:
        return UNKNOWN
    try:
        return await services.journal.in_time(_stopped(question_id, body, services), seconds=DATABASE_SECONDS)
    except AWAY:
        return DATABASE_AWAY


async def _stopped(question_id: UUID, body: dict[str, Any], services: Services) -> OutgoingMessage | str:
    row = await services.questions.get(question_id)
    if row is None or not is_askers(row, body):
        return UNKNOWN if row is None else SOMEBODY_ELSE_S
    if not await services.questions.stop(question_id, user_id=clicker(body)):
        if row.state != "stopped":
            return OVER
        # The reply to the stop that did it may have been lost, and with it the end of the runs.
        services.end_runs(question_id)
        return STOPPED
    services.end_runs(question_id)
    services.metrics.settled(command=row.command, state="stopped")
    log.info("question.stopped", extra={"question": str(question_id), "command": row.command})
    return stopped_message(_asked(row, services), question=str(question_id))


def _asked(row: QuestionRow, services: Services) -> str:
    command = next((command for command in services.commands if command.name == row.command), None)
    return command.asks(row.text) if command is not None else ""
