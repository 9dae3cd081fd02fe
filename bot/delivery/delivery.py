"""Delivers the parts of one answer in order: chooses the route, waits between attempts, and gives up in the end.

The database records each part before it is posted, so that after a crash only that part may be posted twice. A route
posts one part once: by the response_url, or to a channel, a thread or a direct message.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass, field, replace
from functools import partial
from random import uniform
from time import monotonic

from bot.blocks import escaping
from bot.blocks.escaping import unescape_slack
from bot.blocks.messages import as_direct_message, without_blocks
from bot.model.message import Audience, OutgoingMessage
from bot.model.question import CHANNEL_THREADS, QuestionRow
from bot.slack.messages import (
    FAILURES,
    LIFETIME_SECONDS,
    MAX_USES,
    Chat,
    Found,
    LookupForbidden,
    LookupResult,
    NotFound,
    PostResult,
    Rejected,
    ResponseUrls,
    Retryable,
    RouteClosed,
    Sent,
    classify_error,
    is_slack_url,
)
from bot.slack.streams import Streams
from bot.storage.questions import DatabaseRetry, QuestionStore

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
"""The pause before the app repeats a post that cannot be looked up.

The post has probably arrived. After the pause, Slack may work again.
"""

SLACK_ERROR_PAUSE_SECONDS = 25.0
"""The shorter pause if Slack replied with a server error (5xx): the post has probably not arrived."""

MAX_WAIT_SECONDS = 300.0
"""Routes that asked for a pause are tried again after this time at the latest."""


class ClaimLost(Exception):
    """Another worker has claimed the question, or it was closed, so this worker must post nothing more.

    `noted` is True if the question was stopped and its message already says so, below the text shown so far.
    """

    noted = False


@dataclass(kw_only=True)
class _PartState:
    """The state of delivering one part.

    `closed` has the names of the routes that are not tried now. `retry_after` maps the names of closed routes that may
    be tried again to the seconds until then.
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
                part, recorded = first.part, first.route
            else:
                part, recorded = _outgoing_part(row, number, audience, response_url_uses=uses), None
            delivered, uses = await self._send_part(part, recorded=recorded)
            if not delivered:
                return False
        return True

    async def _send_part(self, part: OutgoingPart, *, recorded: Route | None) -> tuple[bool, int]:
        """Post one part with retries; return whether it is posted, and the uses of the response_url so far.

        `recorded` is the route of the part's first post if the database already records that post, otherwise None.
        """
        state = _PartState(started=self.clock())
        while self.clock() - state.started < MAX_DELIVERY_SECONDS:
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
        return replace(part, age=self.clock() - part.row.received)

    async def _wait_for_routes(self, state: _PartState) -> None:
        """Wait until one of the routes that asked for a long pause may be tried again, at most 300 seconds.

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
    """Return `part` with the counts after a post; `used` is the part with the post counted as unconfirmed.

    Only posts to the response_url are counted. If Slack accepted or refused such a post, it counts as a use. After a
    retryable failure, it counts as a use and as unconfirmed if it may have arrived, and otherwise as neither.
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

    This is so if an earlier worker was interrupted. It is also so for the first part in a thread, if the pending
    message's `ts` is unknown.
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


DIGEST_SURFACE = "digest"
"""The surface of a digest's questions, whose text no person typed."""

MAX_UNCONFIRMED = 2
"""How often a part may be posted to a response_url without a clear reply from Slack: each post may be a duplicate."""


@dataclass(frozen=True, kw_only=True)
class OutgoingPart:
    """One part of a question's answer; `number` counts from 0.

    `maybe_posted` means that Slack may have the part already. `response_url_uses` counts the uses of the response_url
    so far, `unconfirmed` this part's posts to it without a clear reply. `age` is the question's age in seconds.
    """

    row: QuestionRow
    number: int
    message: OutgoingMessage
    audience: Audience
    maybe_posted: bool = False
    response_url_uses: int = 0
    unconfirmed: int = 0
    age: float = 0.0

    @property
    def private(self) -> bool:
        """Whether only the asker may see the part, and the question was asked in a channel that others can read."""
        return self.message.private and self.row.surface in CHANNEL_THREADS

    @property
    def replaces_pending(self) -> bool:
        """Whether the part replaces the pending message, as the first one of a private answer does.

        It does not if the question was asked by a click below an answer: the part would replace the clicked answer.
        """
        return self.number == 0 and self.audience is Audience.ASKER and not self.row.action

    @property
    def question_id(self) -> str:
        """The question's id, which the metadata of its messages contains."""
        return str(self.row.id)


@dataclass(frozen=True, kw_only=True)
class Route:
    """A way to post a part: `accepts` returns whether the part can be posted like this, and `post` posts it once.

    `name` is for the log. `response_url_cost` is how many of the response_url's five uses a post takes.
    """

    name: str
    accepts: Callable[[OutgoingPart], bool]
    post: Callable[[OutgoingPart], Awaitable[PostResult]]
    response_url_cost: int = 0


def response_url_route(response_urls: ResponseUrls, *, slack_api_url: str) -> Route:
    """Build the route to the response_url of a slash command or a click."""

    def accepts(part: OutgoingPart) -> bool:
        """Return whether the response_url can be used, and at most one post of the part to it got no clear reply."""
        return part.unconfirmed < MAX_UNCONFIRMED and response_url_usable(
            part.row, uses=part.response_url_uses, age=part.age, slack_api_url=slack_api_url
        )

    async def post(part: OutgoingPart) -> PostResult:
        """Post the part; the first part of a private answer replaces the pending message if possible."""
        url = part.row.response_url or ""
        result = await response_urls.post(url, part.message, audience=part.audience, replace=part.replaces_pending)
        if isinstance(result, Retryable) and result.maybe_posted:
            return replace(result, unverifiable=True)
        return result

    return Route(name="response_url", accepts=accepts, post=post, response_url_cost=1)


async def post_in_channel(part: OutgoingPart, *, chat: Chat) -> PostResult:
    """Post the part to the question's channel, in its thread if it has one, unless it is already there.

    Slack refuses if the app is not a member of the channel.
    """
    return await post_once(chat, part, channel=part.row.channel_id, thread_ts=part.row.thread_ts)


def channel_route(chat: Chat) -> Route:
    """Build the route for the rest of a public answer after the response_url's last use."""

    def accepts(part: OutgoingPart) -> bool:
        return part.number > 0 and part.audience is Audience.CHANNEL and part.row.response_url is not None

    return Route(name="in_channel", accepts=accepts, post=partial(post_in_channel, chat=chat))


def thread_route(chat: Chat) -> Route:
    """Build the route to the thread of the question."""

    def accepts(part: OutgoingPart) -> bool:
        return part.row.thread_ts is not None and not part.private

    return Route(name="thread", accepts=accepts, post=partial(post_in_channel, chat=chat))


def digest_route(chat: Chat, *, on_closed: Callable[[QuestionRow, str], Awaitable[None]]) -> Route:
    """Build the route to the channel of a digest; `on_closed` receives Slack's error if the app may not post there."""

    def accepts(part: OutgoingPart) -> bool:
        return part.row.surface == DIGEST_SURFACE and part.audience is Audience.CHANNEL

    async def post(part: OutgoingPart) -> PostResult:
        result = await post_in_channel(part, chat=chat)
        if isinstance(result, RouteClosed):
            await on_closed(part.row, result.error)
        return result

    return Route(name="channel", accepts=accepts, post=post)


def edit_message_route(chat: Chat, streams: Streams) -> Route:
    """Build the route that replaces the app's pending message, or its streamed messages, in the thread."""

    def accepts(part: OutgoingPart) -> bool:
        """Return whether the thread has a message for this part: a pending one, or the text as it was streamed."""
        return _message_to_edit(part.row, part.number) is not None and not part.private

    async def post(part: OutgoingPart) -> PostResult:
        """Replace the pending message with the part.

        If Slack does not let the app change the message, or only after a long pause, delete it. Another route then
        posts the part; if the pending message stayed, it would say forever that the app is searching.
        """
        channel, ts = part.row.channel_id, _message_to_edit(part.row, part.number) or ""
        result = await chat.update(channel, ts, part.message)
        if isinstance(result, RouteClosed) and result.error == STILL_STREAMED:
            await streams.stop(channel, ts, question=part.question_id, part=part.number)
            return Retryable(error=result.error)
        if _cannot_update(result, part) or (isinstance(result, Retryable) and needs_long_pause(result)):
            await chat.delete(channel, ts)
        return result

    return Route(name="update", accepts=accepts, post=post)


MAX_RATE_LIMIT_SECONDS = 60.0
"""If Slack asks for a longer pause, the other routes are tried first."""


def needs_long_pause(result: Retryable) -> bool:
    """Return whether Slack asks for such a long pause that another route is tried first."""
    return result.seconds is not None and result.seconds > MAX_RATE_LIMIT_SECONDS


STILL_STREAMED = "streaming_state_conflict"
"""Slack's error for changing a message whose stream was not ended."""


def _message_to_edit(row: QuestionRow, part: int) -> str | None:
    if row.thread_ts is None:
        return None
    if row.streams:
        return row.streams[part] if part < len(row.streams) else None
    return row.message_ts if part == 0 else None


def ephemeral_route(chat: Chat) -> Route:
    """Build the route for private parts: only the asker sees the message, as long as the channel is open in Slack.

    Slack shows it in a thread only if the thread has replies:
    https://docs.slack.dev/reference/methods/chat.postEphemeral
    """

    def accepts(part: OutgoingPart) -> bool:
        return part.private

    async def post(part: OutgoingPart) -> PostResult:
        """Post the part. An ephemeral message cannot be looked up, so it is posted again if Slack's reply was lost."""
        row = part.row
        thread_ts = None if row.begins_thread else row.thread_ts
        return await chat.post_ephemeral(row.channel_id, row.user_id, part.message, thread_ts=thread_ts)

    return Route(name="ephemeral", accepts=accepts, post=post)


def direct_message_route(chat: Chat, *, delete_pending: Callable[[QuestionRow], Awaitable[None]]) -> Route:
    """Build the route that posts a direct message to the asker, if every other route is closed.

    `delete_pending` deletes the pending message, or the message that has replaced it without a clear reply from Slack.
    """

    def accepts(part: OutgoingPart) -> bool:
        return bool(part.row.user_id)

    async def post(part: OutgoingPart) -> PostResult:
        """Post the part, with the reason and the question, unless it is already there."""
        row = part.row
        try:
            channel = await chat.open_direct_message(row.user_id)
        except FAILURES as error:
            return classify_error(error)
        message = as_direct_message(
            part.message,
            part=part.number,
            question=None if row.surface == DIGEST_SURFACE else unescape_slack(row.text),
            public=part.audience is Audience.CHANNEL,
            unconfirmed=part.unconfirmed > 0,
            age=part.age,
        )
        direct = replace(part, message=escaping.sanitize_message(message))
        posted = await post_once(chat, direct, channel=channel, thread_ts=None)
        if isinstance(posted, Sent) and part.replaces_pending:
            await delete_pending(row)
        return posted

    return Route(name="direct_message", accepts=accepts, post=post)


def default_routes(
    chat: Chat,
    streams: Streams,
    response_urls: ResponseUrls,
    *,
    slack_api_url: str,
    delete_pending: Callable[[QuestionRow], Awaitable[None]],
) -> tuple[Route, ...]:
    """Return every route for an answer in the order in which they are tried."""
    return (
        response_url_route(response_urls, slack_api_url=slack_api_url),
        channel_route(chat),
        ephemeral_route(chat),
        edit_message_route(chat, streams),
        thread_route(chat),
        direct_message_route(chat, delete_pending=delete_pending),
    )


def response_url_usable(row: QuestionRow, *, uses: int, age: float, slack_api_url: str) -> bool:
    """Return whether a question's response_url is Slack's, not expired after `age` seconds, and not used up."""
    return age < LIFETIME_SECONDS and uses < MAX_USES and is_slack_url(row.response_url, slack_api_url=slack_api_url)


def leaves_placeholder(row: QuestionRow, audience: Audience) -> bool:
    """Return whether the private pending message remains next to the answer, because the answer is for everyone."""
    return audience is Audience.CHANNEL and (row.surface == "slash" or row.replaces_clicked)


async def post_once(chat: Chat, part: OutgoingPart, *, channel: str, thread_ts: str | None) -> PostResult:
    """Post the part unless it is already there; in a thread, update the message found, which may be the pending one."""
    found: LookupResult = NotFound()
    if part.maybe_posted:
        found = await chat.find(
            channel, question=part.question_id, part=part.number, thread_ts=thread_ts, since=part.row.received_at
        )
    match found:
        case Retryable():
            return found
        case Found() if thread_ts is None:
            return Sent(ts=found.ts)
        case Found(ts=ts):
            changed = await chat.update(channel, ts, part.message)
            if not _cannot_update(changed, part):
                return changed
            await chat.delete(channel, ts)
    posted = await chat.post(channel, part.message, question=part.question_id, part=part.number, thread_ts=thread_ts)
    if isinstance(posted, Retryable) and posted.maybe_posted:
        return replace(posted, unverifiable=isinstance(found, LookupForbidden))
    return posted


def _cannot_update(result: PostResult, part: OutgoingPart) -> bool:
    """Return whether a message can be changed neither to the part nor to its plain text."""
    return isinstance(result, RouteClosed) or (isinstance(result, Rejected) and not part.message.blocks)
