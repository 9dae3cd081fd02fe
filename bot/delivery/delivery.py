"""Brings the messages of one question to the asker: each part once, the next way when one is closed, until it is over.

Before each post the row says which part is about to leave, so that after a crash only that one part is in doubt.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from random import uniform
from time import monotonic

from bot.blocks import escaping
from bot.blocks.messages import without_blocks
from bot.delivery.routes import (
    ByDirectMessage,
    ByResponseUrl,
    InChannel,
    InPlace,
    InThread,
    Letter,
    Way,
    Whispered,
)
from bot.model.message import Audience
from bot.slack.messages import Chat, Posting, Refused, Sent, TryLater, WayClosed
from bot.slack.response_url import ResponseUrls
from bot.storage.database import Patience
from bot.storage.questions import QuestionRow, Questions

log = logging.getLogger(__name__)

PATIENCE_SECONDS = 35 * 60
"""How long a message is carried to a Slack that is away, from its first try on."""

SHORTEST_PAUSE_SECONDS = 0.5
LONGEST_PAUSE_SECONDS = 15.0

BROKEN_TRIES = 3
"""After so many failures of Slack's own at one message, its words are sent as plain text."""

BLIND_TRIES = 2
"""After this many posts without a clear reply that cannot be looked up, the next way is tried."""

BLIND_PAUSE_SECONDS = 45.0
"""The pause before such a post, which most likely arrived, is repeated: Slack's trouble may end meanwhile."""

BROKEN_PAUSE_SECONDS = 25.0
"""The same after a reply in which Slack reports an error: most likely the post did not arrive."""

LONGEST_WAIT_SECONDS = 60.0
"""If Slack asks for a longer pause, the other ways are tried first."""

LONGEST_SLEEP_SECONDS = 300.0
"""Ways that asked for a pause are tried again after this time at the latest."""


class ClaimLost(Exception):
    """Another worker holds the question now, so this one says nothing more."""


def all_ways(chat: Chat, response_urls: ResponseUrls, *, slack_api_url: str) -> tuple[Way, ...]:
    """Return every way out, the one to try first at the beginning."""
    return (
        ByResponseUrl(response_urls=response_urls, slack_api_url=slack_api_url),
        InChannel(chat=chat),
        Whispered(chat=chat),
        InPlace(chat=chat),
        InThread(chat=chat),
        ByDirectMessage(chat=chat),
    )


@dataclass(kw_only=True)
class _Course:
    """The state of delivering one part. `later` maps ways to the seconds after which they may be tried again."""

    began: float
    closed: set[str] = field(default_factory=set)
    later: dict[str, float] = field(default_factory=dict)
    pause: float = 0.5
    broken: int = 0
    blind: int = 0


@dataclass(frozen=True, kw_only=True)
class Delivery:
    """Posts the messages of questions. `clock` is monotonic; `sleep` and `jitter` are the pause and the randomness."""

    questions: Questions
    patience: Patience
    ways: tuple[Way, ...]
    clock: Callable[[], float] = monotonic
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    jitter: Callable[[float, float], float] = uniform

    async def deliver(self, row: QuestionRow, *, audience: Audience) -> bool:
        """Post what is not out yet; False when no way was left. Raises `ClaimLost` for a zombie."""
        messages = row.messages or ()
        uses = row.response_uses
        for part in range(row.part, len(messages)):
            letter = Letter(
                row=row,
                part=part,
                message=escaping.sanitize_message(messages[part]),
                audience=audience,
                in_doubt=part == row.part and _may_be_out(row),
                uses=uses,
                unconfirmed=row.unconfirmed if part == row.part else 0,
            )
            delivered, uses = await self._carry(letter)
            if not delivered:
                return False
        return True

    async def _carry(self, letter: Letter) -> tuple[bool, int]:
        """Post one part, however often it takes; returns whether it is out and the uses of the response_url so far."""
        course = _Course(began=self.clock())
        while self._since(course.began) < PATIENCE_SECONDS:
            letter = replace(letter, age=self._since(letter.row.received))
            way = next((way for way in self.ways if way.name not in course.closed and way.takes(letter)), None)
            if way is None and not course.later:
                return False, letter.uses
            if way is None:
                await self._wait_for_ways(course)
                continue
            used = replace(letter, uses=letter.uses + way.uses, unconfirmed=letter.unconfirmed + way.uses)
            await self._begin(used)
            result = await way.post(used)
            _log(letter, result, way=way)
            letter = _after(result, letter, used)
            match result:
                case Sent():
                    return True, letter.uses
                case Refused() if letter.message.blocks:
                    letter = replace(letter, message=without_blocks(letter.message))
                case WayClosed() | Refused():
                    course.closed.add(way.name)
                case TryLater(seconds=seconds) if seconds is not None and seconds > LONGEST_WAIT_SECONDS:
                    course.closed.add(way.name)
                    course.later[way.name] = seconds
                case TryLater():
                    letter = _learnt(letter, result, course, way=way)
                    await self._pause(result, course)
        return False, letter.uses

    async def _wait_for_ways(self, course: _Course) -> None:
        """Wait until the first way that asked for a long pause may be tried, then reopen all of them."""
        await self.sleep(min(LONGEST_SLEEP_SECONDS, *course.later.values()))
        course.closed -= course.later.keys()
        course.later.clear()

    async def _pause(self, result: TryLater, course: _Course) -> None:
        if result.seconds is not None:
            pause = max(SHORTEST_PAUSE_SECONDS, result.seconds)
        elif result.blind:
            pause = BROKEN_PAUSE_SECONDS if result.error.startswith("http_5") else BLIND_PAUSE_SECONDS
        else:
            pause = self.jitter(course.pause / 2, course.pause)
            course.pause = min(LONGEST_PAUSE_SECONDS, course.pause * 2)
        await self.sleep(pause)

    def _since(self, moment: float) -> float:
        return self.clock() - moment

    async def _begin(self, letter: Letter) -> None:
        ours = await self.patience(
            lambda: self.questions.begin_part(letter.row, letter.part, uses=letter.uses, unconfirmed=letter.unconfirmed)
        )
        if not ours:
            raise ClaimLost


def _after(result: Posting, letter: Letter, used: Letter) -> Letter:
    """Return the letter after a post; if Slack surely did not take the post, it used nothing up."""
    if not isinstance(result, TryLater):
        return replace(letter, uses=used.uses)
    return used if result.ambiguous else letter


def _learnt(letter: Letter, result: TryLater, course: _Course, *, way: Way) -> Letter:
    """Return the letter as it is tried next, and note what the failure tells."""
    course.blind += result.blind
    course.broken = course.broken + 1 if result.broken else 0
    if course.blind >= BLIND_TRIES:
        course.closed.add(way.name)
        course.blind = 0
    if course.broken >= BROKEN_TRIES and letter.message.blocks:
        letter = replace(letter, message=without_blocks(letter.message))
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
