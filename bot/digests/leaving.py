"""Stops a digest whose owner has left, or whose channel the app cannot post to any more, and tells the owner."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from bot.blocks import gate
from bot.blocks.digests import stopped_message
from bot.delivery.chat import FAILURES, Chat
from bot.digests.base import Digest
from bot.digests.runs import SURFACE, read
from bot.digests.tick import utc_now
from bot.storage.digests import Digests
from bot.storage.patience import Patience
from bot.storage.questions import QuestionRow

log = logging.getLogger(__name__)

OWNER_LEFT = "The account of whoever set it up is closed."
NOT_A_MEMBER = "I am not a member of its channel, so I cannot post there. Invite me there with /invite first."
BETWEEN_OTHERS = "I cannot post in a direct message between others. Set it up in the one with me, or in a channel."
NOT_ALLOWED = "The settings of this workspace do not let me post in its channel. An admin can change that."
REASONS = {
    "not_in_channel": NOT_A_MEMBER,
    "channel_not_found": NOT_A_MEMBER,
    "is_archived": "Its channel is archived.",
    "no_permission": NOT_ALLOWED,
    "restricted_action": NOT_ALLOWED,
    "restricted_action_read_only_channel": NOT_ALLOWED,
    "restricted_action_thread_only_channel": NOT_ALLOWED,
    "restricted_action_non_threadable_channel": NOT_ALLOWED,
}
"""What Slack says when a digest can be posted no more, for the owner.

https://docs.slack.dev/reference/methods/chat.postMessage#errors
"""


@dataclass(frozen=True, kw_only=True)
class Leaving:
    """Ends what nobody can read. `call` is how people call the command; `now` is the clock."""

    digests: Digests
    chat: Chat
    patience: Patience
    call: str
    now: Callable[[], datetime] = utc_now

    async def closed(self, row: QuestionRow, error: str) -> None:
        """Take note that Slack did not let a question's answer into its channel, and why."""
        if row.surface != SURFACE or error not in REASONS:
            return
        digest = await self.patience(lambda: self.digests.get(read(row.text).digest_id, now=self.now()))
        if digest is not None:
            direct = error == "channel_not_found" and digest.channel_id.startswith("D")
            await self.stop(digest, because=BETWEEN_OTHERS if direct else REASONS[error])

    async def stop(self, digest: Digest, *, because: str) -> None:
        """Stop a digest, and tell its owner once, in a direct message that is tried once."""
        if not await self.patience(lambda: self.digests.stop(digest.id)):
            return
        log.warning("digest.stopped", extra={"digest": str(digest.id)})
        message = gate.seal(stopped_message(digest, because=because, call=self.call))
        try:
            channel = await self.chat.open_direct(digest.owner.user_id)
        except FAILURES as error:
            log.warning("digest.owner_not_told", extra={"digest": str(digest.id), "error": type(error).__name__})
            return
        await self.chat.post(channel, message, question="", part=0)
