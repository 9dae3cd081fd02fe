"""Asks a question that no message asked: the app begins a thread in the direct message, and answers there."""

from __future__ import annotations

import logging
from typing import Any
from uuid import UUID

from bot.blocks import escaping
from bot.commands.base import Command
from bot.commands.help import TOO_MANY_QUESTIONS
from bot.listeners.intake import ListenerContext, Submitted
from bot.model.message import OutgoingMessage
from bot.model.question import NewQuestion
from bot.slack.messages import FAILURES, Sent

log = logging.getLogger(__name__)

NOT_BEGUN = "Slack couldn’t open our direct messages. Please try again in a minute."
NOT_SAVED = "I can’t reach my database just now. Please try again in a minute."


async def ask_in_direct_message(
    context: ListenerContext,
    *,
    user: str,
    team: str,
    key: str,
    command: Command[Any, Any],
    text: str,
    root: OutgoingMessage,
    parent: UUID | None = None,
    action: str = "",
) -> str | None:
    """Ask a question below `root`, a message that the app posts to a person; return a problem for the person, or None.

    `text` is the command's, escaped as Slack escapes what people type. `key` names what asked, such as a view: the same
    key asks once. If the question cannot be saved, the message is deleted again. `parent` and `action` are as in a
    `NewQuestion`.
    """
    try:
        channel = await context.chat.open_direct_message(user)
    except FAILURES as error:
        log.warning("question.not_begun", extra={"command": command.name, "error": type(error).__name__})
        return NOT_BEGUN
    question_id = context.new_id()
    posted = await context.chat.post(channel, escaping.sanitize_message(root), question=str(question_id), part=-1)
    if not isinstance(posted, Sent) or posted.ts is None:
        error_name = "no ts" if isinstance(posted, Sent) else posted.error
        log.warning("question.not_begun", extra={"command": command.name, "error": error_name})
        return NOT_BEGUN
    question = NewQuestion(
        id=question_id,
        delivery_key=f"{team}:{channel}:{key}",
        surface="im",
        command=command.name,
        text=text,
        team_id=team,
        channel_id=channel,
        user_id=user,
        thread_ts=posted.ts,
        starts_conversation=True,
        parent=parent,
        action=action,
    )
    submitted = await context.intake.submit(question)
    if submitted is Submitted.NEW:
        context.metrics.received(command=command.name, surface="im")
        extra = {"question": str(question.id), "command": command.name, "surface": "im", "chars": len(text)}
        log.info("question.received", extra=extra)
        return None
    context.start(_delete(context, channel, posted.ts))
    if submitted is Submitted.DUPLICATE:
        return None
    return NOT_SAVED if submitted is Submitted.FAILED else TOO_MANY_QUESTIONS


async def _delete(context: ListenerContext, channel: str, ts: str) -> None:
    await context.chat.delete(channel, ts)
