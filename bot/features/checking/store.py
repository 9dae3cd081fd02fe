"""What was sent before there is a question: to find the claims of a message that a person may have checked."""

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
    """The table's operations. Each raises database errors."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def record(self, id: UUID, team_id: str, user_id: str, sent: str) -> None:
        """Add to what is sent for a proposal, as `SentLog.take` returns it, before it leaves."""
        values = {"id": id, "team_id": team_id, "user_id": user_id, "sent": storable(sent)}
        await self._pool.execute(_RECORD, values)

    async def move(self, id: UUID, team_id: str, user_id: str, question_id: UUID) -> None:
        """Count what was sent for a person's proposal as sent for the question that was made of it."""
        values = {"id": id, "question_id": question_id, "team_id": team_id, "user_id": user_id}
        await self._pool.execute(_MOVE, values)
