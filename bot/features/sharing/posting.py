"""Posts a shared answer once: by `chat.postMessage`, or by the click's response_url if Slack does not allow this.

If Slack does not reply to a post, the message may have arrived, so it is never posted again. Slack does not name a
message that was posted by a response_url, so such a post cannot be undone.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from uuid import UUID

from bot.blocks import escaping
from bot.blocks.answer import undo_button
from bot.blocks.elements import section, spoken
from bot.blocks.escaping import escape
from bot.blocks.messages import without_blocks
from bot.commands.routing import APP_NAME
from bot.delivery.status_message import delete
from bot.model.message import Audience, Block, OutgoingMessage
from bot.slack.messages import (
    FAILURES,
    Chat,
    PostResult,
    Rejected,
    ResponseUrls,
    Retryable,
    RouteClosed,
    Sent,
    is_slack_url,
)
from bot.storage.database import DATABASE_UNAVAILABLE
from bot.storage.questions import DatabaseRetry, Pool
from bot.translation import N_
from bot.translation import gettext as _

log = logging.getLogger(__name__)

MAX_TRIES = 3
MAX_PAUSE_SECONDS = 5.0

_ASKER_LEFT, _NOT_CHECKED = "asker_not_in_channel", "asker_not_checked"
_NOT_A_MEMBER = N_("I’m not in {channel}. Type `/invite @{app}` there, then share again.")
_REFUSALS = {
    "not_in_channel": _NOT_A_MEMBER,
    "channel_not_found": _NOT_A_MEMBER,
    _ASKER_LEFT: N_("You’re not a member of {channel}, so I didn’t share the answer. Join it, then share again."),
    _NOT_CHECKED: N_("I can’t check that you’re a member of {channel}, so I didn’t share the answer. Ask again there."),
}
"""The sentences for errors of Slack and of the app; for all other errors, the sentence is `_NOT_LET`."""

_NOT_LET = N_("Slack doesn’t let me post in {channel}, so I didn’t share the answer.")


@dataclass(frozen=True, kw_only=True)
class Share:
    """An answer to post, and its place.

    `channel` names the channel `channel_id` in notices to the asker. `response_url` is the response_url of the click;
    `posts_there` is whether the click was in the channel `channel_id`.
    """

    question_id: UUID
    user_id: str
    channel_id: str
    channel: str
    messages: tuple[OutgoingMessage, ...]
    response_url: str | None = field(default=None, repr=False)
    posts_there: bool = True


@dataclass(frozen=True, kw_only=True)
class Sharing:
    """Posts shares; `sleep` pauses.

    `is_in_channel` returns whether a person is a member of a channel, None if Slack does not say.
    """

    store: ShareStore
    chat: Chat
    response_urls: ResponseUrls
    slack_api_url: str
    database_retry: DatabaseRetry
    is_in_channel: Callable[[str, str], Awaitable[bool | None]]
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep

    async def post(self, share: Share) -> None:
        """Post a share that was begun, and tell the asker the result. Raises nothing.

        If all messages were posted, the asker gets a button to undo the share. If all were posted, but Slack did not
        name each of them, the share cannot be undone, and the asker is told nothing.
        """
        by_url, posted = False, 0
        stamps: list[str | None] = []
        result: PostResult = Sent()
        for part, message in enumerate(share.messages):
            result, by_url = await self._post_part(share, escaping.sanitize_message(message), part, by_url=by_url)
            if not isinstance(result, Sent):
                break
            posted += 1
            stamps.append(result.ts)
        error = None if isinstance(result, Sent) else result.error
        extra = {"question": str(share.question_id), "parts": posted, "error": error}
        log.log(logging.INFO if error is None else logging.WARNING, "answer.shared", extra=extra)
        await self._record(share, result, posted)
        if isinstance(result, Sent) and all(stamps):
            undo = undo_button(share.question_id, share.channel_id, [stamp for stamp in stamps if stamp])
            await self._tell(share, _("Shared in {channel}.").format(channel=share.channel), undo)
        elif sentence := _sentence(share, result, posted):
            await self._tell(share, sentence)

    async def delete(self, channel_id: str, stamps: Sequence[str], *, response_url: str | None) -> None:
        """Delete the messages of a share, and show the result in place of the undo button's notice. Raises nothing."""
        deleted = [isinstance(await delete(self.chat, channel_id, ts), Sent) for ts in stamps]
        said = (
            _("Deleted. Only you see this answer now.") if all(deleted) else _("Slack didn’t let me delete all of it.")
        )
        if response_url is not None and is_slack_url(response_url, slack_api_url=self.slack_api_url):
            message = spoken(section(said))
            await self.response_urls.post(response_url, message, audience=Audience.ASKER, replace=True)

    async def _post_part(
        self, share: Share, message: OutgoingMessage, part: int, *, by_url: bool
    ) -> tuple[PostResult, bool]:
        """Post one message; return the result, and the value of `by_url` for the next message.

        With `by_url`, only the response_url is used; otherwise, the channel is tried first.
        """
        closed: PostResult | None = None
        if not by_url:
            if (refused := await self._refusal(share)) is not None:
                return refused, False
            question = f"{share.question_id}:share"
            closed = await self._try(
                lambda sent: self.chat.post(share.channel_id, sent, question=question, part=part), message
            )
            usable = share.posts_there and is_slack_url(share.response_url, slack_api_url=self.slack_api_url)
            if not (isinstance(closed, RouteClosed) and usable):
                return closed, False
        url = share.response_url or ""
        result = await self._try(
            lambda sent: self.response_urls.post(url, sent, audience=Audience.CHANNEL, replace=False), message
        )
        return (closed if isinstance(result, RouteClosed) and closed is not None else result), True

    async def _refusal(self, share: Share) -> RouteClosed | None:
        """Return why the app may not post for the asker, such as `_ASKER_LEFT`; None if the app may post.

        If Slack does not say whether the asker is a member, a click in the channel counts as proof of membership.
        """
        member = await self.is_in_channel(share.user_id, share.channel_id)
        if member is None and not share.posts_there:
            return RouteClosed(error=_NOT_CHECKED)
        return RouteClosed(error=_ASKER_LEFT) if member is False else None

    async def _try(
        self, post: Callable[[OutgoingMessage], Awaitable[PostResult]], message: OutgoingMessage
    ) -> PostResult:
        """Try up to `MAX_TRIES` times, until Slack accepts, may have accepted or finally refuses the message."""
        result = await post(message)
        for __ in range(MAX_TRIES - 1):
            match result:
                case Rejected() if message.blocks:
                    message = without_blocks(message)
                case Retryable(maybe_posted=False, seconds=seconds) if (seconds or 0.0) <= MAX_PAUSE_SECONDS:
                    await self.sleep(seconds or 0.5)
                case _:
                    return result
            result = await post(message)
        return result

    async def _record(self, share: Share, result: PostResult, posted: int) -> None:
        maybe = isinstance(result, Retryable) and result.maybe_posted
        state = ShareState.UNCONFIRMED if maybe else ShareState.POSTED
        try:
            if maybe or posted:
                await self.database_retry(lambda: self.store.finish(share.question_id, share.channel_id, state))
            else:
                await self.database_retry(lambda: self.store.cancel(share.question_id, share.channel_id))
        except DATABASE_UNAVAILABLE as error:
            log.warning("share.not_recorded", extra={"question": str(share.question_id), "error": type(error).__name__})

    async def _tell(self, share: Share, sentence: str, *buttons: Block) -> None:
        """Tell the asker by the response_url; if this fails, by a direct message.

        The response_url works even if the app is not in the channel.
        """
        message = escaping.sanitize_message(spoken(section(escape(sentence)), *buttons))
        url = share.response_url
        if url is not None and is_slack_url(url, slack_api_url=self.slack_api_url):
            told = await self.response_urls.post(url, message, audience=Audience.ASKER, replace=False)
            if isinstance(told, Sent):
                return
        try:
            channel = await self.chat.open_direct_message(share.user_id)
        except FAILURES as error:
            log.warning("share.not_told", extra={"question": str(share.question_id), "error": type(error).__name__})
            return
        await self.chat.post(channel, message, question=f"{share.question_id}:share", part=-1)


def _sentence(share: Share, result: PostResult, posted: int) -> str:
    """Return a sentence for the asker; empty if they see for themselves that the answer is shared."""
    match result:
        case Sent():
            return ""
        case Retryable(maybe_posted=True):
            said = _(
                "Slack didn’t confirm that it posted your answer. Look in {channel}: I won’t post it a second time."
            )
        case _ if posted:
            said = _("Slack accepted only the first {posted} of {count} messages of your answer in {channel}.")
        case RouteClosed(error=error):
            said = _(_REFUSALS.get(error, _NOT_LET))
        case _:
            said = _("Slack didn’t accept what you shared. Please share again in a minute.")
    return said.format(channel=share.channel, app=APP_NAME, posted=posted, count=len(share.messages))


_BEGIN = """
    INSERT INTO shares (question_id, channel_id)
    SELECT id, %(channel_id)s FROM questions WHERE id = %(id)s
    ON CONFLICT DO NOTHING
    RETURNING question_id
"""
_STATE = "SELECT state FROM shares WHERE question_id = %(id)s AND channel_id = %(channel_id)s"
_FINISH = "UPDATE shares SET state = %(state)s, at = now() WHERE question_id = %(id)s AND channel_id = %(channel_id)s"
_CANCEL = "DELETE FROM shares WHERE question_id = %(id)s AND channel_id = %(channel_id)s"


_TAKE_BACK = f"{_CANCEL} AND state = 'posted' AND at > now() - interval '1 minute' RETURNING question_id"


class ShareState(StrEnum):
    """The state of a share: being posted, posted, or possibly posted."""

    POSTING = "posting"
    POSTED = "posted"
    UNCONFIRMED = "unconfirmed"


class ShareStore:
    """The operations on the table of shares."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def begin(self, question_id: UUID, channel_id: str) -> bool:
        """Record that an answer is about to be posted; return False if it was shared before or deleted."""
        return await self._pool.fetch_one(_BEGIN, {"id": question_id, "channel_id": channel_id}) is not None

    async def state(self, question_id: UUID, channel_id: str) -> ShareState | None:
        """Return the state of a share; None if the answer can be shared."""
        row = await self._pool.fetch_one(_STATE, {"id": question_id, "channel_id": channel_id})
        return ShareState(row["state"]) if row else None

    async def finish(self, question_id: UUID, channel_id: str, state: ShareState) -> None:
        """Record the result of the post."""
        await self._pool.execute(_FINISH, {"id": question_id, "channel_id": channel_id, "state": state})

    async def cancel(self, question_id: UUID, channel_id: str) -> None:
        """Allow an answer to be shared again, since nothing of it was posted."""
        await self._pool.execute(_CANCEL, {"id": question_id, "channel_id": channel_id})

    async def take_back(self, question_id: UUID, channel_id: str) -> bool:
        """Allow an answer to be shared again if it was posted within the last minute; return whether it was."""
        return await self._pool.fetch_one(_TAKE_BACK, {"id": question_id, "channel_id": channel_id}) is not None
