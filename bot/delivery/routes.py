"""The ways that a message can take to the asker.

A way posts one letter once and says what came of it. Whether to try again, and which way comes next, others decide.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Protocol

from bot.blocks import escaping
from bot.blocks.escaping import unescape_slack
from bot.blocks.messages import as_direct_message
from bot.model.message import Audience, OutgoingMessage
from bot.slack.messages import (
    FAILURES,
    Chat,
    Found,
    LookupForbidden,
    LookupResult,
    NotFound,
    PostResult,
    Rejected,
    Retryable,
    RouteClosed,
    Sent,
    classify_error,
)
from bot.slack.response_url import LIFETIME_SECONDS, MAX_USES, ResponseUrls, is_slack_url
from bot.storage.questions import QuestionRow


@dataclass(frozen=True, kw_only=True)
class OutgoingPart:
    """One part on its way: the question, the part's number from 0; `maybe_posted` says that it may be out already.

    `response_url_uses` counts the uses of the response_url so far, `unconfirmed` this part's posts to it that got no
    clear reply; `age` is the seconds since the question was received.
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
        """Whether it must not be seen by others although the question was asked where they read it."""
        return self.message.private and self.row.surface == "mention"

    @property
    def question_id(self) -> str:
        """The question's id, by which its messages are found again."""
        return str(self.row.id)


DIGEST_SURFACE = "digest"
"""The surface of a digest's questions, whose text no person typed."""

MAX_UNCONFIRMED = 2
"""The most posts of a part to a response_url without a clear reply from Slack: each may be a copy."""


def response_url_usable(row: QuestionRow, *, uses: int, age: float, slack_api_url: str) -> bool:
    """Tell whether a question's response_url is Slack's, fresh after `age` seconds, and not used up."""
    return age < LIFETIME_SECONDS and uses < MAX_USES and is_slack_url(row.response_url, slack_api_url=slack_api_url)


def leaves_placeholder(row: QuestionRow, audience: Audience) -> bool:
    """Return whether a placeholder that only the asker sees is left, since everyone sees the answer."""
    return audience is Audience.CHANNEL and row.surface in {"slash", "click"}


class Route(Protocol):
    """One way out."""

    @property
    def name(self) -> str:
        """What the log calls it."""
        ...

    @property
    def response_url_cost(self) -> int:
        """What a post takes of the response_url's five."""
        ...

    def accepts(self, part: OutgoingPart) -> bool:
        """Tell whether the letter can go this way at all."""
        ...

    async def post(self, part: OutgoingPart) -> PostResult:
        """Post the letter once."""
        ...


@dataclass(frozen=True, kw_only=True)
class ResponseUrlRoute:
    """The address that came with a slash command or a click."""

    response_urls: ResponseUrls
    slack_api_url: str
    name: str = "response_url"
    response_url_cost: int = 1

    def accepts(self, letter: OutgoingPart) -> bool:
        """Return whether the address is Slack's, fresh and not used up, and this part was not sent to it twice."""
        if letter.unconfirmed >= MAX_UNCONFIRMED:
            return False
        return response_url_usable(
            letter.row, uses=letter.response_url_uses, age=letter.age, slack_api_url=self.slack_api_url
        )

    async def post(self, letter: OutgoingPart) -> PostResult:
        """Post the letter, a private answer's first part in the place of the line that said it was searched for."""
        replaces = letter.number == 0 and letter.audience is Audience.ASKER
        url = letter.row.response_url or ""
        result = await self.response_urls.post(url, letter.message, audience=letter.audience, replace=replaces)
        if isinstance(result, Retryable) and result.maybe_posted:
            return replace(result, unverifiable=True)
        return result


@dataclass(frozen=True, kw_only=True)
class ChannelRoute:
    """The channel itself, where the response_url has no use left for the rest of what everyone there reads."""

    chat: Chat
    name: str = "in_channel"
    response_url_cost: int = 0

    def accepts(self, letter: OutgoingPart) -> bool:
        """Tell whether the letter goes on with what stands in the channel already."""
        row = letter.row
        return letter.number > 0 and letter.audience is Audience.CHANNEL and row.response_url is not None

    async def post(self, letter: OutgoingPart) -> PostResult:
        """Post the letter, unless it is found there; Slack takes it only where the app is a member."""
        return await post_once(self.chat, letter, channel=letter.row.channel_id)


@dataclass(frozen=True, kw_only=True)
class EditMessageRoute:
    """The app's own message in the thread that said it was searching: the answer takes its place."""

    chat: Chat
    name: str = "update"
    response_url_cost: int = 0

    def accepts(self, letter: OutgoingPart) -> bool:
        """Tell whether there is such a message for the first part."""
        there = letter.row.thread_ts is not None and letter.row.message_ts is not None
        return letter.number == 0 and there and not letter.private

    async def post(self, letter: OutgoingPart) -> PostResult:
        """Put the letter there. A message that cannot be changed goes: it would say for ever that it is searching."""
        channel, ts = letter.row.channel_id, letter.row.message_ts or ""
        result = await self.chat.update(channel, ts, letter.message)
        if _cannot_update(result, letter):
            await self.chat.delete(channel, ts)
        return result


@dataclass(frozen=True, kw_only=True)
class ThreadRoute:
    """A further message in the thread where the question was asked."""

    chat: Chat
    name: str = "thread"
    response_url_cost: int = 0

    def accepts(self, letter: OutgoingPart) -> bool:
        """Tell whether the question was asked in a conversation that can have threads."""
        return letter.row.thread_ts is not None and not letter.private

    async def post(self, letter: OutgoingPart) -> PostResult:
        """Post the letter, unless it is found there."""
        return await post_once(self.chat, letter, channel=letter.row.channel_id, thread_ts=letter.row.thread_ts)


@dataclass(frozen=True, kw_only=True)
class EphemeralRoute:
    """A message in the channel that only the asker sees, and sees only while there: what others should not read.

    It is shown in a thread only if that has replies: https://docs.slack.dev/reference/methods/chat.postEphemeral
    """

    chat: Chat
    name: str = "ephemeral"
    response_url_cost: int = 0

    def accepts(self, letter: OutgoingPart) -> bool:
        """Return whether the letter is private and the question was asked in a channel."""
        return letter.private

    async def post(self, letter: OutgoingPart) -> PostResult:
        """Post the letter. Nobody can look it up, so one whose reply was lost is posted again."""
        row = letter.row
        thread_ts = None if row.begins_thread else row.thread_ts
        return await self.chat.post_ephemeral(row.channel_id, row.user_id, letter.message, thread_ts=thread_ts)


@dataclass(frozen=True, kw_only=True)
class DirectMessageRoute:
    """The direct message between the app and the asker, where every other way is closed."""

    chat: Chat
    name: str = "direct_message"
    response_url_cost: int = 0

    def accepts(self, letter: OutgoingPart) -> bool:
        """Tell that this way is always there to be tried."""
        return bool(letter.row.user_id)

    async def post(self, letter: OutgoingPart) -> PostResult:
        """Post the letter, unless it is found there. It says why it is sent directly and quotes the question."""
        try:
            channel = await self.chat.open_direct_message(letter.row.user_id)
        except FAILURES as error:
            return classify_error(error)
        row = letter.row
        message = as_direct_message(
            letter.message,
            part=letter.number,
            question=None if row.surface == DIGEST_SURFACE else unescape_slack(row.text),
            public=letter.audience is Audience.CHANNEL,
            unconfirmed=letter.unconfirmed > 0,
            age=letter.age,
        )
        return await post_once(self.chat, replace(letter, message=escaping.sanitize_message(message)), channel=channel)


async def post_once(chat: Chat, letter: OutgoingPart, *, channel: str, thread_ts: str | None = None) -> PostResult:
    """Post the letter, unless it stands there; a first part that is found may be the searching line still."""
    question, part = letter.question_id, letter.number
    looked: LookupResult = NotFound()
    if letter.maybe_posted:
        looked = await chat.find(
            channel, question=question, part=part, thread_ts=thread_ts, since=letter.row.received_at
        )
    match looked:
        case Retryable():
            return looked
        case Found() if thread_ts is None:
            return Sent(ts=looked.ts)
        case Found(ts=ts):
            changed = await chat.update(channel, ts, letter.message)
            if not _cannot_update(changed, letter):
                return changed
            await chat.delete(channel, ts)
    posted = await chat.post(channel, letter.message, question=question, part=part, thread_ts=thread_ts)
    if isinstance(posted, Retryable) and posted.maybe_posted:
        return replace(posted, unverifiable=isinstance(looked, LookupForbidden))
    return posted


def _cannot_update(result: PostResult, part: OutgoingPart) -> bool:
    """Tell whether a message can be changed neither to the letter nor to its words as plain text."""
    return isinstance(result, RouteClosed) or (isinstance(result, Rejected) and not part.message.blocks)


@dataclass(frozen=True, kw_only=True)
class DigestChannelRoute:
    """The channel itself. `on_closed` is told when Slack does not let the app post there, and Slack's word for why."""

    chat: Chat
    surface: str
    on_closed: Callable[[QuestionRow, str], Awaitable[None]]
    name: str = "channel"
    response_url_cost: int = 0

    def accepts(self, letter: OutgoingPart) -> bool:
        """Tell whether the letter is for everyone there, and nobody asked for it there and then."""
        return letter.row.surface == self.surface and letter.audience is Audience.CHANNEL

    async def post(self, letter: OutgoingPart) -> PostResult:
        """Post the letter, unless it is found there."""
        result = await post_once(self.chat, letter, channel=letter.row.channel_id)
        if isinstance(result, RouteClosed):
            await self.on_closed(letter.row, result.error)
        return result
