"""The shares table: answers that were shared in channels, each once."""

from __future__ import annotations

from enum import StrEnum
from uuid import UUID

from bot.storage.questions import Pool

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
    """The table's operations."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def begin(self, question_id: UUID, channel_id: str) -> bool:
        """Record that an answer is about to be posted; return False if it was before, or the question was deleted."""
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
