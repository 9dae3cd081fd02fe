"""Posts, replaces and deletes the messages around an answer: pending messages, progress and short notices."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from time import monotonic

from bot.blocks import escaping
from bot.blocks.messages import without_blocks
from bot.delivery.delivery import ClaimLost, response_url_usable
from bot.model.message import Audience, OutgoingMessage
from bot.model.question import QuestionRow
from bot.slack.messages import (
    Chat,
    Found,
    LookupForbidden,
    LookupResult,
    NotFound,
    PostResult,
    Rejected,
    ResponseUrls,
    Retryable,
    Sent,
    has_arrived,
    is_slack_url,
)
from bot.storage.database import DATABASE_UNAVAILABLE
from bot.storage.questions import DatabaseRetry, QuestionStore
from perplexity.errors import RequestCancelled

log = logging.getLogger(__name__)

MAX_ATTEMPTS = 3
MAX_PAUSE_SECONDS = 2.0
"""The longest pause before another attempt; if Slack asks for a longer one, the answer gets no pending message."""


DELETE_TRIES = 6
MAX_DELETE_PAUSE_SECONDS = 10.0
"""The longest pause before another attempt to delete a message.

A message that is not deleted stays for good, and may say that the app is still searching.
"""


async def delete(chat: Chat, channel: str, ts: str) -> PostResult:
    """Delete a message of the app, with up to `DELETE_TRIES` attempts while Slack is busy or unavailable."""
    return await _until_deleted(lambda: chat.delete(channel, ts))


async def _until_deleted(delete: Callable[[], Awaitable[PostResult]]) -> PostResult:
    for _ in range(DELETE_TRIES):
        result = await delete()
        if not isinstance(result, Retryable):
            break
        await asyncio.sleep(min(result.seconds or 1.0, MAX_DELETE_PAUSE_SECONDS))
    return result


@dataclass(frozen=True, kw_only=True)
class StatusMessages:
    """Posts pending messages and notices; `clock` is monotonic."""

    questions: QuestionStore
    database_retry: DatabaseRetry
    chat: Chat
    response_urls: ResponseUrls
    slack_api_url: str
    clock: Callable[[], float] = monotonic
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep

    async def post_pending(self, row: QuestionRow, message: OutgoingMessage) -> QuestionRow:
        """Post the pending message that a listener could not post, and return the updated row.

        In a thread, the answer replaces this message; after a click, the message replaces the one with the button. A
        question asked by a button below an answer gets no pending message, because the click has been replied to and
        the new answer comes below the old one. Raises ClaimLost if another worker took over.
        """
        message = escaping.sanitize_message(message)
        if row.thread_ts is not None:
            return await self._post_pending_in_thread(row, message)
        if row.action or row.redeliveries or row.response_url is None or not self.may_use_response_url(row):
            return row
        used = replace(row, response_uses=row.response_uses + 1)
        await self._mark_sending(used)
        result = await self.response_urls.post(row.response_url, message, audience=Audience.ASKER, replace=True)
        return row if isinstance(result, Retryable) and not result.maybe_posted else used

    async def reply_privately(self, url: str | None, message: OutgoingMessage) -> None:
        """Show a message to the person who clicked, next to the clicked message; tried once."""
        if url is not None and is_slack_url(url, slack_api_url=self.slack_api_url):
            await self.response_urls.post(
                url, escaping.sanitize_message(message), audience=Audience.ASKER, replace=False
            )

    async def replace_original(self, url: str | None, message: OutgoingMessage | None) -> PostResult:
        """Replace the message that a response_url belongs to; delete it if `message` is None. Tried once."""
        if url is None or not is_slack_url(url, slack_api_url=self.slack_api_url):
            return Sent()
        if message is None:
            return await self.response_urls.delete_original(url)
        return await self.response_urls.post(
            url, escaping.sanitize_message(message), audience=Audience.ASKER, replace=True
        )

    async def post_in_thread(self, channel: str, thread_ts: str, message: OutgoingMessage) -> None:
        """Post a message in a thread; the message belongs to no answer. Tried once."""
        await self.chat.post(channel, escaping.sanitize_message(message), question="", part=0, thread_ts=thread_ts)

    async def post_ephemeral(self, channel: str, user: str, thread_ts: str | None, message: OutgoingMessage) -> None:
        """Show a message to one person in a channel, or in a thread there; tried once."""
        await self.chat.post_ephemeral(channel, user, escaping.sanitize_message(message), thread_ts=thread_ts)

    async def delete_pending(self, row: QuestionRow) -> None:
        """Delete the pending message that only the asker sees, after the answer was posted for everyone.

        The answer comes first: if it took all uses of the response_url, the pending message stays.
        """
        try:
            current = await self.questions.get(row.id)
        except DATABASE_UNAVAILABLE:
            return
        if current is not None and (url := current.response_url) and self.may_use_response_url(current):
            await _until_deleted(lambda: self.response_urls.delete_original(url))

    async def delete_pending_in_thread(self, row: QuestionRow) -> None:
        """Delete the pending message in the thread, after the asker was informed elsewhere."""
        if row.message_ts is not None:
            await delete(self.chat, row.channel_id, row.message_ts)

    async def _post_pending_in_thread(self, row: QuestionRow, message: OutgoingMessage) -> QuestionRow:
        if row.message_ts is not None:
            if not row.redeliveries:
                await self._mark_sending(row)
                await self.chat.update(row.channel_id, row.message_ts, message)
            return row
        ts = await self._post_once(row, message)
        if ts is None:
            return row
        if not await self.database_retry(lambda: self.questions.save_placeholder(row, ts)):
            await self._delete_duplicate(row, ts)
            raise ClaimLost
        return replace(row, message_ts=ts)

    async def _delete_duplicate(self, row: QuestionRow, ts: str) -> None:
        """Delete the message just posted, unless the worker that took over uses it."""
        current = await self.database_retry(lambda: self.questions.get(row.id))
        if current is None or current.message_ts != ts:
            await delete(self.chat, row.channel_id, ts)

    async def _post_once(self, row: QuestionRow, message: OutgoingMessage) -> str | None:
        """Post the message, with a few attempts but not twice; return its `ts`, or None if no `ts` is known."""
        maybe_posted = row.redeliveries > 0
        for _ in range(MAX_ATTEMPTS):
            found = await self._find(row) if maybe_posted else NotFound()
            match found:
                case Found():
                    return found.ts
                case LookupForbidden():
                    return None
                case NotFound():
                    result = await self._post(row, message)
                case Retryable():
                    result = found
            match result:
                case Sent(ts=ts):
                    return ts
                case Retryable(seconds=seconds, maybe_posted=ambiguous) if (seconds or 0) <= MAX_PAUSE_SECONDS:
                    maybe_posted = maybe_posted or ambiguous
                    await self.sleep(seconds or 0.5)
                case _:
                    return None
        found = await self._find(row) if maybe_posted else NotFound()
        return found.ts if isinstance(found, Found) else None

    async def _post(self, row: QuestionRow, message: OutgoingMessage) -> PostResult:
        await self._mark_sending(row)
        return await self.chat.post(row.channel_id, message, question=str(row.id), part=0, thread_ts=row.thread_ts)

    async def _find(self, row: QuestionRow) -> LookupResult:
        return await self.chat.find(
            row.channel_id, question=str(row.id), part=0, thread_ts=row.thread_ts, since=row.received_at
        )

    def may_use_response_url(self, row: QuestionRow) -> bool:
        """Return whether the question's response_url can be used again."""
        age = self.clock() - row.received
        return response_url_usable(row, uses=row.response_uses, age=age, slack_api_url=self.slack_api_url)

    async def _mark_sending(self, row: QuestionRow) -> None:
        if not await self.database_retry(lambda: self.questions.mark_sending(row, row.part, uses=row.response_uses)):
            raise ClaimLost


MAX_PROGRESS_USES = 3
"""The most of the five uses of a response_url for progress and the pending message; the answer needs the others."""


@dataclass(kw_only=True)
class ProgressUpdater:
    """Shows one question's progress; each message is tried once.

    `shared` has the services and the clock. `take_edit` counts an edit against the workspace's limit. It returns the
    seconds until the next edit is allowed, or None if this edit is not allowed. If `take_edit` itself is None, the
    caller counts the edits. `response_url_uses` is how often progress has used the response_url.
    """

    row: QuestionRow
    shared: StatusMessages
    take_edit: Callable[[QuestionRow], Awaitable[float | None]] | None = None
    paused_until: float = 0.0
    response_url_uses: int = 0
    _next_edit: float = 0.0

    @property
    def editable(self) -> bool:
        """Whether the message is in a thread, where it can be changed as often as Slack allows."""
        return self.row.thread_ts is not None and self.row.message_ts is not None

    @property
    def milestones_shown(self) -> int:
        """The number of milestones shown before: each used the response_url once. 0 for a message in a thread."""
        return 0 if self.editable else self.row.response_uses

    async def update(self, message: OutgoingMessage, *, milestone: bool) -> bool | None:
        """Show a message; return whether it arrived, None if that is unknown.

        Raises RequestCancelled if the question is stopped or taken over.
        """
        await self._check_claim()
        if self.shared.clock() < self.paused_until:
            return False
        if self.editable:
            return await self._update_in_thread(message, milestone=milestone)
        # After a click below an answer, the response_url would replace that answer.
        usable = milestone and not self.row.action and self._response_url_usable()
        return await self._update_by_response_url(message) if usable else False

    async def _update_in_thread(self, message: OutgoingMessage, *, milestone: bool) -> bool | None:
        if self.shared.clock() < self._next_edit and not milestone:
            return False
        if self.take_edit is not None:
            try:
                pause = await self.take_edit(self.row)
            except DATABASE_UNAVAILABLE:
                pause = None
            if pause is None:
                return False
            self._next_edit = self.shared.clock() + pause
        result = self._note_rate_limit(await self._edit(message))
        await self._check_claim()
        return has_arrived(result)

    async def _edit(self, message: OutgoingMessage) -> PostResult:
        return await self.shared.chat.update(
            self.row.channel_id, self.row.message_ts or "", escaping.sanitize_message(message)
        )

    async def _update_by_response_url(self, message: OutgoingMessage) -> bool | None:
        try:
            used = self.row.response_uses + self.response_url_uses + 1
            ours = await self.shared.questions.mark_sending(self.row, self.row.part, uses=used)
        except DATABASE_UNAVAILABLE as error:
            self._log_not_shown(type(error).__name__)
            return False
        if not ours:
            raise RequestCancelled("another worker has the question")
        url, shown = self.row.response_url or "", escaping.sanitize_message(message)
        result = self._note_rate_limit(
            await self.shared.response_urls.post(url, shown, audience=Audience.ASKER, replace=True)
        )
        if not isinstance(result, Retryable) or result.maybe_posted:
            self.response_url_uses += 1
        if not isinstance(result, Sent):
            self._log_not_shown(result.error)
        await self._check_claim()
        return has_arrived(result)

    async def _check_claim(self) -> None:
        """Raise RequestCancelled if this worker has lost the question; do nothing if the database is unavailable.

        If the progress has overwritten another worker's answer in the thread, first restore that answer.
        """
        try:
            current = await self.shared.questions.get(self.row.id)
        except DATABASE_UNAVAILABLE:
            return
        if current is not None and current.claim == self.row.claim:
            return
        if current is not None and self.editable and current.messages and current.message_ts == self.row.message_ts:
            answer = escaping.sanitize_message(current.messages[0])
            if isinstance(await self._edit(answer), Rejected):
                await self._edit(without_blocks(answer))
        raise RequestCancelled("another worker has the question")

    def _response_url_usable(self) -> bool:
        row = replace(self.row, response_uses=self.row.response_uses + self.response_url_uses)
        return row.response_uses < MAX_PROGRESS_USES and self.shared.may_use_response_url(row)

    def _note_rate_limit(self, result: PostResult) -> PostResult:
        if isinstance(result, Retryable) and result.seconds:
            self.paused_until = self.shared.clock() + result.seconds
        return result

    def _log_not_shown(self, error: str) -> None:
        log.warning("progress.not_shown", extra=self.row.ids | {"error": error})
