"""The attempts table: what each provider did, written in batches, read as figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from psycopg import AsyncConnection
from psycopg.rows import DictRow

from bot.figures import ProviderFigures
from bot.storage.questions import Pool
from perplexity.errors import AuthenticationError, BillingError, InvalidRequest, Withdrawn
from perplexity.rounds import RESTING
from perplexity.types import Attempt

KEPT_DAYS = 30

ADMINS_OWN = (AuthenticationError.__name__, BillingError.__name__)
"""Failures that stay until an admin does something: another key, more credit. The index `attempts_last` names them."""

NOT_ITS_OWN = (RESTING, InvalidRequest.__name__, Withdrawn.__name__)
"""Attempts that were not made, or say nothing of the provider: the request was wrong, or nobody wanted it any more."""

_WRITE = """
    INSERT INTO attempts (at, provider, kind, seconds, error_class, cost_usd)
    VALUES (%(at)s, %(provider)s, %(kind)s, %(seconds)s, %(error_class)s, %(cost_usd)s)
"""
_FORGET = "DELETE FROM attempts WHERE at < now() - %(days)s * interval '1 day'"
_FIGURES = """
    SELECT provider,
        count(*) AS asked,
        count(*) FILTER (WHERE error_class IS NULL) AS answered,
        percentile_cont(0.5) WITHIN GROUP (ORDER BY seconds) FILTER (WHERE error_class IS NULL) AS p50,
        percentile_cont(0.95) WITHIN GROUP (ORDER BY seconds) FILTER (WHERE error_class IS NULL) AS p95,
        sum(cost_usd) AS cost_usd
    FROM attempts
    WHERE at > now() - %(hours)s * interval '1 hour' AND (error_class IS NULL OR error_class <> ALL(%(apart)s))
    GROUP BY provider
    ORDER BY asked DESC, provider
"""
TROUBLES = """
    WITH RECURSIVE asked AS (
        (SELECT provider FROM attempts
            WHERE error_class IS NULL OR error_class IN ('AuthenticationError', 'BillingError')
            ORDER BY provider LIMIT 1)
        UNION ALL
        SELECT (SELECT a.provider FROM attempts a
            WHERE (a.error_class IS NULL OR a.error_class IN ('AuthenticationError', 'BillingError'))
                AND a.provider > asked.provider
            ORDER BY a.provider LIMIT 1)
        FROM asked WHERE asked.provider IS NOT NULL)
    SELECT asked.provider, last.error_class
    FROM asked CROSS JOIN LATERAL (
        SELECT a.error_class FROM attempts a
        WHERE a.provider = asked.provider AND a.at > now() - %(hours)s * interval '1 hour'
            AND (a.error_class IS NULL OR a.error_class IN ('AuthenticationError', 'BillingError'))
        ORDER BY a.at DESC, a.id DESC LIMIT 1) last
    WHERE last.error_class IS NOT NULL
"""
"""One provider after the other, and of each the last attempt: a few rows of the index `attempts_last`.

Postgres walks through every row of an index for `DISTINCT ON` (https://wiki.postgresql.org/wiki/Loose_indexscan), and
uses a partial index only if the query spells out the failures as the index does.
"""


@dataclass(frozen=True, kw_only=True)
class TimedAttempt:
    """An attempt and when it ended."""

    at: datetime
    attempt: Attempt


class Attempts:
    """The table's operations."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def write(self, attempts: Sequence[TimedAttempt]) -> None:
        """Write attempts down, all or none."""
        rows = [{"at": one.at, **vars(one.attempt)} for one in attempts]
        async with self._pool.connection() as connection, connection.cursor() as cursor:
            await cursor.executemany(_WRITE, rows)

    async def forget(self, *, days: int = KEPT_DAYS) -> None:
        """Delete what is older."""
        async with self._pool.connection() as connection:
            await connection.execute(_FORGET, {"days": days})

    async def figures(self, *, hours: float = 24) -> tuple[ProviderFigures, ...]:
        """Return the figures of every provider that was asked in the last hours, the most asked first."""
        troubles = await self.troubles(hours=hours)
        async with self._pool.connection() as connection:
            rows = await (await connection.execute(_FIGURES, {"hours": hours, "apart": list(NOT_ITS_OWN)})).fetchall()
        return tuple(ProviderFigures(**row, trouble=troubles.get(row["provider"])) for row in rows)

    async def troubles(self, *, hours: float = 24) -> dict[str, str]:
        """Return the providers whose last word in these hours was that an admin must do something, and what it was."""
        async with self._pool.connection() as connection:
            return await troubles(connection, hours=hours)


async def troubles(connection: AsyncConnection[DictRow], *, hours: float = 24) -> dict[str, str]:
    """Read what `Attempts.troubles` returns on a connection."""
    rows = await (await connection.execute(TROUBLES, {"hours": hours})).fetchall()
    return {row["provider"]: row["error_class"] for row in rows}
