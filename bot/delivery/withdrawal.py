"""Withdraws an answer whose question was deleted, unless the thread has other messages since the question."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from bot.delivery.status_message import delete
from bot.errors import NotClearedUp
from bot.model.question import QuestionRow
from bot.slack.messages import Chat, Retryable, Sent, seconds_of
from bot.slack.threads import ThreadReader
from bot.storage.database import DATABASE_UNAVAILABLE
from bot.storage.questions import QuestionStore
from bot.translation import N_
from bot.translation import gettext as _

log = logging.getLogger(__name__)


class Deleted(Enum):
    """The result of deleting the messages of an answer."""

    ALL = ""
    LATER = N_("Slack didn’t delete my messages just now, so I kept the question. Please delete it again in a minute.")
    """Slack was unavailable."""

    REFUSED = N_(
        "I deleted the question, but my messages in its thread stay: "
        "Slack doesn’t let me read the thread, or delete them."
    )
    """Slack does not let the app read the thread, or delete the messages."""


_GONE = frozenset({"message_not_found", "thread_not_found"})
"""Slack's errors for a message that is already deleted. https://docs.slack.dev/reference/methods/chat.delete#errors"""


@dataclass(frozen=True, kw_only=True)
class AnswerWithdrawal:
    """Withdraws answers: deletes their messages, and excludes them from later questions."""

    questions: QuestionStore
    chat: Chat
    reader: ThreadReader

    async def withdraw(self, row: QuestionRow) -> None:
        """Withdraw the answer to a question, unless the thread has other messages since the question.

        If the thread may not be read, the answer stays. Raises NotClearedUp if Slack is unavailable.
        """
        answer = await self._find(row)
        if not isinstance(answer, Deleted):
            if await self._delete(row, answer) is Deleted.LATER:
                raise NotClearedUp
            await self.questions.withdraw_answer(row.id)

    async def delete(self, row: QuestionRow) -> str:
        """Withdraw the answer to a question, and delete all that is saved of question and answer. Raises nothing.

        Return a sentence for the asker about the parts that remain, or an empty string. If Slack or the database is
        unavailable, the question is kept, so that the asker can delete it again.
        """
        try:
            answer = await self._find(row)
            deleted = answer if isinstance(answer, Deleted) else await self._delete(row, answer)
            if deleted is not Deleted.LATER:
                await self.questions.delete(row.id)
            return _(deleted.value)
        except NotClearedUp:
            return _(Deleted.LATER.value)
        except DATABASE_UNAVAILABLE as error:
            log.warning("question.not_deleted", extra=row.ids | {"error": type(error).__name__})
            return _("I can’t reach my database just now, so I kept the question. Please delete it again in a minute.")

    async def _find(self, row: QuestionRow) -> list[str] | Deleted:
        """Return the `ts` of the messages to delete; if none is to be deleted, the result for the asker instead.

        Raises NotClearedUp if Slack is unavailable.
        """
        if row.thread_ts is None:
            return Deleted.ALL
        page = await self.reader.read(row.channel_id, row.thread_ts, since=row.asked_after)
        if isinstance(page, Retryable):
            raise NotClearedUp(page.seconds)
        answer = find_answer(page.messages, row) if page is not None and page.complete else None
        if answer is None:
            log.info("answer.not_withdrawn", extra=row.ids | {"error": "replies" if page is not None else "not read"})
            return Deleted.REFUSED if page is None else Deleted.ALL
        return answer

    async def _delete(self, row: QuestionRow, answer: Sequence[str]) -> Deleted:
        """Delete the messages of an answer, each with a few attempts."""
        results = [await delete(self.chat, row.channel_id, ts) for ts in answer]
        errors = [one.error for one in results if not (isinstance(one, Sent) or one.error in _GONE)]
        if not errors:
            log.info("answer.withdrawn", extra=row.ids | {"parts": len(answer)})
            return Deleted.ALL
        log.warning("answer.not_withdrawn", extra=row.ids | {"error": errors[0]})
        return Deleted.LATER if any(isinstance(one, Retryable) for one in results) else Deleted.REFUSED


def find_answer(messages: Sequence[Mapping[str, Any]], row: QuestionRow) -> list[str] | None:
    """Return the `ts` of the app's messages for a question, the last first; None if other messages followed."""
    own = [str(message["ts"]) for message in messages if _belongs_to(message, row)]
    # The earliest of the app's messages may begin the thread: for a question from a form, the app posts this message.
    began = min(map(seconds_of, [row.asked_ts, *own]))
    others = [ts for message in messages if (ts := message.get("ts")) not in own and seconds_of(ts) > began]
    return None if others else own[::-1]


def _belongs_to(message: Mapping[str, Any], row: QuestionRow) -> bool:
    metadata = message.get("metadata")
    payload = metadata.get("event_payload") if isinstance(metadata, Mapping) else None
    named = payload.get("question") if isinstance(payload, Mapping) else None
    return message["ts"] in {row.message_ts, *row.streams} or named == str(row.id)
