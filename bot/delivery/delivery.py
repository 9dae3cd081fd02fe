"""Delivers the parts of one answer in order: chooses the route, waits between attempts, and gives up at last.

The row records each part before it is posted, so that after a crash only that part may be posted twice.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass, field, replace
from random import uniform
from time import monotonic

from bot.blocks import escaping
from bot.blocks.messages import without_blocks
from bot.delivery.routes import OutgoingPart, Route, needs_long_pause
from bot.model.message import Audience
from bot.model.question import QuestionRow
from bot.slack.messages import PostResult, Rejected, Retryable, RouteClosed, Sent
from bot.storage.database import DatabaseRetry
from bot.storage.questions import QuestionStore

log = logging.getLogger(__name__)

MAX_DELIVERY_SECONDS = 35 * 60
"""How long a part is retried while Slack is unavailable, counted from the first attempt."""

MIN_PAUSE_SECONDS = 0.5
MAX_PAUSE_SECONDS = 15.0

SLACK_ERROR_TRIES = 3
"""After this many internal errors of Slack in a row, a message is sent as plain text."""

UNVERIFIABLE_TRIES = 2
"""After this many posts that got no clear reply and cannot be looked up, the next route is tried."""

UNVERIFIABLE_PAUSE_SECONDS = 45.0
"""The pause before a post that cannot be looked up is repeated; it probably arrived, and Slack may recover by then."""

SLACK_ERROR_PAUSE_SECONDS = 25.0
"""The shorter pause if Slack replied with a server error (5xx): the post has probably not arrived."""

MAX_WAIT_SECONDS = 300.0
"""Routes that asked for a pause are tried again after this time at the latest."""


class ClaimLost(Exception):
    """Another worker has claimed the question, so this one must post nothing more.

    `noted` is True if the question was stopped and its message already says so, below the text shown so far.
    """

    noted = False


@dataclass(kw_only=True)
class _PartState:
    """The state of delivering one part.

    `closed` has the names of the routes that are not tried now. For those that may be tried again later, `retry_after`
    maps the name to the seconds until then.
    """

    started: float
    closed: set[str] = field(default_factory=set)
    retry_after: dict[str, float] = field(default_factory=dict)
    pause: float = 0.5
    slack_errors: int = 0
    unverifiable: int = 0


@dataclass(frozen=True, kw_only=True)
class FirstPost:
    """The first post of an answer; it is chosen before the answer is saved, so that one transaction saves both.

    `uses` and `unconfirmed` are the numbers that `QuestionStore.mark_sending` records before a post of `part`.
    """

    part: OutgoingPart
    route: Route
    uses: int
    unconfirmed: int


@dataclass(frozen=True, kw_only=True)
class Delivery:
    """Posts the messages of questions; `clock` is monotonic, `jitter` returns a random number between its arguments."""

    questions: QuestionStore
    database_retry: DatabaseRetry
    routes: tuple[Route, ...]
    clock: Callable[[], float] = monotonic
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    jitter: Callable[[float, float], float] = uniform

    def first_post(self, row: QuestionRow, *, audience: Audience) -> FirstPost | None:
        """Return the first post of a question's messages; None if there is no message or no route."""
        if not row.messages:
            return None
        part = self._with_age(_outgoing_part(row, row.part, audience, response_url_uses=row.response_uses))
        route = self._route(part, closed=())
        if route is None:
            return None
        cost = route.response_url_cost
        return FirstPost(
            part=part, route=route, uses=part.response_url_uses + cost, unconfirmed=part.unconfirmed + cost
        )

    async def deliver(self, row: QuestionRow, *, audience: Audience, first: FirstPost | None = None) -> bool:
        """Post the remaining parts; return whether all are posted. Raises ClaimLost if another worker took over.

        `first` is the first post, if it is already recorded.
        """
        uses = row.response_uses
        for number in range(row.part, len(row.messages or ())):
            if first is not None and number == row.part:
                delivered, uses = await self._send_part(first.part, recorded=first.route)
            else:
                part = _outgoing_part(row, number, audience, response_url_uses=uses)
                delivered, uses = await self._send_part(part, recorded=None)
            if not delivered:
                return False
        return True

    async def _send_part(self, part: OutgoingPart, *, recorded: Route | None) -> tuple[bool, int]:
        """Post one part with retries; return whether it is posted, and the uses of the response_url so far.

        `recorded` is the route of the part's first post if the database already records that post, otherwise None.
        """
        state = _PartState(started=self.clock())
        while self._elapsed(state.started) < MAX_DELIVERY_SECONDS:
            part = self._with_age(part)
            route = recorded or self._route(part, closed=state.closed)
            if route is None and not state.retry_after:
                return False, part.response_url_uses
            if route is None:
                await self._wait_for_routes(state)
                continue
            used = replace(
                part,
                response_url_uses=part.response_url_uses + route.response_url_cost,
                unconfirmed=part.unconfirmed + route.response_url_cost,
            )
            if recorded is None:
                await self._mark_sending(used)
            recorded = None
            result = await route.post(used)
            _log(part, result, route=route)
            part = _after_post(result, part, used)
            match result:
                case Sent():
                    return True, part.response_url_uses
                case Rejected() if part.message.blocks:
                    part = replace(part, message=without_blocks(part.message))
                case RouteClosed() | Rejected():
                    state.closed.add(route.name)
                case Retryable() if needs_long_pause(result):
                    state.closed.add(route.name)
                    state.retry_after[route.name] = result.seconds or 0.0
                case Retryable():
                    part = _after_failure(part, result, state, route=route)
                    await self._pause(result, state)
        return False, part.response_url_uses

    def _route(self, part: OutgoingPart, *, closed: Collection[str]) -> Route | None:
        return next((route for route in self.routes if route.name not in closed and route.accepts(part)), None)

    def _with_age(self, part: OutgoingPart) -> OutgoingPart:
        return replace(part, age=self._elapsed(part.row.received))

    async def _wait_for_routes(self, state: _PartState) -> None:
        """Wait until the first of the routes that asked for a long pause may be tried again, at most 300 seconds.

        Then reopen all of these routes.
        """
        await self.sleep(min(MAX_WAIT_SECONDS, *state.retry_after.values()))
        state.closed -= state.retry_after.keys()
        state.retry_after.clear()

    async def _pause(self, result: Retryable, state: _PartState) -> None:
        if result.seconds is not None:
            pause = max(MIN_PAUSE_SECONDS, result.seconds)
        elif result.unverifiable:
            pause = SLACK_ERROR_PAUSE_SECONDS if result.error.startswith("http_5") else UNVERIFIABLE_PAUSE_SECONDS
        else:
            pause = self.jitter(state.pause / 2, state.pause)
            state.pause = min(MAX_PAUSE_SECONDS, state.pause * 2)
        await self.sleep(pause)

    def _elapsed(self, moment: float) -> float:
        return self.clock() - moment

    async def _mark_sending(self, part: OutgoingPart) -> None:
        ours = await self.database_retry(
            lambda: self.questions.mark_sending(
                part.row, part.number, uses=part.response_url_uses, unconfirmed=part.unconfirmed
            )
        )
        if not ours:
            raise ClaimLost


def _outgoing_part(row: QuestionRow, number: int, audience: Audience, *, response_url_uses: int) -> OutgoingPart:
    first = number == row.part
    return OutgoingPart(
        row=row,
        number=number,
        message=escaping.sanitize_message((row.messages or ())[number]),
        audience=audience,
        maybe_posted=first and _may_be_posted(row),
        response_url_uses=response_url_uses,
        unconfirmed=row.unconfirmed if first else 0,
    )


def _after_post(result: PostResult, part: OutgoingPart, used: OutgoingPart) -> OutgoingPart:
    """Return `part` with the counts after a post; `used` is the part with the post counted as not confirmed.

    A retryable failure counts like this only if Slack may have the post; otherwise it is not counted. If Slack replied,
    the post counts as a use of the response_url, and as confirmed.
    """
    if not isinstance(result, Retryable):
        return replace(part, response_url_uses=used.response_url_uses)
    return used if result.maybe_posted else part


def _after_failure(part: OutgoingPart, result: Retryable, state: _PartState, *, route: Route) -> OutgoingPart:
    """Return the part to try next, and update the state after a failure."""
    state.unverifiable += result.unverifiable
    state.slack_errors = state.slack_errors + 1 if result.slack_error else 0
    if state.unverifiable >= UNVERIFIABLE_TRIES:
        state.closed.add(route.name)
        state.unverifiable = 0
    if state.slack_errors >= SLACK_ERROR_TRIES and part.message.blocks:
        part = replace(part, message=without_blocks(part.message))
    return replace(part, maybe_posted=part.maybe_posted or result.maybe_posted)


def _may_be_posted(row: QuestionRow) -> bool:
    """Return whether the row's part may already be posted.

    This is so after an interruption of an earlier worker, and in a thread if the pending message's `ts` is unknown.
    """
    unknown_pending = row.part == 0 and row.thread_ts is not None and row.message_ts is None
    return row.redeliveries > 0 or unknown_pending


def _log(part: OutgoingPart, result: PostResult, *, route: Route) -> None:
    extra = {
        "question": part.question_id,
        "part": part.number,
        "route": route.name,
        "error": None if isinstance(result, Sent) else result.error,
    }
    log.log(logging.INFO if isinstance(result, Sent) else logging.WARNING, "part.posted", extra=extra)
