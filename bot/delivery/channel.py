"""A digest's way: a message of its own in the channel where it was set up, in no thread."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from bot.blocks.base import Audience
from bot.delivery.chat import Chat
from bot.delivery.posting import Posting, WayClosed
from bot.delivery.ways import Letter, post_once
from bot.storage.questions import QuestionRow


@dataclass(frozen=True, kw_only=True)
class ToChannel:
    """The channel itself. `on_closed` is told when Slack does not let the app post there, and Slack's word for why."""

    chat: Chat
    surface: str
    on_closed: Callable[[QuestionRow, str], Awaitable[None]]
    name: str = "channel"
    uses: int = 0

    def takes(self, letter: Letter) -> bool:
        """Tell whether the letter is for everyone there, and nobody asked for it there and then."""
        return letter.row.surface == self.surface and letter.audience is Audience.CHANNEL

    async def post(self, letter: Letter) -> Posting:
        """Post the letter, unless it is found there."""
        result = await post_once(self.chat, letter, channel=letter.row.channel_id)
        if isinstance(result, WayClosed):
            await self.on_closed(letter.row, result.error)
        return result
