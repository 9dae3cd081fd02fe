"""What is said around an answer: that the search is on, that something cannot be done; and what is cleared away."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from time import monotonic

from bot.blocks import escaping
from bot.delivery.delivery import ClaimLost
from bot.delivery.routes import response_url_usable
from bot.model.message import Audience, OutgoingMessage
from bot.slack.messages import Chat, Found, LookupForbidden, LookupResult, NotFound, PostResult, Retryable, Sent
from bot.slack.response_url import ResponseUrls, is_slack_url
from bot.storage.database import DATABASE_UNAVAILABLE, DatabaseRetry
from bot.storage.questions import QuestionRow, Questions

MAX_ATTEMPTS = 3
MAX_PAUSE_SECONDS = 2.0
"""The answer is not kept waiting for a line that says that it is on its way."""


@dataclass(frozen=True, kw_only=True)
class StatusMessages:
    """Posts notices and "Searching…" messages. `clock` is monotonic; `sleep` is the pause."""

    questions: Questions
    database_retry: DatabaseRetry
    chat: Chat
    response_urls: ResponseUrls
    slack_api_url: str
    clock: Callable[[], float] = monotonic
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep

    async def post_pending(self, row: QuestionRow, message: OutgoingMessage) -> QuestionRow:
        """Say that the search is on, where the listener could not, and return the row as it then is.

        In a thread that is a message whose place the answer will take; after a click it stands in the place of the
        message with the button. Raises `ClaimLost` for a zombie.
        """
        message = escaping.sanitize_message(message)
        if row.thread_ts is not None:
            return await self._post_pending_in_thread(row, message)
        if row.returns or row.response_url is None or not self._response_url_usable(row):
            return row
        used = replace(row, response_uses=row.response_uses + 1)
        await self._mark_sending(used)
        result = await self.response_urls.post(row.response_url, message, audience=Audience.ASKER, replace=True)
        return row if isinstance(result, Retryable) and not result.maybe_posted else used

    async def reply_privately(self, url: str | None, message: OutgoingMessage) -> None:
        """Say one thing to the person behind a click, privately, beside the message; tried once."""
        if url is not None and is_slack_url(url, slack_api_url=self.slack_api_url):
            await self.response_urls.post(
                url, escaping.sanitize_message(message), audience=Audience.ASKER, replace=False
            )

    async def replace_original(self, url: str | None, message: OutgoingMessage) -> None:
        """Put one thing in the place of the message whose button was clicked; tried once."""
        if url is not None and is_slack_url(url, slack_api_url=self.slack_api_url):
            await self.response_urls.post(
                url, escaping.sanitize_message(message), audience=Audience.ASKER, replace=True
            )

    async def post_in_thread(self, channel: str, thread_ts: str, message: OutgoingMessage) -> None:
        """Say one thing in a thread, which belongs to no answer; tried once."""
        await self.chat.post(channel, escaping.sanitize_message(message), question="", part=0, thread_ts=thread_ts)

    async def post_ephemeral(self, channel: str, user: str, thread_ts: str | None, message: OutgoingMessage) -> None:
        """Show a message to one person in a channel, or in a thread there; tried once."""
        await self.chat.post_ephemeral(channel, user, escaping.sanitize_message(message), thread_ts=thread_ts)

    async def delete_pending(self, row: QuestionRow) -> None:
        """Remove the placeholder that only the asker sees, after everyone got the answer; tried once.

        The answer has the first claim on the response_url's uses: if it took all of them, the placeholder stays.
        """
        try:
            current = await self.questions.get(row.id)
        except DATABASE_UNAVAILABLE:
            return
        if current is not None and current.response_url is not None and self._response_url_usable(current):
            await self.response_urls.delete_original(current.response_url)

    async def delete_pending_in_thread(self, row: QuestionRow) -> None:
        """Remove the message in the thread that said that the search was on, after the asker was told elsewhere."""
        if row.message_ts is not None:
            await self.chat.delete(row.channel_id, row.message_ts)

    async def _post_pending_in_thread(self, row: QuestionRow, message: OutgoingMessage) -> QuestionRow:
        if row.message_ts is not None:
            if not row.returns:
                await self._mark_sending(row)
                await self.chat.update(row.channel_id, row.message_ts, message)
            return row
        ts = await self._post_once(row, message)
        if ts is None:
            return row
        if not await self.database_retry(lambda: self.questions.record_message(row, ts)):
            await self._delete_duplicate(row, ts)
            raise ClaimLost
        return replace(row, message_ts=ts)

    async def _delete_duplicate(self, row: QuestionRow, ts: str) -> None:
        """Remove the line that was just posted, unless the worker that holds the question now took it for its own."""
        current = await self.database_retry(lambda: self.questions.get(row.id))
        if current is None or current.message_ts != ts:
            await self.chat.delete(row.channel_id, ts)

    async def _post_once(self, row: QuestionRow, message: OutgoingMessage) -> str | None:
        """Post the line once and return its `ts`; None where Slack does not say, or does not want it."""
        in_doubt = row.returns > 0
        for _ in range(MAX_ATTEMPTS):
            looked = await self._find(row) if in_doubt else NotFound()
            match looked:
                case Found():
                    return looked.ts
                case LookupForbidden():
                    return None
                case NotFound():
                    result = await self._post(row, message)
                case Retryable():
                    result = looked
            match result:
                case Sent(ts=ts):
                    return ts
                case Retryable(seconds=seconds, maybe_posted=ambiguous) if (seconds or 0) <= MAX_PAUSE_SECONDS:
                    in_doubt = in_doubt or ambiguous
                    await self.sleep(seconds or 0.5)
                case _:
                    return None
        looked = await self._find(row) if in_doubt else NotFound()
        return looked.ts if isinstance(looked, Found) else None

    async def _post(self, row: QuestionRow, message: OutgoingMessage) -> PostResult:
        await self._mark_sending(row)
        return await self.chat.post(row.channel_id, message, question=str(row.id), part=0, thread_ts=row.thread_ts)

    async def _find(self, row: QuestionRow) -> LookupResult:
        return await self.chat.find(
            row.channel_id, question=str(row.id), part=0, thread_ts=row.thread_ts, since=row.received_at
        )

    def _response_url_usable(self, row: QuestionRow) -> bool:
        age = self.clock() - row.received
        return response_url_usable(row, uses=row.response_uses, age=age, slack_api_url=self.slack_api_url)

    async def _mark_sending(self, row: QuestionRow) -> None:
        if not await self.database_retry(lambda: self.questions.begin_part(row, row.part, uses=row.response_uses)):
            raise ClaimLost
