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
    ChannelRoute,
    DirectMessageRoute,
    EditMessageRoute,
    EphemeralRoute,
    OutgoingPart,
    ResponseUrlRoute,
    Route,
    ThreadRoute,
)
from bot.model.message import Audience
from bot.slack.messages import Chat, PostResult, Rejected, Retryable, RouteClosed, Sent
from bot.slack.response_url import ResponseUrls
from bot.storage.database import DatabaseRetry
from bot.storage.questions import QuestionRow, Questions

log = logging.getLogger(__name__)

MAX_DELIVERY_SECONDS = 35 * 60
"""How long a message is carried to a Slack that is away, from its first try on."""

MIN_PAUSE_SECONDS = 0.5
MAX_PAUSE_SECONDS = 15.0

SLACK_ERROR_TRIES = 3
"""After so many failures of Slack's own at one message, its words are sent as plain text."""

UNVERIFIABLE_TRIES = 2
"""After this many posts without a clear reply that cannot be looked up, the next way is tried."""

UNVERIFIABLE_PAUSE_SECONDS = 45.0
"""The pause before such a post, which most likely arrived, is repeated: Slack's trouble may end meanwhile."""

SLACK_ERROR_PAUSE_SECONDS = 25.0
"""The same after a reply in which Slack reports an error: most likely the post did not arrive."""

MAX_RATE_LIMIT_SECONDS = 60.0
"""If Slack asks for a longer pause, the other ways are tried first."""

MAX_WAIT_SECONDS = 300.0
"""Ways that asked for a pause are tried again after this time at the latest."""


class ClaimLost(Exception):
    """Another worker holds the question now, so this one says nothing more."""


def default_routes(chat: Chat, response_urls: ResponseUrls, *, slack_api_url: str) -> tuple[Route, ...]:
    """Return every way out, the one to try first at the beginning."""
    return (
        ResponseUrlRoute(response_urls=response_urls, slack_api_url=slack_api_url),
        ChannelRoute(chat=chat),
        EphemeralRoute(chat=chat),
        EditMessageRoute(chat=chat),
        ThreadRoute(chat=chat),
        DirectMessageRoute(chat=chat),
    )


@dataclass(kw_only=True)
class _PartState:
    """The state of delivering one part. `retry_after` maps ways to the seconds after which they may be tried again."""

    started: float
    closed: set[str] = field(default_factory=set)
    retry_after: dict[str, float] = field(default_factory=dict)
    pause: float = 0.5
    slack_errors: int = 0
    unverifiable: int = 0


@dataclass(frozen=True, kw_only=True)
class Delivery:
    """Posts the messages of questions. `clock` is monotonic; `sleep` and `jitter` are the pause and the randomness."""

    questions: Questions
    database_retry: DatabaseRetry
    routes: tuple[Route, ...]
    clock: Callable[[], float] = monotonic
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    jitter: Callable[[float, float], float] = uniform

    async def deliver(self, row: QuestionRow, *, audience: Audience) -> bool:
        """Post what is not out yet; False when no way was left. Raises `ClaimLost` for a zombie."""
        messages = row.messages or ()
        uses = row.response_uses
        for part in range(row.part, len(messages)):
            letter = OutgoingPart(
                row=row,
                number=part,
                message=escaping.sanitize_message(messages[part]),
                audience=audience,
                maybe_posted=part == row.part and _may_be_posted(row),
                response_url_uses=uses,
                unconfirmed=row.unconfirmed if part == row.part else 0,
            )
            delivered, uses = await self._send_part(letter)
            if not delivered:
                return False
        return True

    async def _send_part(self, letter: OutgoingPart) -> tuple[bool, int]:
        """Post one part, however often it takes; returns whether it is out and the uses of the response_url so far."""
        course = _PartState(started=self.clock())
        while self._elapsed(course.started) < MAX_DELIVERY_SECONDS:
            letter = replace(letter, age=self._elapsed(letter.row.received))
            way = next((way for way in self.routes if way.name not in course.closed and way.accepts(letter)), None)
            if way is None and not course.retry_after:
                return False, letter.response_url_uses
            if way is None:
                await self._wait_for_routes(course)
                continue
            used = replace(
                letter,
                response_url_uses=letter.response_url_uses + way.response_url_cost,
                unconfirmed=letter.unconfirmed + way.response_url_cost,
            )
            await self._mark_sending(used)
            result = await way.post(used)
            _log(letter, result, way=way)
            letter = _after_post(result, letter, used)
            match result:
                case Sent():
                    return True, letter.response_url_uses
                case Rejected() if letter.message.blocks:
                    letter = replace(letter, message=without_blocks(letter.message))
                case RouteClosed() | Rejected():
                    course.closed.add(way.name)
                case Retryable(seconds=seconds) if seconds is not None and seconds > MAX_RATE_LIMIT_SECONDS:
                    course.closed.add(way.name)
                    course.retry_after[way.name] = seconds
                case Retryable():
                    letter = _after_failure(letter, result, course, way=way)
                    await self._pause(result, course)
        return False, letter.response_url_uses

    async def _wait_for_routes(self, course: _PartState) -> None:
        """Wait until the first way that asked for a long pause may be tried, then reopen all of them."""
        await self.sleep(min(MAX_WAIT_SECONDS, *course.retry_after.values()))
        course.closed -= course.retry_after.keys()
        course.retry_after.clear()

    async def _pause(self, result: Retryable, course: _PartState) -> None:
        if result.seconds is not None:
            pause = max(MIN_PAUSE_SECONDS, result.seconds)
        elif result.unverifiable:
            pause = SLACK_ERROR_PAUSE_SECONDS if result.error.startswith("http_5") else UNVERIFIABLE_PAUSE_SECONDS
        else:
            pause = self.jitter(course.pause / 2, course.pause)
            course.pause = min(MAX_PAUSE_SECONDS, course.pause * 2)
        await self.sleep(pause)

    def _elapsed(self, moment: float) -> float:
        return self.clock() - moment

    async def _mark_sending(self, letter: OutgoingPart) -> None:
        ours = await self.database_retry(
            lambda: self.questions.begin_part(
                letter.row, letter.number, uses=letter.response_url_uses, unconfirmed=letter.unconfirmed
            )
        )
        if not ours:
            raise ClaimLost


def _after_post(result: PostResult, letter: OutgoingPart, used: OutgoingPart) -> OutgoingPart:
    """Return the letter after a post; if Slack surely did not take the post, it used nothing up."""
    if not isinstance(result, Retryable):
        return replace(letter, response_url_uses=used.response_url_uses)
    return used if result.maybe_posted else letter


def _after_failure(letter: OutgoingPart, result: Retryable, course: _PartState, *, way: Route) -> OutgoingPart:
    """Return the letter as it is tried next, and note what the failure tells."""
    course.unverifiable += result.unverifiable
    course.slack_errors = course.slack_errors + 1 if result.slack_error else 0
    if course.unverifiable >= UNVERIFIABLE_TRIES:
        course.closed.add(way.name)
        course.unverifiable = 0
    if course.slack_errors >= SLACK_ERROR_TRIES and letter.message.blocks:
        letter = replace(letter, message=without_blocks(letter.message))
    return replace(letter, maybe_posted=letter.maybe_posted or result.maybe_posted)


def _may_be_posted(row: QuestionRow) -> bool:
    """Tell whether the row's part may stand somewhere already: a worker died, or nobody knows the searching line."""
    unknown_line = row.part == 0 and row.thread_ts is not None and row.message_ts is None
    return row.returns > 0 or unknown_line


def _log(letter: OutgoingPart, result: PostResult, *, way: Route) -> None:
    extra = {
        "question": letter.question_id,
        "part": letter.number,
        "route": way.name,
        "error": None if isinstance(result, Sent) else result.error,
    }
    log.log(logging.INFO if isinstance(result, Sent) else logging.WARNING, "part.posted", extra=extra)
