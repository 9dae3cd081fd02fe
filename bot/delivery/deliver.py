"""Brings the messages of one question to the asker: each part once, the next way when one is closed, until it is over.

Before each post the row says which part is about to leave, so that after a crash only that one part is in doubt.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from random import uniform

from bot.blocks import gate
from bot.blocks.base import Audience
from bot.blocks.plain import plain
from bot.delivery.chat import Chat
from bot.delivery.posting import Posting, Refused, Sent, TryLater, WayClosed
from bot.delivery.response_url import ResponseUrls
from bot.delivery.ways import ByDirectMessage, ByResponseUrl, InPlace, InThread, Letter, Way
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


def all_ways(chat: Chat, response_urls: ResponseUrls, *, slack_api_url: str) -> tuple[Way, ...]:
    """Return every way out, the one to try first at the beginning."""
    return (
        ByResponseUrl(response_urls=response_urls, slack_api_url=slack_api_url),
        InPlace(chat=chat),
        InThread(chat=chat),
        ByDirectMessage(chat=chat),
    )


@dataclass(frozen=True, kw_only=True)
class Delivery:
    """Posts the messages of questions. `now`, `sleep` and `jitter` are the clock, the pause and the randomness."""

    questions: Questions
    patience: Patience
    ways: tuple[Way, ...]
    now: Callable[[], datetime] = utc_now
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    jitter: Callable[[float, float], float] = uniform

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
                in_doubt=part == row.part and _may_be_out(row),
                uses=uses,
            )
            delivered, uses = await self._carry(letter)
            if not delivered:
                return False
        return True

    async def _carry(self, letter: Letter) -> tuple[bool, int]:
        """Post one part, however often it takes; returns whether it is out and the uses of the response_url so far."""
        closed: set[str] = set()
        pause = 0.5
        while (age := self._age(letter.row)) < PATIENCE_SECONDS:
            letter = replace(letter, age=age)
            way = next((way for way in self.ways if way.name not in closed and way.takes(letter)), None)
            if way is None:
                return False, letter.uses
            await self._begin(letter, way)
            letter = replace(letter, uses=letter.uses + way.uses)
            result = await way.post(letter)
            _log(letter, result, way=way)
            match result:
                case Sent():
                    return True, letter.uses
                case Refused() if letter.message.blocks:
                    letter = replace(letter, message=plain(letter.message))
                case WayClosed() | Refused():
                    closed.add(way.name)
                case TryLater(seconds=seconds, ambiguous=ambiguous):
                    letter = replace(letter, in_doubt=letter.in_doubt or ambiguous)
                    await self.sleep(seconds if seconds is not None else self.jitter(pause / 2, pause))
                    pause = min(15.0, pause * 2)
        return False, letter.uses

    def _age(self, row: QuestionRow) -> float:
        return (self.now() - row.received_at).total_seconds()

    async def _begin(self, letter: Letter, way: Way) -> None:
        if not await self.patience(lambda: self.questions.begin_part(letter.row, letter.part, uses=way.uses)):
            raise Superseded


def _may_be_out(row: QuestionRow) -> bool:
    """Tell whether the row's part may stand somewhere already: a worker died, or nobody knows the searching line."""
    unknown_line = row.part == 0 and row.thread_ts is not None and row.message_ts is None
    return row.returns > 0 or unknown_line


def _log(letter: Letter, result: Posting, *, way: Way) -> None:
    extra = {
        "question": letter.question,
        "part": letter.part,
        "route": way.name,
        "error": None if isinstance(result, Sent) else result.error,
    }
    log.log(logging.INFO if isinstance(result, Sent) else logging.WARNING, "part.posted", extra=extra)
