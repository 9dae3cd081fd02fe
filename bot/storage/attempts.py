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
"""Failures that stay until an admin does something: another key, more credit."""

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
_TROUBLES = """
    SELECT provider, error_class FROM (
        SELECT DISTINCT ON (provider) provider, error_class FROM attempts
        WHERE at > now() - %(hours)s * interval '1 hour' AND (error_class IS NULL OR error_class = ANY(%(classes)s))
        ORDER BY provider, at DESC, id DESC) last
    WHERE error_class IS NOT NULL
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
    values = {"hours": hours, "classes": list(ADMINS_OWN)}
    rows = await (await connection.execute(_TROUBLES, values)).fetchall()
    return {row["provider"]: row["error_class"] for row in rows}
