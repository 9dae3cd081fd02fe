"""The contents of the home tab: a person's questions, and a workspace's use and changes."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Collection, Sequence
from dataclasses import KW_ONLY, dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from time import monotonic
from typing import Any

from psycopg.rows import DictRow

from bot.clock import utc_now
from bot.model.admin import DIRECT, Problem
from bot.model.spending import NO_SPENDING, Spending
from bot.storage.queries import ASKED
from bot.storage.questions import Pool


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A person's question; `id` is its id as text."""

    id: str
    command: str
    text: str
    state: str


@dataclass(frozen=True, kw_only=True)
class RunningQuestion(Asked):
    """A question that is not answered yet; `age` is in seconds."""

    age: float


@dataclass(frozen=True, kw_only=True)
class Recent(Asked):
    """A question that has ended. `at` is when it was received, in seconds since 1970.

    `kept` is whether its answer is stored as data, and not only as messages.
    """

    at: float
    sources: int
    kept: bool


@dataclass(frozen=True, kw_only=True)
class HomeData:
    """The data of a person's home tab, without those of the features' sections.

    `questions` is the number of the person's questions this month, and `cost` is this month's cost in micro-dollars.

    `page` is the number of the page of `recent` questions, from 0; `earlier` is whether there are earlier questions.
    `for_admins` is whether the person has opened the page for admins.
    """

    running: Sequence[RunningQuestion] = ()
    recent: Sequence[Recent] = ()
    page: int = 0
    earlier: bool = False
    questions: int = 0
    cost: int = 0
    for_admins: bool = False


@dataclass(frozen=True, kw_only=True)
class Use:
    """How many questions a day, a person or a channel had, or how many calls a service had, and what they cost.

    `cost` is in micro-dollars.
    """

    name: str
    count: int
    cost: int


@dataclass(frozen=True, kw_only=True)
class WorkspaceUse:
    """The use of this month. `days` begin with the latest day, the other lists with the highest cost.

    `today` is the cost of today in micro-dollars.
    """

    days: Sequence[Use] = ()
    people: Sequence[Use] = ()
    channels: Sequence[Use] = ()
    providers: Sequence[Use] = ()
    today: int = 0

    @property
    def cost(self) -> int:
        """The cost of the month's calls in micro-dollars."""
        return sum(one.cost for one in self.days)


@dataclass(frozen=True, kw_only=True)
class Recorded:
    """An entry of the audit log. `user_id` is empty for the app itself, None if the person was erased."""

    at: datetime
    user_id: str | None
    what: str
    channel_id: str
    decision: str
    before: str | None = None
    after: str | None = None


@dataclass(frozen=True, kw_only=True)
class AdminData:
    """The data for admins."""

    spending: Spending = NO_SPENDING
    use: WorkspaceUse = WorkspaceUse()
    problems: Sequence[Problem] = ()
    recorded: Sequence[Recorded] = ()


OPEN_HOURS = 12
"""How long a home tab is kept up to date after it was opened."""

PACE_SECONDS = 3.0
"""The shortest time between two updates of a person's home tab."""

MAX_RECENT = 15
MAX_RUNNING = 10

_OPEN = """
    INSERT INTO homes (team_id, user_id) VALUES (%(team_id)s, %(user_id)s)
    ON CONFLICT (team_id, user_id) DO UPDATE SET opened_at = now(),
        for_admins = homes.for_admins AND homes.opened_at > now() - interval '1 hour',
        page = CASE WHEN homes.opened_at > now() - interval '1 hour' THEN homes.page ELSE 0 END
"""
"""Record that a home tab was opened.

If it was last used over an hour ago, it shows the latest questions again, not earlier ones or the page for admins.
"""

_TURN = """
    INSERT INTO homes (team_id, user_id, for_admins, page) VALUES (%(team_id)s, %(user_id)s, %(for_admins)s, %(page)s)
    ON CONFLICT (team_id, user_id) DO UPDATE SET opened_at = now(), for_admins = %(for_admins)s, page = %(page)s
"""

_RESERVE = """
    UPDATE homes SET shown_at = greatest(now(), shown_at + %(pace)s * interval '1 second')
    WHERE team_id = %(team_id)s AND user_id = %(user_id)s AND opened_at > now() - %(hours)s * interval '1 hour'
    RETURNING extract(epoch FROM shown_at - now())::float8 AS seconds
"""
"""Reserve the next moment for an update of a person's home tab; return no row if the tab was not opened lately."""

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
    """The operations on the table of home tabs."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def open(self, team_id: str, user_id: str) -> None:
        """Record that a person has opened the home tab."""
        await self._pool.execute(_OPEN, {"team_id": team_id, "user_id": user_id})

    async def turn(self, team_id: str, user_id: str, *, for_admins: bool = False, page: int = 0) -> None:
        """Set the view of a person's home tab: the page for admins, or a page of their questions, from 0."""
        values = {"team_id": team_id, "user_id": user_id, "for_admins": for_admins, "page": page}
        await self._pool.execute(_TURN, values)

    async def reserve(self, team_id: str, user_id: str) -> float | None:
        """Reserve the next update of a home tab; return the seconds until it, None if the tab was not opened lately."""
        values = {"team_id": team_id, "user_id": user_id, "pace": PACE_SECONDS, "hours": OPEN_HOURS}
        row = await self._pool.fetch_one(_RESERVE, values)
        return None if row is None else max(0.0, row["seconds"])

    async def read(self, team_id: str, user_id: str, *, commands: Collection[str]) -> HomeData:
        """Return the contents of a person's home tab, with the questions that have one of these commands."""
        values: dict[str, Any] = {"team_id": team_id, "user_id": user_id, "commands": list(commands)}
        values |= {"running": MAX_RUNNING, "recent": MAX_RECENT}
        (row,) = await self._pool.fetch_all(_READ, values)
        home = row["home"] or {}
        return HomeData(
            running=[RunningQuestion(**one) for one in row["running"]],
            recent=[Recent(**one) for one in row["recent"][:MAX_RECENT]],
            page=home.get("page", 0),
            earlier=len(row["recent"]) > MAX_RECENT,
            questions=row["questions"],
            cost=row["cost"],
            for_admins=home.get("for_admins", False),
        )


PAST_SECONDS = 3600.0
"""How long the sums of past days are kept: in a large workspace, counting takes a second or two."""

MAX_WORKSPACES = 100
"""The most workspaces whose sums are kept."""

RECORDED_DAYS = 7
MAX_RECORDED = 1_000
"""The most entries of the audit log that are read; all are from the last week."""

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
"""Sum the cost in a workspace by day, person, channel and service; count calls for services, otherwise questions.

Questions are not counted by service, since the calls of a question may go to several services.
"""

_ERASED_AT = "SELECT max(at) AS at FROM erased_spending WHERE team_id = %(team_id)s"
"""Read the time of the last erasure of a person's data.

Rows are kept for over an hour, until every process has recounted past days.
"""

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


@dataclass(frozen=True)
class AdminStore:
    """Reads the data for admins. Every method raises database errors.

    `commands` returns the names of the commands that ask questions; `clock` is monotonic.
    """

    pool: Pool
    _: KW_ONLY
    commands: Callable[[], Collection[str]]
    now: Callable[[], datetime] = utc_now
    clock: Callable[[], float] = monotonic
    _past: OrderedDict[str, tuple[date, float, datetime | None, Sequence[DictRow]]] = field(default_factory=OrderedDict)
    _counting: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def use(self, team_id: str) -> WorkspaceUse:
        """Return the use of this month; days are in UTC.

        The days before today are counted once an hour, and again after the data of a person were erased, so that no sum
        has their id.
        """
        today = self.now().astimezone(UTC).date()
        async with self._counting:
            past = await self._past_sums(team_id, today)
        sums: dict[str, dict[str, Use]] = {name: {} for name in _KINDS.values()}
        for row in [*past, *await self._sums(team_id, today, today + timedelta(days=2))]:
            known = sums[_KINDS[row["kind"]]]
            name, before = row["name"], known.get(row["name"], Use(name="", count=0, cost=0))
            known[name] = Use(name=name, count=before.count + row["count"], cost=before.cost + row["cost"])
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
        (erased,) = await self.pool.fetch_all(_ERASED_AT, {"team_id": team_id})
        if day != today or before != erased["at"] or self.clock() - at > PAST_SECONDS:
            rows = await self._sums(team_id, today.replace(day=1), today)
            self._past[team_id] = (today, self.clock(), erased["at"], rows)
        self._past.move_to_end(team_id)
        if len(self._past) > MAX_WORKSPACES:
            self._past.popitem(last=False)
        return rows

    async def _sums(self, team_id: str, first: date, end: date) -> Sequence[DictRow]:
        since, until = (datetime.combine(day, time(), UTC) for day in (first, end))
        values = {"team_id": team_id, "since": since, "until": until, "direct": DIRECT, "commands": [*self.commands()]}
        return await self.pool.fetch_all(_SUMS, values)

    async def recorded(self, team_id: str) -> list[Recorded]:
        """Return the entries of the audit log for the last week, except questions, the latest first."""
        values = {"team_id": team_id, "days": RECORDED_DAYS, "most": MAX_RECORDED}
        rows = await self.pool.fetch_all(_RECORDED, values)
        return [Recorded(**row) for row in rows]
