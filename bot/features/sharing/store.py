"""The shares table: which answers were shared in which channel, each once."""

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
    """What is known of a share: whether it is being posted, is posted, or may be."""

    POSTING = "posting"
    POSTED = "posted"
    UNCONFIRMED = "unconfirmed"


class ShareStore:
    """The table's operations."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def begin(self, question_id: UUID, channel_id: str) -> bool:
        """Record that an answer is about to be posted; False if it was before, or the question is deleted."""
        async with self._pool.connection() as connection:
            begun = await connection.execute(_BEGIN, {"id": question_id, "channel_id": channel_id})
            return await begun.fetchone() is not None

    async def state(self, question_id: UUID, channel_id: str) -> ShareState | None:
        """Return the state of a share; None if the answer can be shared."""
        async with self._pool.connection() as connection:
            row = await (await connection.execute(_STATE, {"id": question_id, "channel_id": channel_id})).fetchone()
        return ShareState(row["state"]) if row else None

    async def finish(self, question_id: UUID, channel_id: str, state: ShareState) -> None:
        """Record how the post ended."""
        async with self._pool.connection() as connection:
            await connection.execute(_FINISH, {"id": question_id, "channel_id": channel_id, "state": state})

    async def cancel(self, question_id: UUID, channel_id: str) -> None:
        """Let an answer be shared again, since nothing of it was posted."""
        async with self._pool.connection() as connection:
            await connection.execute(_CANCEL, {"id": question_id, "channel_id": channel_id})

    async def take_back(self, question_id: UUID, channel_id: str) -> bool:
        """Let an answer be shared again that was posted in the last minute; return whether it was."""
        async with self._pool.connection() as connection:
            taken = await connection.execute(_TAKE_BACK, {"id": question_id, "channel_id": channel_id})
            return await taken.fetchone() is not None
