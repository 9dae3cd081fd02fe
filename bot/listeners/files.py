"""Handles clicks on "Get as a file": sends the report as a direct message if the clicker may have it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any
from uuid import UUID

from slack_bolt.async_app import AsyncAck, AsyncApp

from bot.admission import MEMBERS_ONLY
from bot.blocks.base import Audience
from bot.commands.base import Command
from bot.commands.notices import notice_message
from bot.errors import UsageError
from bot.listeners.clicks import (
    DATABASE_AWAY,
    DATABASE_SECONDS,
    channel_of,
    clicker,
    is_askers,
    response_url,
    said_in_time,
    turned_away,
)
from bot.listeners.services import Services
from bot.membership import clicked_in
from bot.storage.patience import AWAY
from bot.storage.questions import QuestionRow
from perplexity.news.deepdive_types import DeepDive

COMING = "The report comes to you as a file, in our direct messages."
ON_ITS_WAY = "You asked for this file a moment ago. Look for it in our direct messages."
NOT_SENT = "Slack rejected the file. Your admin can run `python -m bot doctor` to check my `files:write` permission."
UNKNOWN = "I no longer know this report."
SOMEBODY_ELSE_S = "Only the person who asked can get this report as a file."


def register(app: AsyncApp, services: Services) -> None:
    """Listen to the button below a report."""

    @app.action("as_file")
    async def as_file(ack: AsyncAck, body: dict[str, Any], action: dict[str, Any]) -> None:
        if not await turned_away(body, services):
            await _answer(str(action.get("value", "")), body, services)
        await ack()


async def _answer(value: str, body: dict[str, Any], services: Services) -> None:
    url, user = response_url(body), clicker(body)
    report = await wanted(value, body, services)
    if isinstance(report, str):
        await said_in_time(services.tell(url, notice_message(report)))
        return

    async def failed(sentence: str) -> None:
        with suppress(*AWAY):
            await services.forget_file(UUID(value), user)
        await services.tell(url, notice_message(sentence))

    await said_in_time(services.tell(url, notice_message(COMING)))
    services.send_file(report, user, sorry=lambda: failed(NOT_SENT), refused=lambda: failed(MEMBERS_ONLY))


async def wanted(value: str, body: dict[str, Any], services: Services) -> DeepDive | str:
    """Return the report of a button, or what to say if the clicker cannot have it."""
    try:
        question_id = UUID(value)
    except ValueError:
        return UNKNOWN
    try:
        return await services.journal.in_time(_wanted(question_id, body, services), seconds=DATABASE_SECONDS)
    except AWAY:
        return DATABASE_AWAY


async def _wanted(question_id: UUID, body: dict[str, Any], services: Services) -> DeepDive | str:
    row = await services.questions.get(question_id)
    if row is None:
        return UNKNOWN
    if not may_have(row, body, services.commands):
        return SOMEBODY_ELSE_S
    report = await services.report_of(question_id)
    if report is None:
        return UNKNOWN
    return report if await services.want_file(question_id, clicker(body)) else ON_ITS_WAY


def may_have(row: QuestionRow, body: dict[str, Any], commands: Sequence[Command[Any, Any]]) -> bool:
    """Return whether the clicker may have the report of a question as a file.

    The asker may, and so may everyone who clicks in a conversation where all can read it.
    """
    here = row.team_id in clicked_in(body) and row.channel_id == channel_of(body)
    return is_askers(row, body) or (here and _read_by_all(row, commands))


def _read_by_all(row: QuestionRow, commands: Sequence[Command[Any, Any]]) -> bool:
    if row.surface not in {"slash", "click"}:
        return row.surface == "mention"
    command = next((one for one in commands if one.name == row.command), None)
    try:
        return command is not None and command.audience(command.parse(row.text)) is Audience.CHANNEL
    except UsageError:
        return False
