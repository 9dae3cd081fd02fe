"""Withdrawing an answer whose question was deleted, unless someone has replied to it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from bot.errors import NotClearedUp
from bot.model.question import QuestionRow
from bot.slack.messages import Chat, PostResult, Retryable, Sent, seconds_of
from bot.slack.threads import ThreadReader
from bot.storage.database import DATABASE_UNAVAILABLE
from bot.storage.questions import QuestionStore
from bot.texts import home

log = logging.getLogger(__name__)


class Deleted(Enum):
    """Whether the messages of an answer were deleted."""

    ALL = ""
    LATER = home.NOT_DELETED_YET
    """Slack was unavailable."""

    REFUSED = home.MESSAGES_STAY


DELETE_PAUSES = (0.5, 1.0)
"""Seconds after which a message that Slack did not delete is deleted again, or later if Slack says when."""

MAX_PAUSE_SECONDS = 5.0

_GONE = frozenset({"message_not_found", "thread_not_found"})
"""Slack's errors for a message that is deleted already. https://docs.slack.dev/reference/methods/chat.delete#errors"""


@dataclass(frozen=True, kw_only=True)
class AnswerWithdrawal:
    """Withdraws answers: deletes their messages, so that they are sent with no later question."""

    questions: QuestionStore
    chat: Chat
    reader: ThreadReader
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep

    async def withdraw(self, row: QuestionRow) -> None:
        """Withdraw the answer to a question if it is the last message of its thread.

        If the thread may not be read, the answer stays. Raises NotClearedUp if Slack is unavailable.
        """
        answer = await self._find(row)
        if answer is not None:
            if await self._delete(row, answer) is Deleted.LATER:
                raise NotClearedUp
            await self.questions.withdraw_answer(row.id)

    async def delete(self, row: QuestionRow) -> str:
        """Withdraw the answer to a question, and delete all that is kept of both; raise nothing.

        Return a sentence for the asker about what is not deleted, empty without one. If Slack is unavailable, the
        question is kept, so that the asker can delete it again.
        """
        try:
            answered = await self._answered(row)
            answer = await self._find(answered) if answered is not None else None
            deleted = Deleted.ALL if not answer else await self._delete(row, answer)
            if deleted is not Deleted.LATER:
                await self.questions.delete(row.id)
            return deleted.value
        except NotClearedUp:
            return Deleted.LATER.value
        except DATABASE_UNAVAILABLE as error:
            log.warning("question.not_deleted", extra=row.ids | {"error": type(error).__name__})
            return home.DELETION_DATABASE_DOWN

    async def _find(self, row: QuestionRow) -> list[str] | None:
        """Return the `ts` of the messages of an answer; None if they are not to be deleted. Raises NotClearedUp."""
        if row.thread_ts is None:
            return None
        page = await self.reader.read(row.channel_id, row.thread_ts, since=row.asked_ts)
        if isinstance(page, Retryable):
            raise NotClearedUp(page.seconds)
        answer = find_answer(page.messages, row) if page is not None and page.complete else None
        if answer is None:
            log.info("answer.not_withdrawn", extra=row.ids | {"error": "replies" if page is not None else "not read"})
        return answer

    async def _delete(self, row: QuestionRow, answer: Sequence[str]) -> Deleted:
        """Delete the messages of an answer, each tried a few times."""
        results = [await self._delete_message(row.channel_id, ts) for ts in answer]
        errors = [one.error for one in results if not (isinstance(one, Sent) or one.error in _GONE)]
        if not errors:
            log.info("answer.withdrawn", extra=row.ids | {"parts": len(answer)})
            return Deleted.ALL
        log.warning("answer.not_withdrawn", extra=row.ids | {"error": errors[0]})
        return Deleted.LATER if any(isinstance(one, Retryable) for one in results) else Deleted.REFUSED

    async def _delete_message(self, channel: str, ts: str) -> PostResult:
        result = await self.chat.delete(channel, ts)
        for pause in DELETE_PAUSES:
            if not isinstance(result, Retryable):
                break
            await self.sleep(min(max(result.seconds or 0.0, pause), MAX_PAUSE_SECONDS))
            result = await self.chat.delete(channel, ts)
        return result

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
