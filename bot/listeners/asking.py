"""Asks a question in a new thread of the asker's direct messages; says why a question was not accepted."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any, NamedTuple
from uuid import UUID, uuid4

from bot.blocks import escaping
from bot.blocks.elements import link, section, spoken
from bot.clock import in_time
from bot.commands.base import Command
from bot.commands.help import TOO_MANY_OPEN
from bot.listeners.context import ListenerContext
from bot.model.message import OutgoingMessage
from bot.model.question import NewQuestion, Received
from bot.slack.messages import FAILURES, Sent
from bot.translation import N_
from bot.translation import gettext as _

log = logging.getLogger(__name__)

NOT_SAVED = N_("I can’t reach my database just now. Please try again in a minute.")

BEGIN_SECONDS = 1.2
"""How long Slack may take to post the message that begins the thread."""


LINK_SECONDS = 0.3
"""How long Slack may take to return the address of a message."""


class BegunThread(NamedTuple):
    """A thread that the app has begun in a direct message; `ts` is None if the same request had already begun one."""

    channel: str
    ts: str | None


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
    asked: Callable[[UUID], Coroutine[Any, Any, None]] | None = None,
) -> BegunThread | str:
    """Ask a question below `root`, a message that the app posts to a person.

    Return the thread, or a text that says why the question was not asked.

    `text` is what follows the command's name, escaped as Slack escapes what people type. `key` identifies the source of
    the question, such as a view: the same key asks only one question, but may be used again after a problem. If the
    question cannot be saved, `root` is deleted again. `parent` and `action` are as in a `NewQuestion`. `asked` is
    called with the id of the saved question, and runs in the background.
    """
    question_id = uuid4()
    beginning = asyncio.create_task(_begin_thread(context, user, root, question_id=question_id))
    await asyncio.wait({beginning}, timeout=BEGIN_SECONDS)
    begun = beginning.result() if beginning.done() else "TimeoutError"
    if isinstance(begun, str):
        log.warning("question.not_begun", extra={"command": command.name, "error": begun})
        context.start(_delete_late(context, beginning))
        return _("Slack couldn’t open our direct messages. Please try again in a minute.")
    channel, thread_ts = begun
    question = NewQuestion(
        id=question_id,
        delivery_key=f"{team}:{channel}:{key}",
        surface="im",
        command=command.name,
        text=text,
        team_id=team,
        channel_id=channel,
        user_id=user,
        thread_ts=thread_ts,
        starts_conversation=True,
        parent=parent,
        action=action,
        resubmittable=True,
    )
    received = (await context.intake.submit(question)).received
    if received is not Received.NEW:
        context.start(context.chat.delete(channel, thread_ts))
    elif asked is not None:
        context.start(asked(question_id))
    problem = await problem_of(received, question, context)
    return BegunThread(channel, thread_ts if received is Received.NEW else None) if problem is None else problem


async def link_to_messages(context: ListenerContext, thread: BegunThread) -> OutgoingMessage:
    """Render a message that says where the answer will be, with a link if Slack returns the address in time."""
    address = await in_time(context.chat.permalink(thread.channel, thread.ts), LINK_SECONDS) if thread.ts else None
    place = _("our messages")
    text = _("I’ll send it to {messages}.").format(messages=link(address, place) if address else place)
    return spoken(section(text))


_PROBLEMS = {
    Received.TOO_MANY_OPEN: TOO_MANY_OPEN,
    Received.THREAD_FULL: TOO_MANY_OPEN,
    Received.THREAD_FULL_EXPLAIN: TOO_MANY_OPEN,
    Received.FAILED: NOT_SAVED,
}


async def problem_of(received: Received, question: NewQuestion, context: ListenerContext) -> str | None:
    """Return the text that says why a question was not accepted; None if it was accepted."""
    if received in {Received.TOO_FAST, Received.TWIN}:
        return await context.intake.too_fast_text(question)
    return _(_PROBLEMS[received]) if received in _PROBLEMS else None


async def _begin_thread(
    context: ListenerContext, user: str, root: OutgoingMessage, *, question_id: UUID
) -> tuple[str, str] | str:
    """Post the first message of a thread; return its channel and `ts`, or the name of the error."""
    try:
        channel = await context.chat.open_direct_message(user)
    except FAILURES as error:
        return type(error).__name__
    posted = await context.chat.post(channel, escaping.sanitize_message(root), question=str(question_id), part=-1)
    if not isinstance(posted, Sent):
        return posted.error
    return "no_ts" if posted.ts is None else (channel, posted.ts)


async def _delete_late(context: ListenerContext, beginning: asyncio.Task[tuple[str, str] | str]) -> None:
    """Delete the first message of a thread if Slack accepted it too late."""
    begun = await beginning
    if not isinstance(begun, str):
        await context.chat.delete(*begun)
