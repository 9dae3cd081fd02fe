"""The feedback table: one thumb per person and answer."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from bot.model.ratings import MAX_COMMENT
from bot.storage.questions import Pool, storable

_RATE = """
    INSERT INTO feedback (question_id, user_id, up)
    SELECT id, %(user_id)s, %(up)s FROM questions WHERE id = %(id)s
    ON CONFLICT (question_id, user_id) DO UPDATE
    SET up = excluded.up, at = now(), reasons = '{}', comment = '', agreed = false
    WHERE feedback.up <> excluded.up
"""
"""Record a thumb. The opposite thumb replaces an earlier one and its reasons; the same one changes nothing."""

_EXPLAIN = """
    UPDATE feedback f
    SET up = false, reasons = %(reasons)s, comment = %(comment)s, at = now(),
        agreed = %(agreed)s AND q.user_id = f.user_id
    FROM questions q
    WHERE f.question_id = %(id)s AND f.user_id = %(user_id)s AND q.id = f.question_id
    RETURNING f.question_id
"""
"""Add reasons to a person's own thumb down; only the asker can allow admins to read the question."""


class FeedbackStore:
    """The table's operations."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def rate(self, question_id: UUID, user_id: str, *, up: bool) -> None:
        """Record a person's thumb in place of an earlier one; do nothing if the question was deleted."""
        await self._pool.execute(_RATE, {"id": question_id, "user_id": user_id, "up": up})

    async def explain(
        self, question_id: UUID, user_id: str, *, reasons: Sequence[str], comment: str, agreed: bool
    ) -> bool:
        """Record why a person found an answer bad; return False if they have not rated it, or it was deleted.

        `agreed` counts only if the person asked the question.
        """
        values = {
            "id": question_id,
            "user_id": user_id,
            "reasons": list(reasons),
            "comment": storable(comment)[:MAX_COMMENT],
            "agreed": agreed,
        }
        return await self._pool.fetch_one(_EXPLAIN, values) is not None
