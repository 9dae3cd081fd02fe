"""How far a question has come, in the message whose place its answer takes."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from time import monotonic

from bot.blocks import escaping
from bot.blocks.messages import without_blocks
from bot.delivery.routes import is_open
from bot.model.message import Audience, OutgoingMessage
from bot.slack.messages import Chat, Posting, Refused, Sent, TryLater
from bot.slack.response_url import ResponseUrls
from bot.storage.database import AWAY
from bot.storage.questions import QuestionRow, Questions
from perplexity.errors import Withdrawn

log = logging.getLogger(__name__)

MOST_USES = 3
"""Of the five uses of a response_url, an announcement's included; the others are the answer's."""


@dataclass(kw_only=True)
class Showing:
    """Shows one question's progress, each message tried once. `clock` is monotonic; `uses` counts as it goes.

    `stopped` renders that the question was stopped.
    """

    row: QuestionRow
    questions: Questions
    chat: Chat
    response_urls: ResponseUrls
    slack_api_url: str
    stopped: Callable[[QuestionRow], OutgoingMessage]
    clock: Callable[[], float] = monotonic
    silent_until: float = 0.0
    response_url_uses: int = 0

    @property
    def editable(self) -> bool:
        """Whether there is a message in a thread, which can be changed as often as Slack allows."""
        return self.row.thread_ts is not None and self.row.message_ts is not None

    @property
    def milestones_shown(self) -> int:
        """How many milestones were shown before: each took one use of the response_url."""
        return 0 if self.editable else self.row.response_uses

    async def update(self, message: OutgoingMessage, *, milestone: bool) -> bool:
        """Show it, and tell whether Slack took it. Raises Withdrawn for a question that is stopped, or another's."""
        await self._check()
        if self.clock() < self.silent_until:
            return False
        if self.editable:
            return await self._in_place(message)
        return milestone and self._response_url_open() and await self._by_response_url(message)

    async def _in_place(self, message: OutgoingMessage) -> bool:
        result = self._heeded(await self._update(message))
        await self._check()
        return isinstance(result, Sent)

    async def _update(self, message: OutgoingMessage) -> Posting:
        return await self.chat.update(
            self.row.channel_id, self.row.message_ts or "", escaping.sanitize_message(message)
        )

    async def _by_response_url(self, message: OutgoingMessage) -> bool:
        try:
            used = self.row.response_uses + self.response_url_uses + 1
            ours = await self.questions.begin_part(self.row, self.row.part, uses=used)
        except AWAY as error:
            self._not_shown(type(error).__name__)
            return False
        if not ours:
            raise Withdrawn("the question is not this worker's any more")
        result = self._heeded(await self._post(message))
        if not isinstance(result, TryLater) or result.ambiguous:
            self.response_url_uses += 1
        if not isinstance(result, Sent):
            self._not_shown(result.error)
        await self._check(behind=True)
        return isinstance(result, Sent)

    async def _post(self, message: OutgoingMessage) -> Posting:
        url = self.row.response_url or ""
        return await self.response_urls.post(
            url, escaping.sanitize_message(message), audience=Audience.ASKER, replace=True
        )

    async def _check(self, *, behind: bool = False) -> None:
        """Raise Withdrawn for a question that is not ours any more; with the database away nobody knows of one.

        `behind` a post of ours by the response_url, and in a thread, what came of the question takes its place.
        """
        try:
            current = await self.questions.get(self.row.id)
        except AWAY:
            return
        if current is not None and current.attempt == self.row.attempt:
            return
        if current is not None and (behind or self.editable):
            await self._make_way(current)
        raise Withdrawn("the question is not this worker's any more")

    async def _make_way(self, current: QuestionRow) -> None:
        # What came of the question was put into this very message, and we may have been the slower one.
        if current.state == "stopped":
            await (self._update if self.editable else self._post)(self.stopped(current))
        elif self.editable and current.messages and current.message_ts == self.row.message_ts:
            answer = escaping.sanitize_message(current.messages[0])
            if isinstance(await self._update(answer), Refused):
                await self._update(without_blocks(answer))

    def _response_url_open(self) -> bool:
        row = replace(self.row, response_uses=self.row.response_uses + self.response_url_uses)
        age = self.clock() - row.received
        few = row.response_uses < MOST_USES
        return few and is_open(row, uses=row.response_uses, age=age, slack_api_url=self.slack_api_url)

    def _heeded(self, result: Posting) -> Posting:
        if isinstance(result, TryLater) and result.seconds:
            self.silent_until = self.clock() + result.seconds
        return result

    def _not_shown(self, error: str) -> None:
        log.warning("progress.not_shown", extra=self.row.ids | {"error": error})
