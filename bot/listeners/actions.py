"""Clicks in: Try again asks the same question again, Past week for a longer time, however often they are clicked."""

from __future__ import annotations

import logging
import re
from typing import Any
from uuid import UUID

from slack_bolt.async_app import AsyncAck, AsyncApp

from bot.blocks.base import OutgoingMessage
from bot.commands.notices import notice_message
from bot.errors import UsageError
from bot.journal import Written
from bot.listeners.clicks import DATABASE_AWAY, DATABASE_SECONDS, is_askers, response_url, said_in_time, turned_away
from bot.listeners.messages import THREAD_FULL
from bot.listeners.services import Services
from bot.listeners.slash import too_many_open
from bot.storage.patience import AWAY
from bot.storage.questions import NewQuestion, QuestionRow

log = logging.getLogger(__name__)

PAST_WEEK = "past_week"
_ACTIONS = re.compile(rf"retry|{PAST_WEEK}")

UNKNOWN = "I no longer know this question. Please ask it again."
SOMEBODY_ELSE_S = "Only the person who asked can have this asked again."


def register(app: AsyncApp, services: Services) -> None:
    """Listen to the buttons that the app's messages carry."""

    @app.action(_ACTIONS)
    async def asked_again(ack: AsyncAck, body: dict[str, Any], action: dict[str, Any]) -> None:
        if not await turned_away(body, services) and (problem := await ask_again(body, action, services)):
            message = notice_message(problem) if isinstance(problem, str) else problem
            await said_in_time(services.tell(response_url(body), message))
        await ack()


async def ask_again(body: dict[str, Any], action: dict[str, Any], services: Services) -> str | OutgoingMessage | None:
    """Ask the clicked question again, for the same asker; return what to say if that cannot be done.

    The click itself is answered by the worker, which says in the message's place that it is searching.
    """
    try:
        question_id = UUID(str(action.get("value", "")))
    except ValueError:
        return UNKNOWN
    try:
        work = _ask_again(question_id, body, services, wider=action.get("action_id") == PAST_WEEK)
        return await services.journal.in_time(work, seconds=DATABASE_SECONDS)
    except AWAY:
        return DATABASE_AWAY


async def _ask_again(
    question_id: UUID, body: dict[str, Any], services: Services, *, wider: bool
) -> str | OutgoingMessage | None:
    earlier = await services.questions.get(question_id)
    if earlier is None or not is_askers(earlier, body):
        log.warning("click.stale", extra={"error": "unknown question" if earlier is None else "not the asker"})
        return UNKNOWN if earlier is None else SOMEBODY_ELSE_S
    text = _past_week(earlier, services) if wider else earlier.text
    if text is None:
        log.warning("click.stale", extra={"error": "no longer time"})
        return UNKNOWN
    question = _again(earlier, body, services, text=text, key="past_week" if wider else "retry")
    written = await services.journal.write(question)
    if written is Written.NEW:
        # Its answer is not wanted any more, if it was under way.
        services.end_runs(earlier.id)
        services.metrics.received(command=earlier.command, surface="click")
        log.info("question.received", extra={"question": str(question.id), "surface": "click"})
    if written is Written.TOO_MANY_OPEN:
        return await too_many_open(question, services)
    if written in {Written.THREAD_FULL, Written.THREAD_FULL_EXPLAIN}:
        return THREAD_FULL
    return DATABASE_AWAY if written is Written.NOT else None


def _past_week(earlier: QuestionRow, services: Services) -> str | None:
    """Return the text that asks the same for the past week, None if the command has no such text."""
    command = next((command for command in services.commands if command.name == earlier.command), None)
    if command is None or command.past_week is None:
        return None
    try:
        return command.past_week(earlier.text)
    except UsageError:
        return None


def _again(earlier: QuestionRow, body: dict[str, Any], services: Services, *, text: str, key: str) -> NewQuestion:
    """Return the question with this text; in a thread its answer takes the place of the message that was clicked."""
    in_thread = earlier.thread_ts is not None
    return NewQuestion(
        id=services.new_id(),
        delivery_key=f"{earlier.id}:{key}",
        again=earlier.id,
        surface=earlier.surface if in_thread else "click",
        command=earlier.command,
        text=text,
        team_id=earlier.team_id,
        channel_id=earlier.channel_id,
        user_id=earlier.user_id,
        response_url=None if in_thread else response_url(body),
        thread_ts=earlier.thread_ts,
        message_ts=_clicked(body, earlier.channel_id) if in_thread else None,
    )


def _clicked(body: dict[str, Any], channel: str) -> str | None:
    """Return the `ts` of the message with the button, unless it was sent to another conversation than this."""
    container = body.get("container")
    if not isinstance(container, dict) or container.get("channel_id") != channel:
        return None
    return str(container.get("message_ts") or "") or None
