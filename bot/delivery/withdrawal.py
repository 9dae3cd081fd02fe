"""Withdrawing an answer whose question was deleted, unless someone has replied to it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bot.model.question import QuestionRow
from bot.slack.messages import Chat, seconds_of
from bot.slack.threads import ThreadReader
from bot.storage.database import DATABASE_UNAVAILABLE
from bot.storage.questions import QuestionStore

log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class AnswerWithdrawal:
    """Withdraws answers: deletes their messages, so that they go along with no later question either."""

    questions: QuestionStore
    chat: Chat
    reader: ThreadReader
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep

    async def withdraw(self, row: QuestionRow) -> None:
        """Withdraw the answer to a question if it is the last message of its thread; raise nothing.

        If the thread cannot be read, the answer stays.
        """
        try:
            if (answered := await self._answered(row)) is not None:
                await self._withdraw(answered)
        except DATABASE_UNAVAILABLE as error:
            log.warning("answer.not_withdrawn", extra=row.ids | {"error": type(error).__name__})

    async def delete(self, row: QuestionRow) -> None:
        """Withdraw the answer to a question, and delete all that is kept of both; raise nothing."""
        await self.withdraw(row)
        try:
            await self.questions.delete(row.id)
        except DATABASE_UNAVAILABLE as error:
            log.warning("question.not_deleted", extra=row.ids | {"error": type(error).__name__})

    async def _withdraw(self, row: QuestionRow) -> None:
        if row.thread_ts is None:
            return
        page = await self.reader.read(row.channel_id, row.thread_ts, since=row.asked_ts)
        answer = find_answer(page.messages, row) if page is not None and page.complete else None
        if answer is None or not await self.questions.withdraw_answer(row.id):
            log.info("answer.not_withdrawn", extra=row.ids | {"error": "replies" if page is not None else "not read"})
            return
        for ts in answer:
            await self.chat.delete(row.channel_id, ts)
        log.info("answer.withdrawn", extra=row.ids | {"parts": len(answer)})

    async def _answered(self, row: QuestionRow) -> QuestionRow | None:
        """Return an answered question once its answer is posted, None if it has another end."""
        for pause in LOOK_PAUSES:
            current = await self.questions.get(row.id)
            if current is None or current.settled:
                return current if current is not None and current.state == "answered" else None
            await self.sleep(pause)
        return None


LOOK_PAUSES = (0.5,) * 20
"""Seconds after which a question is looked at again whose answer is being posted."""


def find_answer(messages: Sequence[Mapping[str, Any]], row: QuestionRow) -> list[str] | None:
    """Return the `ts` of the messages that answer a question; None if another one came after the question."""
    later = [message for message in messages if seconds_of(message.get("ts")) > seconds_of(row.asked_ts)]
    answer = [str(message["ts"]) for message in later if _belongs_to(message, row)]
    return answer if len(answer) == len(later) else None


def _belongs_to(message: Mapping[str, Any], row: QuestionRow) -> bool:
    metadata = message.get("metadata")
    payload = metadata.get("event_payload") if isinstance(metadata, Mapping) else None
    named = payload.get("question") if isinstance(payload, Mapping) else None
    return message["ts"] in {row.message_ts, *row.streams} or named == str(row.id)
