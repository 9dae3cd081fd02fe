"""Shows the progress of a question in the message that its answer replaces."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from time import monotonic

from bot.blocks import escaping
from bot.blocks.messages import without_blocks
from bot.delivery.routes import response_url_usable
from bot.model.message import Audience, OutgoingMessage
from bot.model.question import QuestionRow
from bot.slack.messages import Chat, PostResult, Rejected, Retryable, Sent
from bot.slack.response_url import ResponseUrls
from bot.storage.database import DATABASE_UNAVAILABLE
from bot.storage.questions import QuestionStore
from perplexity.errors import RequestCancelled

log = logging.getLogger(__name__)

MAX_PROGRESS_USES = 3
"""Of the five uses of a response_url, including the pending message; the others are the answer's."""


@dataclass(kw_only=True)
class ProgressUpdater:
    """Shows one question's progress; each message is tried once.

    `render_stopped` renders the message for a stopped question. `clock` is monotonic. `response_url_uses` counts the
    uses that progress has taken.
    """

    row: QuestionRow
    questions: QuestionStore
    chat: Chat
    response_urls: ResponseUrls
    slack_api_url: str
    render_stopped: Callable[[QuestionRow], OutgoingMessage]
    clock: Callable[[], float] = monotonic
    paused_until: float = 0.0
    response_url_uses: int = 0

    @property
    def editable(self) -> bool:
        """Whether the message is in a thread, so that it can be changed as often as Slack allows."""
        return self.row.thread_ts is not None and self.row.message_ts is not None

    @property
    def milestones_shown(self) -> int:
        """How many milestones were shown before: each took one use of the response_url."""
        return 0 if self.editable else self.row.response_uses

    async def update(self, message: OutgoingMessage, *, milestone: bool) -> bool:
        """Show a message; return whether Slack accepted it. Raise RequestCancelled if it is stopped or taken over."""
        await self._check_claim()
        if self.clock() < self.paused_until:
            return False
        if self.editable:
            return await self._update_in_thread(message)
        return milestone and self._response_url_usable() and await self._update_by_response_url(message)

    async def _update_in_thread(self, message: OutgoingMessage) -> bool:
        result = self._note_rate_limit(await self._edit(message))
        await self._check_claim()
        return isinstance(result, Sent)

    async def _edit(self, message: OutgoingMessage) -> PostResult:
        return await self.chat.update(
            self.row.channel_id, self.row.message_ts or "", escaping.sanitize_message(message)
        )

    async def _update_by_response_url(self, message: OutgoingMessage) -> bool:
        try:
            used = self.row.response_uses + self.response_url_uses + 1
            ours = await self.questions.mark_sending(self.row, self.row.part, uses=used)
        except DATABASE_UNAVAILABLE as error:
            self._log_not_shown(type(error).__name__)
            return False
        if not ours:
            raise RequestCancelled("another worker has the question")
        result = self._note_rate_limit(await self._post(message))
        if not isinstance(result, Retryable) or result.maybe_posted:
            self.response_url_uses += 1
        if not isinstance(result, Sent):
            self._log_not_shown(result.error)
        await self._check_claim(after_post=True)
        return isinstance(result, Sent)

    async def _post(self, message: OutgoingMessage) -> PostResult:
        url = self.row.response_url or ""
        return await self.response_urls.post(
            url, escaping.sanitize_message(message), audience=Audience.ASKER, replace=True
        )

    async def _check_claim(self, *, after_post: bool = False) -> None:
        """Raise RequestCancelled if the question was stopped or taken over; do nothing if the database is unavailable.

        Progress posted in a thread, or `after_post` by the response_url, may have overwritten the result: restore it.
        """
        try:
            current = await self.questions.get(self.row.id)
        except DATABASE_UNAVAILABLE:
            return
        if current is not None and current.attempt == self.row.attempt:
            return
        if current is not None and (after_post or self.editable):
            await self._restore_answer(current)
        raise RequestCancelled("another worker has the question")

    async def _restore_answer(self, current: QuestionRow) -> None:
        # The result is in the same message, and our update may have arrived after it.
        if current.state == "stopped":
            await (self._edit if self.editable else self._post)(self.render_stopped(current))
        elif self.editable and current.messages and current.message_ts == self.row.message_ts:
            answer = escaping.sanitize_message(current.messages[0])
            if isinstance(await self._edit(answer), Rejected):
                await self._edit(without_blocks(answer))

    def _response_url_usable(self) -> bool:
        row = replace(self.row, response_uses=self.row.response_uses + self.response_url_uses)
        age = self.clock() - row.received
        few = row.response_uses < MAX_PROGRESS_USES
        return few and response_url_usable(row, uses=row.response_uses, age=age, slack_api_url=self.slack_api_url)

    def _note_rate_limit(self, result: PostResult) -> PostResult:
        if isinstance(result, Retryable) and result.seconds:
            self.paused_until = self.clock() + result.seconds
        return result

    def _log_not_shown(self, error: str) -> None:
        log.warning("progress.not_shown", extra=self.row.ids | {"error": error})
