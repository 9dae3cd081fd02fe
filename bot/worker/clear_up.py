"""Clearing up after questions that others than their workers closed: stopped, withdrawn, or asked again."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from uuid import UUID

from bot.blocks import escaping
from bot.delivery.status_message import StatusMessages
from bot.delivery.withdrawal import AnswerWithdrawal
from bot.errors import NotClearedUp
from bot.model.message import OutgoingMessage
from bot.model.question import LeftOver, QuestionRow
from bot.slack.messages import Chat, Found, LookupResult, PostResult, Retryable
from bot.storage.database import DATABASE_UNAVAILABLE
from bot.storage.questions import QuestionStore
from bot.streaming.live import GIVEN_UP, LiveAnswers

log = logging.getLogger(__name__)

FIRST_PAUSE_SECONDS = 3.0
MAX_PAUSE_SECONDS = 3600.0
GIVE_UP_SECONDS = 24 * 3600.0

CLAIMED_AND_CLOSED = 2
"""The lowest claim number of a closed question that a worker had claimed: the claim and the closing each add one."""


@dataclass(frozen=True, kw_only=True)
class ClearUp:
    """Removes the remains of a closed question, in Slack and at the services.

    These actions, not a worker, close a question, and set `uncleared_since` in the same transaction: a click on Stop,
    Slack's own stop, an edit, "Ask again", the deletion of the question's message, the erasure of its asker's data. The
    deletion of a message that was already answered sets `uncleared_since`, too. The worker that loses the question
    clears up. If no worker had claimed the question, or its worker dies, `JobQueue.recover_stalled` enqueues it again,
    and the worker that finds it closed clears up.

    - Its background runs are cancelled.
    - Its streams are ended, including one whose start got no clear reply. The streams of a withdrawn question are
      deleted. Below the streams of a stopped question, a note says that the question was stopped, unless its worker has
      already said so.
    - Its status message is deleted if the question was withdrawn, or has streams. Otherwise the message says that the
      question was stopped. A message that another question has taken over stays as it is.
    - The message of a slash command is changed in the same way, by the response_url, which is deleted afterwards.
    - The answer to a deleted message is deleted, unless the thread has other messages since the question, or may not be
      read.

    A step that Slack or a service refuses for good counts as done. If Slack or a service is unavailable or busy, all
    steps, which are safe to repeat, are repeated after a pause. The pause is as long as the time since the question was
    closed, from 3 seconds to an hour, or longer if Slack asks for it. After a day, the clear-up is given up.
    """

    questions: QuestionStore
    live: LiveAnswers
    chat: Chat
    status_messages: StatusMessages
    withdrawal: AnswerWithdrawal
    cancel_runs: Callable[[UUID], Awaitable[bool]]
    render_stopped: Callable[[QuestionRow], OutgoingMessage]

    async def clear_up(self, left: LeftOver, *, noted: bool = False) -> None:
        """Remove the remains of a question. Raises NotClearedUp if this must be tried again.

        `noted` says whether a message of the question already says that it was stopped.
        """
        row = left.row
        try:
            cancelled, _ = await asyncio.gather(self.cancel_runs(row.id), self._clear_slack(left, noted=noted))
            if not cancelled:
                raise NotClearedUp
        except Exception as error:
            broke = not isinstance(error, (NotClearedUp, *DATABASE_UNAVAILABLE))
            log.warning("question.not_cleared_up", extra=row.ids | {"error": type(error).__name__}, exc_info=broke)
            if left.seconds < GIVE_UP_SECONDS:
                asked = error.seconds if isinstance(error, NotClearedUp) else 0.0
                pause = min(max(FIRST_PAUSE_SECONDS, left.seconds), MAX_PAUSE_SECONDS)
                raise NotClearedUp(max(asked, pause)) from error
        await self.questions.cleared(left)

    async def _clear_slack(self, left: LeftOver, *, noted: bool) -> None:
        row = left.row
        if row.state not in GIVEN_UP:
            await self.withdrawal.withdraw(row)
            return
        stopped = None if row.state == "withdrawn" else escaping.sanitize_message(self.render_stopped(row))
        await self._clear_streams(row, stopped)
        if (noted and not row.streams) or left.passed_on:
            return
        if row.thread_ts is None:
            # The response_url of a question from a button below an answer would replace that answer.
            _check(await self.status_messages.replace_original(None if row.action else row.response_url, stopped))
        elif (status := await self._status_message(row)) is not None:
            if stopped is None or row.streams:
                _check(await self.chat.delete(row.channel_id, status))
            else:
                _check(await self.chat.update(row.channel_id, status, stopped))

    async def _clear_streams(self, row: QuestionRow, stopped: OutgoingMessage | None) -> None:
        if row.streaming and (await self.live.end(row)).streaming:
            raise NotClearedUp
        if stopped is None:
            for ts in row.streams:
                _check(await self.chat.delete(row.channel_id, ts))
            if row.streams and (note := await self._find(row, part=len(row.streams))) is not None:
                _check(await self.chat.delete(row.channel_id, note))
        elif row.streaming and row.streams:
            question, part = str(row.id), len(row.streams)
            _check(await self.chat.post(row.channel_id, stopped, question=question, part=part, thread_ts=row.thread_ts))

    async def _status_message(self, row: QuestionRow) -> str | None:
        """Return the `ts` of the status message, also if a worker died before recording it."""
        if row.message_ts is not None or not row.thread_ts or row.claim < CLAIMED_AND_CLOSED:
            return row.message_ts
        return await self._find(row, part=0)

    async def _find(self, row: QuestionRow, *, part: int) -> str | None:
        found = await self.chat.find(
            row.channel_id, question=str(row.id), part=part, thread_ts=row.thread_ts, since=row.received_at
        )
        _check(found)
        return found.ts if isinstance(found, Found) else None


def _check(result: PostResult | LookupResult) -> None:
    if isinstance(result, Retryable):
        raise NotClearedUp(result.seconds)
