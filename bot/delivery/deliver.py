"""Brings the messages of one question to the asker: each part once, the next way when one is closed, until it is over.

Before each post the row says which part is about to leave, so that after a crash only that one part is in doubt.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from datetime import datetime
from random import uniform

from bot.blocks import gate
from bot.blocks.base import Audience
from bot.blocks.plain import plain
from bot.clock import utc_now
from bot.delivery.chat import Chat
from bot.delivery.posting import Posting, Refused, Sent, TryLater, WayClosed
from bot.delivery.response_url import ResponseUrls
from bot.delivery.ways import ByDirectMessage, ByResponseUrl, InChannel, InPlace, InThread, Letter, Way
from bot.storage.patience import Patience
from bot.storage.questions import QuestionRow, Questions

log = logging.getLogger(__name__)

PATIENCE_SECONDS = 35 * 60
"""How long a message is carried to a Slack that is away, from its first try on."""

LONGEST_PAUSE_SECONDS = 15.0

BROKEN_TRIES = 3
"""After so many failures of Slack's own at one message, its words are sent as plain text."""

BLIND_TRIES = 2
"""After so many posts of which nobody can say whether they arrived, the way is left: each may be a copy."""


class Superseded(Exception):
    """Another worker holds the question now, so this one says nothing more."""


def all_ways(chat: Chat, response_urls: ResponseUrls, *, slack_api_url: str) -> tuple[Way, ...]:
    """Return every way out, the one to try first at the beginning."""
    return (
        ByResponseUrl(response_urls=response_urls, slack_api_url=slack_api_url),
        InChannel(chat=chat),
        InPlace(chat=chat),
        InThread(chat=chat),
        ByDirectMessage(chat=chat),
    )


@dataclass(kw_only=True)
class _Course:
    """What was learnt on the way of one part."""

    began: datetime
    closed: set[str] = field(default_factory=set)
    pause: float = 0.5
    broken: int = 0
    blind: int = 0


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
        course = _Course(began=self.now())
        while True:
            letter = replace(letter, age=self._since(letter.row.received_at))
            way = next((way for way in self.ways if way.name not in course.closed and way.takes(letter)), None)
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
                    course.closed.add(way.name)
                case TryLater():
                    if self._since(course.began) >= PATIENCE_SECONDS:
                        return False, letter.uses
                    letter = _learnt(letter, result, course, way=way)
                    await self._pause(result, course)

    async def _pause(self, result: TryLater, course: _Course) -> None:
        pause = LONGEST_PAUSE_SECONDS if result.blind else course.pause
        await self.sleep(result.seconds if result.seconds is not None else self.jitter(pause / 2, pause))
        course.pause = min(LONGEST_PAUSE_SECONDS, course.pause * 2)

    def _since(self, moment: datetime) -> float:
        return (self.now() - moment).total_seconds()

    async def _begin(self, letter: Letter, way: Way) -> None:
        if not await self.patience(lambda: self.questions.begin_part(letter.row, letter.part, uses=way.uses)):
            raise Superseded


def _learnt(letter: Letter, result: TryLater, course: _Course, *, way: Way) -> Letter:
    """Return the letter as it is tried next, and note what the failure tells."""
    course.blind += result.blind
    course.broken = course.broken + 1 if result.broken else 0
    if course.blind >= BLIND_TRIES:
        course.closed.add(way.name)
        course.blind = 0
    if course.broken >= BROKEN_TRIES and letter.message.blocks:
        letter = replace(letter, message=plain(letter.message))
    return replace(letter, in_doubt=letter.in_doubt or result.ambiguous)


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
