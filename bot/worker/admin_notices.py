"""Tells a workspace's admins, in direct messages, what they did not ask."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from bot.blocks.elements import section
from bot.errors import Undecryptable
from bot.model.message import OutgoingMessage
from bot.slack.messages import FAILURES, Chat, PostResult, Retryable, Sent, classify_error
from bot.worker.worker import only_workspace


@dataclass(frozen=True, kw_only=True)
class AdminNotices:
    """Sends notices.

    `admins` returns who of a workspace is told, and `other_admins` who is told if none of these can be; None if Slack
    does not say. `enter` has the task act for a workspace in Slack, as for `QuestionWorker`.
    """

    chat: Chat
    admins: Callable[[str], Awaitable[Sequence[str]]]
    other_admins: Callable[[str], Awaitable[Sequence[str] | None]]
    enter: Callable[[str], Awaitable[bool]] = only_workspace

    async def tell(self, team_id: str, text: str, about: str) -> bool | None:
        """Return whether an admin got the text, mrkdwn; None if none did and a later try may succeed.

        It is True, too, for a workspace without the app, where no one is to be told. Raises database errors.
        """
        try:
            if not await self.enter(team_id):
                return True
        except Undecryptable:
            return None
        message = OutgoingMessage(text=text, blocks=(section(text),))
        told = await self._send_to(await self.admins(team_id), message, about)
        if told is False:
            others = await self.other_admins(team_id)
            told = None if others is None else await self._send_to(others, message, about)
        return told

    async def _send_to(self, admins: Sequence[str], message: OutgoingMessage, about: str) -> bool | None:
        """Return whether one of them got it; None if none did and a later try may succeed."""
        results = [await self._send(message, admin, about) for admin in admins]
        if any(isinstance(one, Sent) for one in results):
            return True
        return None if any(isinstance(one, Retryable) for one in results) else False

    async def _send(self, message: OutgoingMessage, admin: str, about: str) -> PostResult:
        try:
            channel = await self.chat.open_direct_message(admin)
        except FAILURES as error:
            return classify_error(error)
        return await self.chat.post(channel, message, question=about, part=0)
