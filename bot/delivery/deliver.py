"""Brings the messages of one question to the asker: each part once, the next way when one is closed, until it is over.

Before each post the row says which part is about to leave, so that after a crash only that one part is in doubt.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from random import uniform

from bot.blocks import gate
from bot.blocks.base import Audience, OutgoingMessage
from bot.blocks.plain import plain
from bot.delivery.direct_message import DirectMessages
from bot.delivery.posting import Posting, Refused, Sent, TryLater, WayClosed
from bot.delivery.response_url import LIFETIME_SECONDS, MAX_USES, ResponseUrls, may_use
from bot.storage.patience import Patience
from bot.storage.questions import QuestionRow, Questions

log = logging.getLogger(__name__)

PATIENCE_SECONDS = 35 * 60
"""How long after it was asked an answer is still carried to a Slack that is away."""


class Superseded(Exception):
    """Another worker holds the question now, so this one says nothing more."""


def utc_now() -> datetime:
    """Return the wall clock's time with its zone."""
    return datetime.now(UTC)


@dataclass(frozen=True, kw_only=True)
class Letter:
    """One part on its way: the question, the part's number from 0, how many uses of the response_url are gone."""

    row: QuestionRow
    part: int
    message: OutgoingMessage
    audience: Audience
    in_doubt: bool = False


class Delivery:
    """Posts the messages of questions. `now`, `sleep` and `jitter` are the clock, the pause and the randomness."""

    def __init__(
        self,
        *,
        questions: Questions,
        patience: Patience,
        response_urls: ResponseUrls,
        direct_messages: DirectMessages,
        slack_api_url: str,
        now: Callable[[], datetime] = utc_now,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        jitter: Callable[[float, float], float] = uniform,
    ) -> None:
        self._questions = questions
        self._patience = patience
        self._response_urls = response_urls
        self._direct = direct_messages
        self._slack_api_url = slack_api_url
        self._now = now
        self._sleep = sleep
        self._jitter = jitter

    async def deliver(self, row: QuestionRow, *, audience: Audience) -> bool:
        """Post what is not out yet; False when no way was left. Raises `Superseded` for a zombie."""
        messages = row.messages or ()
        uses = row.response_uses
        for part in range(row.part, len(messages)):
            letter = Letter(
                row=row,
                part=part,
                message=gate.seal(messages[part]),
                audience=audience,
                in_doubt=row.returns > 0 and part == row.part,
            )
            delivered, uses = await self._carry(letter, uses)
            if not delivered:
                return False
        return True

    async def announce(self, row: QuestionRow, message: OutgoingMessage) -> int:
        """Put a word in the place of the message whose button was clicked; return the uses that took, 0 or 1."""
        if row.response_url is None or not self._response_url_open(row, row.response_uses):
            return 0
        if not await self._begin(row, row.part, uses=1):
            raise Superseded
        await self._response_urls.post(row.response_url, gate.seal(message), audience=Audience.ASKER, replace=True)
        return 1

    async def tell(self, url: str | None, message: OutgoingMessage) -> None:
        """Say one thing to the person behind a click, privately, beside the message; tried once."""
        if url is not None and may_use(url, slack_api_url=self._slack_api_url):
            await self._response_urls.post(url, gate.seal(message), audience=Audience.ASKER, replace=False)

    async def tidy(self, row: QuestionRow) -> None:
        """Remove the message whose button was clicked, after the answer went to the channel instead."""
        if row.response_url is not None and self._response_url_open(row, row.response_uses):
            await self._response_urls.delete_original(row.response_url)

    async def _carry(self, letter: Letter, uses: int) -> tuple[bool, int]:
        """Post one part, however often it takes; returns whether it is out and the uses of the response_url so far."""
        by_url, pause = True, 0.5
        while self._age(letter.row) < PATIENCE_SECONDS:
            by_url = by_url and self._response_url_open(letter.row, uses)
            await self._must_begin(letter, uses=int(by_url))
            uses += int(by_url)
            result = await (self._by_response_url(letter) if by_url else self._by_direct_message(letter))
            self._log(letter, result, by_url=by_url)
            match result:
                case Sent():
                    return True, uses
                case Refused() if letter.message.blocks:
                    letter = _again(letter, message=plain(letter.message))
                case WayClosed() | Refused() if by_url:
                    by_url = False
                case WayClosed() | Refused():
                    return False, uses
                case TryLater(seconds=seconds, ambiguous=ambiguous):
                    letter = _again(letter, in_doubt=letter.in_doubt or ambiguous)
                    await self._sleep(seconds if seconds is not None else self._jitter(pause / 2, pause))
                    pause = min(15.0, pause * 2)
        return False, uses

    async def _by_response_url(self, letter: Letter) -> Posting:
        url, first = letter.row.response_url or "", letter.part == 0
        return await self._response_urls.post(
            url, letter.message, audience=letter.audience, replace=first and letter.audience is Audience.ASKER
        )

    async def _by_direct_message(self, letter: Letter) -> Posting:
        user, question = letter.row.user_id, str(letter.row.id)
        if letter.in_doubt:
            found = await self._direct.find(user, question=question, part=letter.part)
            if found is not None:
                return Sent(ts=found)
        return await self._direct.post(user, letter.message, question=question, part=letter.part)

    def _response_url_open(self, row: QuestionRow, uses: int) -> bool:
        fresh = self._age(row) < LIFETIME_SECONDS and uses < MAX_USES
        return fresh and may_use(row.response_url, slack_api_url=self._slack_api_url)

    def _age(self, row: QuestionRow) -> float:
        return (self._now() - row.received_at).total_seconds()

    async def _begin(self, row: QuestionRow, part: int, *, uses: int) -> bool:
        return await self._patience(lambda: self._questions.begin_part(row, part, uses=uses))

    async def _must_begin(self, letter: Letter, *, uses: int) -> None:
        if not await self._begin(letter.row, letter.part, uses=uses):
            raise Superseded

    def _log(self, letter: Letter, result: Posting, *, by_url: bool) -> None:
        extra = {
            "question": str(letter.row.id),
            "part": letter.part,
            "route": "response_url" if by_url else "direct_message",
            "error": None if isinstance(result, Sent) else result.error,
        }
        log.log(logging.INFO if isinstance(result, Sent) else logging.WARNING, "part.posted", extra=extra)


def _again(letter: Letter, *, message: OutgoingMessage | None = None, in_doubt: bool | None = None) -> Letter:
    return Letter(
        row=letter.row,
        part=letter.part,
        message=letter.message if message is None else message,
        audience=letter.audience,
        in_doubt=letter.in_doubt if in_doubt is None else in_doubt,
    )
