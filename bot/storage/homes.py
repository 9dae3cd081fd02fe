"""The home tab: who has it open, whose turn it is to be updated, and everything that is on it in one query."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any
from uuid import UUID

from bot.model.home import HomeData, Recent, Running
from bot.storage.queries import ASKED
from bot.storage.questions import Pool

OPEN_HOURS = 12
"""How long after it was opened a home tab is kept up to date."""

PACE_SECONDS = 3.0
"""The shortest time between two versions of a person's home tab."""

MAX_RECENT = 15
MAX_RUNNING = 10

_OPEN = """
    INSERT INTO homes (team_id, user_id) VALUES (%(team_id)s, %(user_id)s)
    ON CONFLICT (team_id, user_id) DO UPDATE SET opened_at = now(),
        for_admins = homes.for_admins AND homes.opened_at > now() - interval '1 hour',
        page = CASE WHEN homes.opened_at > now() - interval '1 hour' THEN homes.page ELSE 0 END
"""
"""Record that a home tab was opened; the page for admins, or one of earlier questions, is not where it begins."""

_TURN = """
    INSERT INTO homes (team_id, user_id, for_admins, page) VALUES (%(team_id)s, %(user_id)s, %(for_admins)s, %(page)s)
    ON CONFLICT (team_id, user_id) DO UPDATE SET opened_at = now(), for_admins = %(for_admins)s, page = %(page)s
"""

_RESERVE = """
    UPDATE homes SET shown_at = greatest(now(), shown_at + %(pace)s * interval '1 second')
    WHERE team_id = %(team_id)s AND user_id = %(user_id)s AND opened_at > now() - %(hours)s * interval '1 hour'
    RETURNING extract(epoch FROM shown_at - now())::float8 AS seconds
"""
"""Take the next moment at which a person's home tab may be updated; no row if it is not open."""

_READ = f"""
    SELECT
        (SELECT coalesce(jsonb_agg(r), '[]') FROM (
            SELECT id, command, text, state, extract(epoch FROM now() - received_at)::float8 AS age FROM questions
            WHERE team_id = %(team_id)s AND user_id = %(user_id)s AND state IN ('received', 'working', 'delivering')
                AND command = ANY(%(commands)s)
            ORDER BY received_at LIMIT %(running)s) AS r) AS running,
        (SELECT coalesce(jsonb_agg(r), '[]') FROM (
            SELECT id, command, text, state, extract(epoch FROM received_at)::float8 AS at,
                jsonb_array_length(coalesce(result -> 'answer' -> 'sources', '[]')) AS sources,
                result ? 'answer' AS kept
            FROM questions
            WHERE team_id = %(team_id)s AND user_id = %(user_id)s AND command = ANY(%(commands)s)
                AND state IN ('answered', 'failed', 'expired') AND messages IS NOT NULL AND text_deleted_at IS NULL
            ORDER BY received_at DESC LIMIT %(recent)s + 1 OFFSET %(recent)s * coalesce(
                (SELECT page FROM homes WHERE team_id = %(team_id)s AND user_id = %(user_id)s), 0)) AS r) AS recent,
        (SELECT count(*) FROM questions
            WHERE team_id = %(team_id)s AND user_id = %(user_id)s AND received_at >= date_trunc('month', now(), 'UTC')
            AND {ASKED}) AS questions,
        (SELECT coalesce(sum(cost), 0)::bigint FROM ledger
            WHERE team_id = %(team_id)s AND user_id = %(user_id)s
            AND at >= date_trunc('month', now(), 'UTC')) AS cost,
        (SELECT to_jsonb(h) FROM homes h WHERE team_id = %(team_id)s AND user_id = %(user_id)s) AS home
"""  # noqa: S608 - of constants


class HomeStore:
    """The table's operations."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def open(self, team_id: str, user_id: str) -> None:
        """Record that a person has opened the home tab."""
        async with self._pool.connection() as connection:
            await connection.execute(_OPEN, {"team_id": team_id, "user_id": user_id})

    async def turn(self, team_id: str, user_id: str, *, for_admins: bool = False, page: int = 0) -> None:
        """Show a person the page for admins from now on, or a page of their own questions, counted from 0."""
        values = {"team_id": team_id, "user_id": user_id, "for_admins": for_admins, "page": page}
        async with self._pool.connection() as connection:
            await connection.execute(_TURN, values)

    async def reserve(self, team_id: str, user_id: str) -> float | None:
        """Return in how many seconds the home tab may be updated; None if the person has not opened it lately."""
        values = {"team_id": team_id, "user_id": user_id, "pace": PACE_SECONDS, "hours": OPEN_HOURS}
        async with self._pool.connection() as connection:
            row = await (await connection.execute(_RESERVE, values)).fetchone()
        return None if row is None else max(0.0, row["seconds"])

    async def read(self, team_id: str, user_id: str, *, commands: Collection[str]) -> HomeData:
        """Return what a person asked with these commands."""
        values: dict[str, Any] = {"team_id": team_id, "user_id": user_id, "commands": list(commands)}
        values |= {"running": MAX_RUNNING, "recent": MAX_RECENT}
        async with self._pool.connection() as connection:
            (row,) = await (await connection.execute(_READ, values)).fetchall()
        home = row["home"] or {}
        return HomeData(
            running=[Running(**_with_id(one)) for one in row["running"]],
            recent=[Recent(**_with_id(one)) for one in row["recent"][:MAX_RECENT]],
            page=home.get("page", 0),
            earlier=len(row["recent"]) > MAX_RECENT,
            questions=row["questions"],
            cost=row["cost"],
            for_admins=home.get("for_admins", False),
        )


def _with_id(row: dict[str, Any]) -> dict[str, Any]:
    return row | {"id": UUID(row["id"])}
