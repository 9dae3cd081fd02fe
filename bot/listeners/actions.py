"""Clicks on the buttons of the app's messages: retry, stop, digests, a report as a file."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from slack_bolt.async_app import AsyncAck, AsyncApp

from bot.blocks.digests import ACTION_PREFIX, digest_result_message
from bot.blocks.messages import question_stopped_message
from bot.commands.base import Command
from bot.commands.help import text_message
from bot.errors import UsageError
from bot.listeners.admission import MEMBERS_ONLY
from bot.listeners.intake import ListenerContext, Submitted
from bot.listeners.messages import THREAD_FULL
from bot.listeners.slash import too_many_open
from bot.model.digest import DigestAction, DigestNotFound, DigestResult
from bot.model.membership import click_team_ids
from bot.model.message import Audience, OutgoingMessage
from bot.model.question import CHANNEL_THREADS, NewQuestion, QuestionRow
from bot.storage.database import DATABASE_UNAVAILABLE

log = logging.getLogger(__name__)

REPLY_SECONDS = 0.5

DATABASE_SECONDS = 1.6
"""How long a click waits for the database: with `REPLY_SECONDS` it is acknowledged within 2.5 of Slack's 3 seconds."""

DATABASE_DOWN = "I can’t reach my database just now. Please click again in a minute."

UNKNOWN_QUESTION = "I no longer know this question. Please ask it again."
NOT_YOURS_TO_RETRY = "Only the person who asked can try this again."

UNKNOWN_STOPPED_QUESTION = "I no longer know this question."
NOT_YOURS_TO_STOP = "Only the person who asked, or an admin, can stop this."
ADMIN_UNKNOWN = "Slack is slow just now, so I couldn’t check whether you are an admin. Please click again."
ALREADY_STOPPED = "This is already stopped."
ALREADY_FINISHED = "There’s nothing left to stop: the answer is on its way, or I’ve given up on it."

UPLOADING = "I’ll send you the report as a file, in our direct messages."
ALREADY_REQUESTED = "You asked for this file a moment ago. Look for it in our direct messages."
UPLOAD_FAILED = (
    "Slack rejected the file. Your admin can run `python -m bot doctor` to check my `files:write` permission."
)
UNKNOWN_REPORT = "I no longer know this report."
NOT_YOUR_REPORT = "Only the person who asked can get this report as a file."

PAST_WEEK = "past_week"
_RETRY_ACTIONS = re.compile(rf"retry|{PAST_WEEK}")
_DIGEST_ACTIONS = re.compile(rf"{ACTION_PREFIX}(?:{'|'.join(DigestAction)})")


def register(app: AsyncApp, context: ListenerContext) -> None:
    """Listen to every button."""
    button(app, context, _RETRY_ACTIONS, retry_question)
    button(app, context, "stop", stop_question)
    button(app, context, _DIGEST_ACTIONS, apply_digest_button)
    button(app, context, "as_file", send_report)


@dataclass(frozen=True, kw_only=True)
class Click:
    """A click on a button: Slack's request, and the part of it that is about the button."""

    body: dict[str, Any]
    action: Mapping[str, Any]

    @property
    def action_id(self) -> str:
        """The button's action."""
        return str(self.action.get("action_id", ""))

    @property
    def id(self) -> UUID | None:
        """The id of the question or digest that the button is for; None if it is malformed."""
        try:
            return UUID(str(self.action.get("value", "")))
        except ValueError:
            return None

    @property
    def user(self) -> str:
        """The id of the user who clicked."""
        return self._id("user")

    @property
    def channel(self) -> str:
        """The id of the channel."""
        return self._id("channel")

    @property
    def teams(self) -> frozenset[str]:
        """The ids of the workspaces that the click belongs to."""
        return click_team_ids(self.body)

    @property
    def response_url(self) -> str | None:
        """The address for replies to the click."""
        return str(self.body.get("response_url") or "") or None

    def is_by_asker(self, row: QuestionRow) -> bool:
        """Return whether the asker clicked, in the same workspace."""
        return row.user_id == self.user and row.team_id in self.teams

    def message_ts(self, channel: str) -> str | None:
        """Return the `ts` of the message with the button; None if it is in another channel."""
        container = self.body.get("container")
        if not isinstance(container, dict) or container.get("channel_id") != channel:
            return None
        return str(container.get("message_ts") or "") or None

    def _id(self, name: str) -> str:
        value = self.body.get(name)
        return str(value.get("id", "")) if isinstance(value, dict) else ""


@dataclass(frozen=True, kw_only=True)
class Reply:
    """The reply to a click: shown only to the user who clicked, or in place of the clicked message.

    `after` is called once the reply is sent.
    """

    message: OutgoingMessage
    replaces: bool = False
    after: Callable[[], None] = lambda: None


Handler = Callable[[Click, ListenerContext], Coroutine[Any, Any, Reply | None]]


def button(app: AsyncApp, context: ListenerContext, action: str | re.Pattern[str], handle: Handler) -> None:
    """Listen to a button: refuse outsiders, handle the click in time for its acknowledgement, and send the reply."""

    @app.action(action)
    async def on_click(ack: AsyncAck, body: dict[str, Any], action: dict[str, Any]) -> None:
        click = Click(body=body, action=action)
        reply = await _handle(click, context, handle)
        if reply is not None:
            send = context.replace_original if reply.replaces else context.reply_privately
            await _within_ack(send(click.response_url, reply.message))
            reply.after()
        await ack()


async def _handle(click: Click, context: ListenerContext, handle: Handler) -> Reply | None:
    if context.is_known_outsider(click.body, click.user):
        return _text(MEMBERS_ONLY)
    try:
        return await context.intake.within_ack_deadline(handle(click, context), seconds=DATABASE_SECONDS)
    except DATABASE_UNAVAILABLE:
        return _text(DATABASE_DOWN)


async def _within_ack(reply: Awaitable[None]) -> None:
    """Send a reply within the three seconds that the click's acknowledgement has, or not at all."""
    with suppress(TimeoutError):
        async with asyncio.timeout(REPLY_SECONDS):
            await reply


def _text(text: str) -> Reply:
    return Reply(message=text_message(text))


async def _question(click: Click, context: ListenerContext) -> QuestionRow | None:
    return await context.questions.get(click.id) if click.id is not None else None


async def retry_question(click: Click, context: ListenerContext) -> Reply | None:
    """Ask the clicked question again, for the same asker, or for a longer time; reply only if that is not possible.

    Otherwise the worker replaces the clicked message. However often the button is clicked, the question is asked once.
    """
    earlier = await _question(click, context)
    if earlier is None or not click.is_by_asker(earlier):
        log.warning("click.stale", extra={"error": "unknown question" if earlier is None else "not the asker"})
        return _text(UNKNOWN_QUESTION if earlier is None else NOT_YOURS_TO_RETRY)
    wider = click.action_id == PAST_WEEK
    text = _past_week(earlier, context) if wider else earlier.text
    if text is None:
        log.warning("click.stale", extra={"error": "no longer time"})
        return _text(UNKNOWN_QUESTION)
    question = _build_retry(earlier, click, context, text=text, key=PAST_WEEK if wider else "retry")
    submitted = await context.intake.submit(question)
    if submitted is Submitted.NEW:
        # If the earlier answer is still in progress, it is no longer needed.
        context.cancel_runs(earlier.id)
        context.metrics.received(command=earlier.command, surface="click")
        log.info("question.received", extra={"question": str(question.id), "surface": "click"})
    return await _refusal(submitted, question, context)


async def _refusal(submitted: Submitted, question: NewQuestion, context: ListenerContext) -> Reply | None:
    """Return why a question was not saved; None if it was."""
    match submitted:
        case Submitted.NEW | Submitted.DUPLICATE:
            return None
        case Submitted.TOO_MANY_OPEN:
            return Reply(message=await too_many_open(question, context))
        case Submitted.THREAD_FULL | Submitted.THREAD_FULL_EXPLAIN:
            return _text(THREAD_FULL)
        case Submitted.FAILED:
            return _text(DATABASE_DOWN)


def _past_week(earlier: QuestionRow, context: ListenerContext) -> str | None:
    """Return the text that asks the same for the past week; None if the command has no such text."""
    command = _command_of(earlier, context.commands)
    if command is None or command.past_week is None:
        return None
    try:
        return command.past_week(earlier.text)
    except UsageError:
        return None


def _build_retry(earlier: QuestionRow, click: Click, context: ListenerContext, *, text: str, key: str) -> NewQuestion:
    """Return the question with this text; in a thread its answer replaces the clicked message."""
    in_thread = earlier.thread_ts is not None
    return NewQuestion(
        id=context.new_id(),
        delivery_key=f"{earlier.id}:{key}",
        again=earlier.id,
        surface=earlier.surface if in_thread else "click",
        command=earlier.command,
        text=text,
        team_id=earlier.team_id,
        channel_id=earlier.channel_id,
        user_id=earlier.user_id,
        response_url=None if in_thread else click.response_url,
        thread_ts=earlier.thread_ts,
        message_ts=click.message_ts(earlier.channel_id) if in_thread else None,
    )


async def stop_question(click: Click, context: ListenerContext) -> Reply | None:
    """Close the question as stopped, for its asker or an admin, and cancel its runs. Its worker ends the rest."""
    row = await _question(click, context)
    if row is None:
        return _text(UNKNOWN_STOPPED_QUESTION)
    if refusal := await _why_not_stopped(row, click, context):
        return _text(refusal)
    if not await context.questions.stop(row.id, user_id=row.user_id):
        if row.state != "stopped":
            return _text(ALREADY_FINISHED)
        # The reply to the first click may have been lost, and with it the cancellation of the runs.
        context.cancel_runs(row.id)
        return _text(ALREADY_STOPPED)
    context.cancel_runs(row.id)
    context.metrics.settled(command=row.command, state="stopped")
    log.info("question.stopped", extra={"question": str(row.id), "command": row.command})
    if row.shown:  # the worker keeps the text that is there, and says below it that it was stopped
        return None
    command = _command_of(row, context.commands)
    text = command.parse_question_text(row.text) if command is not None else ""
    return Reply(message=question_stopped_message(text, question_id=str(row.id)), replaces=True)


async def _why_not_stopped(row: QuestionRow, click: Click, context: ListenerContext) -> str | None:
    """Return why the person who clicked may not stop a question; None if they may."""
    if click.is_by_asker(row):
        return None
    try:
        is_admin = row.team_id in click.teams and await context.is_admin_in_time(click.user)
    except TimeoutError:
        return ADMIN_UNKNOWN
    return None if is_admin else NOT_YOURS_TO_STOP


async def apply_digest_button(click: Click, context: ListenerContext) -> Reply:
    """Apply a digest's button and reply with the result."""
    result = await _apply_digest_button(click, context)
    message = digest_result_message(result, command=context.digests.command_label, channel=click.channel)
    return Reply(message=message)


async def _apply_digest_button(click: Click, context: ListenerContext) -> DigestResult:
    if click.id is None:
        return DigestNotFound()
    digest_action = DigestAction(click.action_id.removeprefix(ACTION_PREFIX))
    by = str(click.action.get("action_ts", ""))
    result = await context.digests.apply_button(digest_action, click.id, user_id=click.user, teams=click.teams, by=by)
    log.info("digest.clicked", extra={"digest": str(click.id), "state": type(result).__name__})
    return result


async def send_report(click: Click, context: ListenerContext) -> Reply:
    """Send the report of a question as a file, in the background, to the user who clicked."""
    row = await _question(click, context)
    if row is None:
        return _text(UNKNOWN_REPORT)
    if not _may_download(row, click, context.commands):
        return _text(NOT_YOUR_REPORT)
    report = await context.load_report(row.id)
    if report is None:
        return _text(UNKNOWN_REPORT)
    if not await context.request_file(row.id, click.user):
        return _text(ALREADY_REQUESTED)

    async def report_failure(text: str) -> None:
        with suppress(*DATABASE_UNAVAILABLE):
            await context.forget_file(row.id, click.user)
        await context.reply_privately(click.response_url, text_message(text))

    def upload() -> None:
        context.upload_report(
            report,
            click.user,
            on_failure=lambda: report_failure(UPLOAD_FAILED),
            on_refusal=lambda: report_failure(MEMBERS_ONLY),
        )

    return Reply(message=text_message(UPLOADING), after=upload)


def _may_download(row: QuestionRow, click: Click, commands: Sequence[Command[Any, Any]]) -> bool:
    """Return whether the user may get the report of a question: the asker, or anyone in a channel that shows it."""
    here = row.team_id in click.teams and row.channel_id == click.channel
    return click.is_by_asker(row) or (here and _is_public(row, commands))


def _is_public(row: QuestionRow, commands: Sequence[Command[Any, Any]]) -> bool:
    if row.surface not in {"slash", "click"}:
        return row.surface in CHANNEL_THREADS
    command = _command_of(row, commands)
    try:
        return command is not None and command.audience(command.parse(row.text)) is Audience.CHANNEL
    except UsageError:
        return False


def _command_of(row: QuestionRow, commands: Sequence[Command[Any, Any]]) -> Command[Any, Any] | None:
    return next((command for command in commands if command.name == row.command), None)
