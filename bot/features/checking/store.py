"""Requests that were sent before there was a question: to find the claims of a message."""

from __future__ import annotations

from uuid import UUID

from bot.storage.questions import Pool, storable

_RECORD = """
    INSERT INTO proposals (id, team_id, user_id, sent) SELECT %(id)s, %(team_id)s, %(user_id)s, %(sent)s
    WHERE NOT erased_just_now_v1(%(team_id)s, %(user_id)s)
    ON CONFLICT (id) DO UPDATE SET sent = proposals.sent || excluded.sent
"""
_MOVE = """
    WITH moved AS (
        DELETE FROM proposals WHERE id = %(id)s AND team_id = %(team_id)s AND user_id = %(user_id)s RETURNING sent)
    UPDATE questions q SET sent = concat(moved.sent, q.sent) FROM moved
    WHERE q.id = %(question_id)s AND q.team_id = %(team_id)s AND q.user_id = %(user_id)s AND q.text_deleted_at IS NULL
"""


class ProposalStore:
    """Each method raises database errors."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def record(self, id: UUID, team_id: str, user_id: str, sent: str) -> None:
        """Add to the requests sent for a proposal, as returned by `SentLog.take`, before the next is sent."""
        values = {"id": id, "team_id": team_id, "user_id": user_id, "sent": storable(sent)}
        await self._pool.execute(_RECORD, values)

    async def move(self, id: UUID, team_id: str, user_id: str, question_id: UUID) -> None:
        """Count the requests sent for a person's proposal towards the question that followed from it."""
        values = {"id": id, "question_id": question_id, "team_id": team_id, "user_id": user_id}
        await self._pool.execute(_MOVE, values)
