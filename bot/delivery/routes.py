"""Posts one part of an answer once by one route: the response_url, a channel, a thread or a direct message."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Protocol

from bot.blocks import escaping
from bot.blocks.escaping import unescape_slack
from bot.blocks.messages import as_direct_message
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
        """Whether the part is the first of a private answer, which replaces the pending message."""
        return self.number == 0 and self.audience is Audience.ASKER and not self.row.action

    @property
    def question_id(self) -> str:
        """The question's id, which the metadata of its messages contains."""
        return str(self.row.id)


class Route(Protocol):
    """One way to post a part."""

    @property
    def name(self) -> str:
        """The name in the log."""
        ...

    @property
    def response_url_cost(self) -> int:
        """How many of the response_url's five uses a post takes."""
        ...

    def accepts(self, part: OutgoingPart) -> bool:
        """Return whether the part can be posted by this route."""
        ...

    async def post(self, part: OutgoingPart) -> PostResult:
        """Post the part once."""
        ...


@dataclass(frozen=True, kw_only=True)
class ResponseUrlRoute:
    """Posts to the response_url of a slash command or a click."""

    response_urls: ResponseUrls
    slack_api_url: str
    name: str = "response_url"
    response_url_cost: int = 1

    def accepts(self, part: OutgoingPart) -> bool:
        """Return whether the response_url can be used, and at most one post of the part to it got no clear reply."""
        if part.unconfirmed >= MAX_UNCONFIRMED:
            return False
        return response_url_usable(
            part.row, uses=part.response_url_uses, age=part.age, slack_api_url=self.slack_api_url
        )

    async def post(self, part: OutgoingPart) -> PostResult:
        """Post the part; the first part of a private answer replaces the pending message if possible."""
        url = part.row.response_url or ""
        result = await self.response_urls.post(url, part.message, audience=part.audience, replace=part.replaces_pending)
        if isinstance(result, Retryable) and result.maybe_posted:
            return replace(result, unverifiable=True)
        return result


@dataclass(frozen=True, kw_only=True)
class ChatRoute:
    """Posts to the question's channel, in its thread if it has one.

    `accepts` returns whether a part belongs there. `on_closed` receives Slack's error if the app may not post there.
    """

    chat: Chat
    name: str
    accepts: Callable[[OutgoingPart], bool]
    on_closed: Callable[[QuestionRow, str], Awaitable[None]] | None = None
    response_url_cost: int = 0

    async def post(self, part: OutgoingPart) -> PostResult:
        """Post the part unless it is already there; Slack refuses if the app is not a member of the channel."""
        row = part.row
        result = await post_once(self.chat, part, channel=row.channel_id, thread_ts=row.thread_ts)
        if isinstance(result, RouteClosed) and self.on_closed is not None:
            await self.on_closed(row, result.error)
        return result


def channel_route(chat: Chat) -> ChatRoute:
    """Build the route for the rest of a public answer after the response_url's last use."""
    return ChatRoute(
        chat=chat,
        name="in_channel",
        accepts=lambda part: (
            part.number > 0 and part.audience is Audience.CHANNEL and part.row.response_url is not None
        ),
    )


def thread_route(chat: Chat) -> ChatRoute:
    """Build the route to the thread of the question."""
    return ChatRoute(chat=chat, name="thread", accepts=lambda part: part.row.thread_ts is not None and not part.private)


def digest_route(chat: Chat, *, on_closed: Callable[[QuestionRow, str], Awaitable[None]]) -> ChatRoute:
    """Build the route to the channel of a digest."""
    return ChatRoute(
        chat=chat,
        name="channel",
        accepts=lambda part: part.row.surface == DIGEST_SURFACE and part.audience is Audience.CHANNEL,
        on_closed=on_closed,
    )


@dataclass(frozen=True, kw_only=True)
class EditMessageRoute:
    """Replaces the app's pending message, or its streamed messages, in the thread with the answer."""

    chat: Chat
    streams: Streams
    name: str = "update"
    response_url_cost: int = 0

    def accepts(self, part: OutgoingPart) -> bool:
        """Return whether the thread has a message for this part: a pending one, or the text as it was streamed."""
        return _message_to_edit(part.row, part.number) is not None and not part.private

    async def post(self, part: OutgoingPart) -> PostResult:
        """Replace the pending message with the part.

        If Slack does not let the app change the message, or only after a long pause, delete it. Another route then
        posts the part; if the pending message stayed, it would say forever that the app is searching.
        """
        channel, ts = part.row.channel_id, _message_to_edit(part.row, part.number) or ""
        result = await self.chat.update(channel, ts, part.message)
        if isinstance(result, RouteClosed) and result.error == STILL_STREAMED:
            await self.streams.stop(channel, ts, question=part.question_id, part=part.number)
            return Retryable(error=result.error)
        if _cannot_update(result, part) or (isinstance(result, Retryable) and needs_long_pause(result)):
            await self.chat.delete(channel, ts)
        return result


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


@dataclass(frozen=True, kw_only=True)
class EphemeralRoute:
    """Posts a message in the channel that only the asker sees, as long as they have the channel open in Slack.

    Slack shows it in a thread only if the thread has replies:
    https://docs.slack.dev/reference/methods/chat.postEphemeral
    """

    chat: Chat
    name: str = "ephemeral"
    response_url_cost: int = 0

    def accepts(self, part: OutgoingPart) -> bool:
        """Return whether the part is private and the question was asked in a channel."""
        return part.private

    async def post(self, part: OutgoingPart) -> PostResult:
        """Post the part. Slack cannot look such a message up, so it is posted again if the reply was lost."""
        row = part.row
        thread_ts = None if row.begins_thread else row.thread_ts
        return await self.chat.post_ephemeral(row.channel_id, row.user_id, part.message, thread_ts=thread_ts)


@dataclass(frozen=True, kw_only=True)
class DirectMessageRoute:
    """Posts a direct message to the asker, if every other route is closed.

    `delete_pending` deletes the pending message, or the message that has replaced it without a clear reply from Slack.
    """

    chat: Chat
    delete_pending: Callable[[QuestionRow], Awaitable[None]]
    name: str = "direct_message"
    response_url_cost: int = 0

    def accepts(self, part: OutgoingPart) -> bool:
        """Return whether the asker is known."""
        return bool(part.row.user_id)

    async def post(self, part: OutgoingPart) -> PostResult:
        """Post the part, with the reason and the question, unless it is already there."""
        try:
            channel = await self.chat.open_direct_message(part.row.user_id)
        except FAILURES as error:
            return classify_error(error)
        row = part.row
        message = as_direct_message(
            part.message,
            part=part.number,
            question=None if row.surface == DIGEST_SURFACE else unescape_slack(row.text),
            public=part.audience is Audience.CHANNEL,
            unconfirmed=part.unconfirmed > 0,
            age=part.age,
        )
        posted = await post_once(
            self.chat, replace(part, message=escaping.sanitize_message(message)), channel=channel, thread_ts=None
        )
        if isinstance(posted, Sent) and part.replaces_pending:
            await self.delete_pending(row)
        return posted


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
        ResponseUrlRoute(response_urls=response_urls, slack_api_url=slack_api_url),
        channel_route(chat),
        EphemeralRoute(chat=chat),
        EditMessageRoute(chat=chat, streams=streams),
        thread_route(chat),
        DirectMessageRoute(chat=chat, delete_pending=delete_pending),
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
