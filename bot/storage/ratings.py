"""The ratings of answers, which admins see as counts by provider and effort."""

from __future__ import annotations

from bot.model.admin import BadAnswer, Feedback, Rating
from bot.model.question import reference
from bot.storage.questions import Pool

FEEDBACK_DAYS = 30
"""For how many past days admins see ratings."""

LISTED_BAD = 10
"""The most badly rated questions that are listed for admins."""

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


async def ratings_of_team(pool: Pool, team_id: str) -> Feedback:
    """Return a workspace's ratings of the last `FEEDBACK_DAYS` days by provider and effort, the most rated first.

    Badly rated questions are listed only if their askers agreed, the newest first.
    """
    values = {"team_id": team_id, "days": FEEDBACK_DAYS, "most": LISTED_BAD}
    async with pool.connection() as connection:
        ratings = await (await connection.execute(_RATINGS, values)).fetchall()
        bad = await (await connection.execute(_BAD, values)).fetchall()
    return Feedback(
        ratings=[Rating(**row) for row in ratings],
        bad=[BadAnswer(reference=reference(row.pop("id")), **row) for row in bad],
    )
