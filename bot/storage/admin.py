"""What admins see of their workspace: use and cost in one pass over its questions, and what was recorded lately."""

from __future__ import annotations

from bot.model.admin import DIRECT, Recorded, Use, WorkspaceUse
from bot.storage.questions import Pool

USE_DAYS = 30
"""Of how many days the use is counted."""

MAX_ROWS = 10
"""The most rows of each table."""

MAX_DAYS = 7
"""The most days that are listed."""

RECORDED_DAYS = 7
MAX_RECORDED = 20

_USE = """
    WITH counted AS (
        SELECT (received_at AT TIME ZONE 'UTC')::date AS day, user_id,
            CASE WHEN channel_id LIKE 'D%%' THEN %(direct)s ELSE channel_id END AS channel_id,
            coalesce(provider, '') AS provider, cost_usd
        FROM questions
        WHERE team_id = %(team_id)s AND received_at > now() - %(days)s * interval '1 day'),
    summed AS (
        SELECT grouping(day, user_id, channel_id, provider) AS kind,
            coalesce(day::text, user_id, channel_id, provider) AS name,
            count(*) AS questions, sum(cost_usd) AS cost_usd
        FROM counted GROUP BY GROUPING SETS ((day), (user_id), (channel_id), (provider))),
    ranked AS (
        SELECT *, row_number() OVER (
            PARTITION BY kind ORDER BY CASE WHEN kind = 7 THEN name END DESC, cost_usd DESC NULLS LAST, questions DESC,
                name) AS place
        FROM summed)
    SELECT kind, name, questions, cost_usd FROM ranked
    WHERE place <= CASE WHEN kind = 7 THEN %(most_days)s ELSE %(most)s END
    ORDER BY kind, place
"""
"""Count and sum the questions of a workspace by day (kind 7), person (11), channel (13) and service (14)."""

_RECORDED = """
    SELECT a.at, CASE WHEN a.who = '' THEN '' ELSE p.user_id END AS user_id, a.what, a.channel_id, a.decision,
        a.before::text, a.after::text
    FROM (
        SELECT * FROM audit
        WHERE team_id = %(team_id)s AND what NOT LIKE 'question.%%' AND at > now() - %(days)s * interval '1 day'
        ORDER BY number DESC LIMIT %(most)s) a
    LEFT JOIN audit_people p ON p.team_id = a.team_id AND p.who = a.who
    ORDER BY a.number DESC
"""


class AdminStore:
    """Reads what admins see. All of it raises database errors."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def use(self, team_id: str) -> WorkspaceUse:
        """Return the use of the last weeks; days are in UTC."""
        values = {"team_id": team_id, "days": USE_DAYS, "direct": DIRECT, "most": MAX_ROWS, "most_days": MAX_DAYS}
        async with self._pool.connection() as connection:
            rows = await (await connection.execute(_USE, values)).fetchall()
        kinds: dict[int, list[Use]] = {7: [], 11: [], 13: [], 14: []}
        for row in rows:
            kinds[row.pop("kind")].append(Use(**row))
        return WorkspaceUse(days=kinds[7], people=kinds[11], channels=kinds[13], providers=kinds[14])

    async def recorded(self, team_id: str) -> list[Recorded]:
        """Return what admins and the app did in the last week, the last first; not the questions."""
        values = {"team_id": team_id, "days": RECORDED_DAYS, "most": MAX_RECORDED}
        async with self._pool.connection() as connection:
            rows = await (await connection.execute(_RECORDED, values)).fetchall()
        return [Recorded(**row) for row in rows]
