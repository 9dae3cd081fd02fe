"""Clicks in: Try again asks the same question again, Past week for a longer time, however often they are clicked."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Awaitable, Sequence
from contextlib import suppress
from typing import Any
from uuid import UUID

from slack_bolt.async_app import AsyncAck, AsyncApp

from bot.blocks.deepdive import question_stopped_message
from bot.blocks.digests import ACTION_PREFIX, digest_result_message
from bot.commands.base import Command
from bot.commands.help import text_message
from bot.errors import UsageError
from bot.listeners.admission import MEMBERS_ONLY
from bot.listeners.intake import Journal, Services, Written
from bot.listeners.messages import THREAD_FULL
from bot.listeners.slash import too_many_open
from bot.model.digest import DigestAction, DigestNotFound, DigestResult, DigestService
from bot.model.membership import click_team_ids
from bot.model.message import Audience, OutgoingMessage
from bot.storage.database import DATABASE_UNAVAILABLE
from bot.storage.questions import NewQuestion, QuestionRow
from perplexity.deepdive.types import DeepDive

log = logging.getLogger(__name__)


DATABASE_DOWN = "I can’t reach my database just now. Please click again in a minute."

REPLY_SECONDS = 0.5

DATABASE_SECONDS = 1.6
"""How long a click waits for the database: with `REPLY_SECONDS` it is acknowledged within 2.5 of Slack's 3 seconds."""


def user_of(body: dict[str, Any]) -> str:
    """Return the id of who clicked."""
    return _id(body, "user")


def channel_of(body: dict[str, Any]) -> str:
    """Return the id of the channel that was clicked in."""
    return _id(body, "channel")


def response_url(body: dict[str, Any]) -> str | None:
    """Return the address at which the click can be answered."""
    return str(body.get("response_url") or "") or None


def is_by_asker(row: QuestionRow, body: dict[str, Any]) -> bool:
    """Return whether the asker clicked, in the same workspace."""
    return row.user_id == user_of(body) and row.team_id in click_team_ids(body)


async def reject_outsider(body: dict[str, Any], services: Services) -> bool:
    """Return whether the clicker is known to be an outsider, and tell them if so."""
    outsider = services.knows_outsider(body, user_of(body))
    if outsider:
        await within_ack(services.tell(response_url(body), text_message(MEMBERS_ONLY)))
    return outsider


async def within_ack(saying: Awaitable[None]) -> None:
    """Say something within the three seconds that the click's acknowledgement has, or not at all."""
    with suppress(TimeoutError):
        async with asyncio.timeout(REPLY_SECONDS):
            await saying


def _id(body: dict[str, Any], name: str) -> str:
    value = body.get(name)
    return str(value.get("id", "")) if isinstance(value, dict) else ""


UPLOADING = "The report comes to you as a file, in our direct messages."
ALREADY_REQUESTED = "You asked for this file a moment ago. Look for it in our direct messages."
UPLOAD_FAILED = (
    "Slack rejected the file. Your admin can run `python -m bot doctor` to check my `files:write` permission."
)
UNKNOWN_REPORT = "I no longer know this report."
NOT_YOUR_REPORT = "Only the person who asked can get this report as a file."


def register_report_files(app: AsyncApp, services: Services) -> None:
    """Listen to the button below a report."""

    @app.action("as_file")
    async def as_file(ack: AsyncAck, body: dict[str, Any], action: dict[str, Any]) -> None:
        if not await reject_outsider(body, services):
            await _answer(str(action.get("value", "")), body, services)
        await ack()


async def _answer(value: str, body: dict[str, Any], services: Services) -> None:
    url, user = response_url(body), user_of(body)
    report = await load_requested_report(value, body, services)
    if isinstance(report, str):
        await within_ack(services.tell(url, text_message(report)))
        return

    async def failed(sentence: str) -> None:
        with suppress(*DATABASE_UNAVAILABLE):
            await services.forget_file(UUID(value), user)
        await services.tell(url, text_message(sentence))

    await within_ack(services.tell(url, text_message(UPLOADING)))
    services.send_file(report, user, sorry=lambda: failed(UPLOAD_FAILED), refused=lambda: failed(MEMBERS_ONLY))


async def load_requested_report(value: str, body: dict[str, Any], services: Services) -> DeepDive | str:
    """Return the report of a button, or what to say if the clicker cannot have it."""
    try:
        question_id = UUID(value)
    except ValueError:
        return UNKNOWN_REPORT
    try:
        return await services.journal.in_time(
            _load_requested_report(question_id, body, services), seconds=DATABASE_SECONDS
        )
    except DATABASE_UNAVAILABLE:
        return DATABASE_DOWN


async def _load_requested_report(question_id: UUID, body: dict[str, Any], services: Services) -> DeepDive | str:
    row = await services.questions.get(question_id)
    if row is None:
        return UNKNOWN_REPORT
    if not may_download(row, body, services.commands):
        return NOT_YOUR_REPORT
    report = await services.report_of(question_id)
    if report is None:
        return UNKNOWN_REPORT
    return report if await services.want_file(question_id, user_of(body)) else ALREADY_REQUESTED


def may_download(row: QuestionRow, body: dict[str, Any], commands: Sequence[Command[Any, Any]]) -> bool:
    """Return whether the clicker may have the report of a question as a file.

    The asker may, and so may everyone who clicks in a conversation where all can read it.
    """
    here = row.team_id in click_team_ids(body) and row.channel_id == channel_of(body)
    return is_by_asker(row, body) or (here and _is_public(row, commands))


def _is_public(row: QuestionRow, commands: Sequence[Command[Any, Any]]) -> bool:
    if row.surface not in {"slash", "click"}:
        return row.surface == "mention"
    command = next((one for one in commands if one.name == row.command), None)
    try:
        return command is not None and command.audience(command.parse(row.text)) is Audience.CHANNEL
    except UsageError:
        return False


_DIGEST_ACTIONS = re.compile(rf"{ACTION_PREFIX}(?:{'|'.join(DigestAction)})")


def register_digest_buttons(app: AsyncApp, services: Services) -> None:
    """Listen to the buttons that a digest carries."""

    @app.action(_DIGEST_ACTIONS)
    async def clicked(ack: AsyncAck, body: dict[str, Any], action: dict[str, Any]) -> None:
        if not await reject_outsider(body, services):
            message = await apply_digest_button(body, action, journal=services.journal, watching=services.watching)
            await within_ack(services.tell(response_url(body), message))
        await ack()


async def apply_digest_button(
    body: dict[str, Any], action: dict[str, Any], *, journal: Journal, watching: DigestService
) -> OutgoingMessage:
    """Do what the button is for, and return what to say about it."""
    try:
        reply = await journal.in_time(_apply_digest_button(body, action, watching), seconds=DATABASE_SECONDS)
    except DATABASE_UNAVAILABLE:
        return text_message(DATABASE_DOWN)
    return digest_result_message(reply, command=watching.command_label, channel=channel_of(body))


async def _apply_digest_button(body: dict[str, Any], action: dict[str, Any], watching: DigestService) -> DigestResult:
    try:
        digest_id = UUID(str(action.get("value", "")))
    except ValueError:
        return DigestNotFound()
    verb = DigestAction(str(action.get("action_id", "")).removeprefix(ACTION_PREFIX))
    by = str(action.get("action_ts", ""))
    reply = await watching.apply_button(verb, digest_id, user_id=user_of(body), teams=click_team_ids(body), by=by)
    log.info("digest.clicked", extra={"digest": str(digest_id), "state": type(reply).__name__})
    return reply


PAST_WEEK = "past_week"
_RETRY_ACTIONS = re.compile(rf"retry|{PAST_WEEK}")

UNKNOWN_QUESTION = "I no longer know this question. Please ask it again."
NOT_YOURS_TO_RETRY = "Only the person who asked can have this asked again."


def register_retry(app: AsyncApp, services: Services) -> None:
    """Listen to the buttons that the app's messages carry."""

    @app.action(_RETRY_ACTIONS)
    async def asked_again(ack: AsyncAck, body: dict[str, Any], action: dict[str, Any]) -> None:
        if not await reject_outsider(body, services) and (problem := await retry_question(body, action, services)):
            message = text_message(problem) if isinstance(problem, str) else problem
            await within_ack(services.tell(response_url(body), message))
        await ack()


async def retry_question(
    body: dict[str, Any], action: dict[str, Any], services: Services
) -> str | OutgoingMessage | None:
    """Ask the clicked question again, for the same asker; return what to say if that cannot be done.

    The click itself is answered by the worker, which says in the message's place that it is searching.
    """
    try:
        question_id = UUID(str(action.get("value", "")))
    except ValueError:
        return UNKNOWN_QUESTION
    try:
        work = _retry_question(question_id, body, services, wider=action.get("action_id") == PAST_WEEK)
        return await services.journal.in_time(work, seconds=DATABASE_SECONDS)
    except DATABASE_UNAVAILABLE:
        return DATABASE_DOWN


async def _retry_question(
    question_id: UUID, body: dict[str, Any], services: Services, *, wider: bool
) -> str | OutgoingMessage | None:
    earlier = await services.questions.get(question_id)
    if earlier is None or not is_by_asker(earlier, body):
        log.warning("click.stale", extra={"error": "unknown question" if earlier is None else "not the asker"})
        return UNKNOWN_QUESTION if earlier is None else NOT_YOURS_TO_RETRY
    text = _past_week(earlier, services) if wider else earlier.text
    if text is None:
        log.warning("click.stale", extra={"error": "no longer time"})
        return UNKNOWN_QUESTION
    question = _build_retry(earlier, body, services, text=text, key="past_week" if wider else "retry")
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
    return DATABASE_DOWN if written is Written.NOT else None


def _past_week(earlier: QuestionRow, services: Services) -> str | None:
    """Return the text that asks the same for the past week, None if the command has no such text."""
    command = next((command for command in services.commands if command.name == earlier.command), None)
    if command is None or command.past_week is None:
        return None
    try:
        return command.past_week(earlier.text)
    except UsageError:
        return None


def _build_retry(earlier: QuestionRow, body: dict[str, Any], services: Services, *, text: str, key: str) -> NewQuestion:
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
        message_ts=_message_ts(body, earlier.channel_id) if in_thread else None,
    )


def _message_ts(body: dict[str, Any], channel: str) -> str | None:
    """Return the `ts` of the message with the button, unless it was sent to another conversation than this."""
    container = body.get("container")
    if not isinstance(container, dict) or container.get("channel_id") != channel:
        return None
    return str(container.get("message_ts") or "") or None


UNKNOWN_STOPPED_QUESTION = "I no longer know this question."
NOT_YOURS_TO_STOP = "Only the person who asked can stop this."
ALREADY_STOPPED = "This was stopped already."
ALREADY_FINISHED = "There is nothing to stop any more: the answer is on its way, or was given up."


def register_stop(app: AsyncApp, services: Services) -> None:
    """Listen to the button that stands below what is under way."""

    @app.action("stop")
    async def stop(ack: AsyncAck, body: dict[str, Any], action: dict[str, Any]) -> None:
        if not await reject_outsider(body, services):
            url = response_url(body)
            result = await stop_question(str(action.get("value", "")), body, services)
            if isinstance(result, str):
                await within_ack(services.tell(url, text_message(result)))
            else:
                await within_ack(services.replace(url, result))
        await ack()


async def stop_question(value: str, body: dict[str, Any], services: Services) -> OutgoingMessage | str:
    """Close the question as stopped and cancel its runs; return what replaces its message, or why that failed."""
    try:
        question_id = UUID(value)
    except ValueError:
        return UNKNOWN_STOPPED_QUESTION
    try:
        return await services.journal.in_time(_stop_question(question_id, body, services), seconds=DATABASE_SECONDS)
    except DATABASE_UNAVAILABLE:
        return DATABASE_DOWN


async def _stop_question(question_id: UUID, body: dict[str, Any], services: Services) -> OutgoingMessage | str:
    row = await services.questions.get(question_id)
    if row is None or not is_by_asker(row, body):
        return UNKNOWN_STOPPED_QUESTION if row is None else NOT_YOURS_TO_STOP
    if not await services.questions.stop(question_id, user_id=user_of(body)):
        if row.state != "stopped":
            return ALREADY_FINISHED
        # The reply to the stop that did it may have been lost, and with it the end of the runs.
        services.end_runs(question_id)
        return ALREADY_STOPPED
    services.end_runs(question_id)
    services.metrics.settled(command=row.command, state="stopped")
    log.info("question.stopped", extra={"question": str(question_id), "command": row.command})
    return question_stopped_message(_question_text(row, services), question_id=str(question_id))


def _question_text(row: QuestionRow, services: Services) -> str:
    command = next((command for command in services.commands if command.name == row.command), None)
    return command.parse_question_text(row.text) if command is not None else ""
