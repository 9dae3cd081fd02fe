"""The feedback table: one thumb a person and answer, read as rates for admins."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from bot.model.feedback import MAX_COMMENT, BadAnswer, Feedback, Rating
from bot.model.question import reference
from bot.storage.questions import Pool, storable

FEEDBACK_DAYS = 30
"""How far back admins see ratings."""

LISTED_BAD = 10
"""The most questions that admins see."""

_RATE = """
    INSERT INTO feedback (question_id, user_id, up)
    SELECT id, %(user_id)s, %(up)s FROM questions WHERE id = %(id)s
    ON CONFLICT (question_id, user_id) DO UPDATE
    SET up = excluded.up, at = now(), reasons = '{}', comment = '', agreed = false
    WHERE feedback.up <> excluded.up
"""
"""Record a thumb. The other one replaces it with its reasons; the same one again changes nothing."""

_EXPLAIN = """
    UPDATE feedback f
    SET up = false, reasons = %(reasons)s, comment = %(comment)s, at = now(),
        agreed = %(agreed)s AND q.user_id = f.user_id
    FROM questions q
    WHERE f.question_id = %(id)s AND f.user_id = %(user_id)s AND q.id = f.question_id
    RETURNING f.question_id
"""
"""Add reasons to a person's own thumb down; only the asker can agree that the question is read."""

_RATINGS = """
    SELECT coalesce(q.provider, '') AS provider, coalesce(q.effort, '') AS effort,
        count(*) FILTER (WHERE f.up) AS up, count(*) FILTER (WHERE NOT f.up) AS down
    FROM feedback f JOIN questions q ON q.id = f.question_id
    WHERE q.team_id = %(team_id)s AND f.at > now() - %(days)s * interval '1 day'
    GROUP BY 1, 2
    ORDER BY count(*) DESC, 1, 2
"""

_BAD = """
    SELECT q.id, q.command || ' ' || q.text AS text, f.reasons, f.comment, f.at
    FROM feedback f JOIN questions q ON q.id = f.question_id
    WHERE q.team_id = %(team_id)s AND f.at > now() - %(days)s * interval '1 day'
        AND f.agreed AND NOT f.up AND f.user_id = q.user_id AND q.text_deleted_at IS NULL
    ORDER BY f.at DESC
    LIMIT %(most)s
"""


class FeedbackStore:
    """The table's operations."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def rate(self, question_id: UUID, user_id: str, *, up: bool) -> None:
        """Record a person's thumb, which replaces an earlier one; nothing if the question is deleted."""
        async with self._pool.connection() as connection:
            await connection.execute(_RATE, {"id": question_id, "user_id": user_id, "up": up})

    async def explain(
        self, question_id: UUID, user_id: str, *, reasons: Sequence[str], comment: str, agreed: bool
    ) -> bool:
        """Record why a person found an answer bad; False if they have not rated it, or it is deleted.

        `agreed` counts only if the person asked the question.
        """
        values = {
            "id": question_id,
            "user_id": user_id,
            "reasons": list(reasons),
            "comment": storable(comment)[:MAX_COMMENT],
            "agreed": agreed,
        }
        async with self._pool.connection() as connection:
            return await (await connection.execute(_EXPLAIN, values)).fetchone() is not None

    async def of_team(self, team_id: str) -> Feedback:
        """Return the ratings of a workspace's answers in the last `FEEDBACK_DAYS` days, the most rated first."""
        values = {"team_id": team_id, "days": FEEDBACK_DAYS, "most": LISTED_BAD}
        async with self._pool.connection() as connection:
            ratings = await (await connection.execute(_RATINGS, values)).fetchall()
            bad = await (await connection.execute(_BAD, values)).fetchall()
        return Feedback(
            ratings=[Rating(**row) for row in ratings],
            bad=[BadAnswer(reference=reference(row.pop("id")), **row) for row in bad],
        )
