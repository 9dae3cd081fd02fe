"""What admins see of their workspace: use and cost in one pass over its questions and calls, and what was recorded."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Collection, Sequence
from datetime import UTC, date, datetime, time, timedelta
from time import monotonic

from psycopg.rows import DictRow

from bot.clock import utc_now
from bot.model.admin import DIRECT, Recorded, Use, WorkspaceUse
from bot.storage.queries import ASKED
from bot.storage.questions import Pool

PAST_SECONDS = 3600.0
"""How long the sums of the days before today are kept: in a large workspace they take a second or two."""

MAX_WORKSPACES = 100
"""Of how many workspaces they are kept."""

RECORDED_DAYS = 7
MAX_RECORDED = 1_000
"""The most entries that are read: those of the last week, as long as they are not more."""

_SUMS = f"""
    WITH counted AS (
        SELECT (received_at AT TIME ZONE 'UTC')::date AS day, user_id, channel_id, NULL AS provider,
            1 AS questions, 0 AS calls, 0 AS cost
        FROM questions WHERE team_id = %(team_id)s AND received_at >= %(since)s AND received_at < %(until)s AND {ASKED}
        UNION ALL
        SELECT (at AT TIME ZONE 'UTC')::date, user_id, channel_id, provider,
            0, CASE state WHEN 'released' THEN 0 ELSE 1 END, coalesce(cost, 0)
        FROM ledger WHERE team_id = %(team_id)s AND at >= %(since)s AND at < %(until)s),
    placed AS (
        SELECT day, user_id, provider, questions, calls, cost,
            CASE WHEN channel_id LIKE 'D%%' THEN %(direct)s ELSE channel_id END AS channel_id
        FROM counted)
    SELECT grouping(day, user_id, channel_id, provider) AS kind,
        coalesce(day::text, user_id, channel_id, provider) AS name,
        CASE grouping(provider) WHEN 0 THEN sum(calls) ELSE sum(questions) END::bigint AS count,
        sum(cost)::bigint AS cost
    FROM placed GROUP BY GROUPING SETS ((day), (user_id), (channel_id), (provider))
    HAVING CASE grouping(provider) WHEN 0 THEN sum(calls) ELSE sum(questions) + sum(cost) END > 0
"""  # noqa: S608 - of constants
"""Count the questions of a workspace, or the calls of a service, and sum the cost, by day, person, channel and service.

A question whose cost is in the ledger has no service here: the calls of one question can be several services'.
"""

_ERASED_AT = "SELECT max(at) AS at FROM erased_spending WHERE team_id = %(team_id)s"
"""When someone's data was erased last: a row of that day stays until the sums of the day are counted again, too."""

_KINDS = {7: "days", 11: "people", 13: "channels", 14: "providers"}

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
    """Reads what admins see. All of it raises database errors. `commands` ask questions, `clock` is monotonic."""

    def __init__(
        self,
        pool: Pool,
        *,
        commands: Collection[str],
        now: Callable[[], datetime] = utc_now,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._pool = pool
        self._commands = [*commands]
        self._now = now
        self._clock = clock
        self._past: OrderedDict[str, tuple[date, float, datetime | None, Sequence[DictRow]]] = OrderedDict()
        self._counting = asyncio.Lock()

    async def use(self, team_id: str) -> WorkspaceUse:
        """Return the use of this month; days are in UTC.

        Those before today are counted once an hour, and after an erasure, so that no sum has the person's id any more.
        """
        today = self._now().astimezone(UTC).date()
        async with self._counting:
            past = await self._past_sums(team_id, today)
        sums: dict[str, dict[str, Use]] = {name: {} for name in _KINDS.values()}
        for row in [*past, *await self._sums(team_id, today, today + timedelta(days=2))]:
            known = sums[_KINDS[row["kind"]]]
            before = known.get(row["name"], Use(name=row["name"], count=0, cost=0))
            known[row["name"]] = Use(
                name=row["name"], count=before.count + row["count"], cost=before.cost + row["cost"]
            )
        days = sorted(sums.pop("days").values(), key=lambda one: one.name, reverse=True)
        return WorkspaceUse(
            days=days,
            today=sum(one.cost for one in days if one.name >= today.isoformat()),
            **{
                name: sorted(known.values(), key=lambda one: (-one.cost, -one.count, one.name))
                for name, known in sums.items()
            },
        )

    async def _past_sums(self, team_id: str, today: date) -> Sequence[DictRow]:
        day, at, before, rows = self._past.get(team_id, (date.min, 0.0, None, ()))
        erased_at = await self._erased_at(team_id)
        if day != today or before != erased_at or self._clock() - at > PAST_SECONDS:
            rows = await self._sums(team_id, today.replace(day=1), today)
            self._past[team_id] = (today, self._clock(), erased_at, rows)
        self._past.move_to_end(team_id)
        if len(self._past) > MAX_WORKSPACES:
            self._past.popitem(last=False)
        return rows

    async def _erased_at(self, team_id: str) -> datetime | None:
        async with self._pool.connection() as connection:
            row = await (await connection.execute(_ERASED_AT, {"team_id": team_id})).fetchone()
        return None if row is None else row["at"]

    async def _sums(self, team_id: str, first: date, end: date) -> Sequence[DictRow]:
        since, until = (datetime.combine(day, time(), UTC) for day in (first, end))
        values = {"team_id": team_id, "since": since, "until": until, "direct": DIRECT, "commands": self._commands}
        async with self._pool.connection() as connection:
            return await (await connection.execute(_SUMS, values)).fetchall()

    async def recorded(self, team_id: str) -> list[Recorded]:
        """Return what admins and the app did in the last week, the last first; not the questions."""
        values = {"team_id": team_id, "days": RECORDED_DAYS, "most": MAX_RECORDED}
        async with self._pool.connection() as connection:
            rows = await (await connection.execute(_RECORDED, values)).fetchall()
        return [Recorded(**row) for row in rows]
