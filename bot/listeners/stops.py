"""Clicks on Stop: a question that takes minutes ends at once, for its asker only."""

from __future__ import annotations

import logging
from typing import Any
from uuid import UUID

from slack_bolt.async_app import AsyncAck, AsyncApp

from bot.blocks.progress import stopped_message
from bot.commands.notices import notice_message
from bot.listeners.clicks import clicker, response_url, said_in_time
from bot.listeners.services import Services
from bot.storage.patience import AWAY

log = logging.getLogger(__name__)

DATABASE_AWAY = "I can’t stop this just now: my database is away. Please click again in a minute."
UNKNOWN = "I no longer know this question."
SOMEBODY_ELSE_S = "Only the person who asked can stop this."
STOPPED = "This was stopped already."
OVER = "There is nothing to stop any more: the answer is on its way, or was given up."


def register(app: AsyncApp, services: Services) -> None:
    """Listen to the button that stands below what is under way."""

    @app.action("stop")
    async def stop(ack: AsyncAck, body: dict[str, Any], action: dict[str, Any]) -> None:
        url = response_url(body)
        problem = await stopped(str(action.get("value", "")), user=clicker(body), services=services)
        if problem is None:
            await said_in_time(services.replace(url, stopped_message()))
        else:
            await said_in_time(services.tell(url, notice_message(problem)))
        await ack()


async def stopped(value: str, *, user: str, services: Services) -> str | None:
    """Close the question as stopped and have its runs ended; return what to say where that cannot be done."""
    try:
        question_id = UUID(value)
    except ValueError:
        return UNKNOWN
    try:
        return await services.journal.in_time(_stopped(question_id, user=user, services=services))
    except AWAY:
        return DATABASE_AWAY


async def _stopped(question_id: UUID, *, user: str, services: Services) -> str | None:
    row = await services.questions.get(question_id)
    if row is None or row.user_id != user:
        return UNKNOWN if row is None else SOMEBODY_ELSE_S
    if not await services.questions.stop(question_id, user_id=user):
        return STOPPED if row.state == "stopped" else OVER
    services.end_runs(question_id)
    services.metrics.settled(command=row.command, state="stopped")
    log.info("question.stopped", extra={"question": str(question_id), "command": row.command})
    return None
