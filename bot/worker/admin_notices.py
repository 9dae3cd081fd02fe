"""Sends a workspace's admins notices that they did not request, as direct messages."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial

from bot.blocks.elements import section
from bot.blocks.status import full_text
from bot.errors import Undecryptable
from bot.model.message import OutgoingMessage
from bot.slack.messages import FAILURES, Chat, PostResult, Retryable, Sent, classify_error
from bot.storage.calls import PostgresLimiter
from bot.storage.ledger import Ledger
from bot.translation import speaking

log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class AdminNotices:
    """Sends notices to admins.

    `admins` returns the admins of a workspace who are informed first. If none of them can be reached, the admins from
    `other_admins` are informed; it returns None if Slack does not say who they are. `enter` makes the task act for a
    workspace in Slack, and returns False if the workspace does not have the app. `language` returns the language of a
    person.
    """

    chat: Chat
    admins: Callable[[str], Awaitable[Sequence[str]]]
    other_admins: Callable[[str], Awaitable[Sequence[str] | None]]
    enter: Callable[[str], Awaitable[bool]]
    language: Callable[[str], Awaitable[str]]

    async def tell(self, team_id: str, text: Callable[[], str], about: str) -> bool | None:
        """Send a notice; return whether an admin got it, None if none got it but a later attempt may succeed.

        `text` is called for each admin, and returns the notice as mrkdwn in the admin's language. `about` names the
        kind of notice in the message's metadata. If the workspace does not have the app, nobody has to be informed;
        return True. Raises database errors.
        """
        try:
            if not await self.enter(team_id):
                return True
        except Undecryptable:
            return None
        told = await self._send_to(await self.admins(team_id), text, about)
        if told is False:
            others = await self.other_admins(team_id)
            told = None if others is None else await self._send_to(others, text, about)
        return told

    async def _send_to(self, admins: Sequence[str], text: Callable[[], str], about: str) -> bool | None:
        """Send a notice to some admins; return the same as `tell`."""
        results = [await self._send(text, admin, about) for admin in admins]
        if any(isinstance(one, Sent) for one in results):
            return True
        return None if any(isinstance(one, Retryable) for one in results) else False

    async def _send(self, text: Callable[[], str], admin: str, about: str) -> PostResult:
        try:
            channel = await self.chat.open_direct_message(admin)
        except FAILURES as error:
            return classify_error(error)
        with speaking(await self.language(admin)):
            said = text()
        message = OutgoingMessage(text=said, blocks=(section(said),))
        return await self.chat.post(channel, message, question=about, part=0)


async def look_at_spending(ledger: Ledger, limiter: PostgresLimiter, notices: AdminNotices) -> None:
    """Book the calls of dead processes as ended, and tell admins about used-up limits. Raises database errors."""
    if cut := await ledger.cut_abandoned():
        log.warning("ledger.cut", extra={"count": cut})
    for team_id, use in await limiter.newly_full():
        log.warning("limit.full", extra={"provider": use.lane.partition(":")[0]})
        if await notices.tell(team_id, partial(full_text, use), "limit") is None:
            await limiter.not_told(use.lane)
