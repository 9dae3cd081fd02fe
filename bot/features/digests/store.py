"""The tables of digests: their schedules, their runs and the stories they posted."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from datetime import datetime
from enum import Enum
from typing import Any, LiteralString
from uuid import UUID

from psycopg import AsyncConnection
from psycopg.rows import DictRow

from bot.features.digests.model import Digest, DigestLimits, DigestSpec, LimitReached, Owner, State
from bot.model.audit import Change
from bot.model.question import OPEN, NewQuestion
from bot.model.schedule import Schedule, next_slot
from bot.storage import queries
from bot.storage.audit import record_change
from bot.storage.questions import Pool, storable

_WITH_STATS = """
    SELECT d.*, coalesce(f.runs, 0) AS runs, f.cost_usd, coalesce(f.unpriced, 0) AS unpriced, f.failed
    FROM digests d
    LEFT JOIN LATERAL (
        SELECT count(*) AS runs, sum(q.cost_usd) AS cost_usd, count(*) FILTER (
            WHERE q.cost_usd IS NULL AND q.state NOT IN ('received', 'working', 'delivering')) AS unpriced,
            (array_agg(q.state ORDER BY r.slot DESC) FILTER (
                WHERE q.state NOT IN ('received', 'working', 'delivering')))[1] IN ('failed', 'expired') AS failed
        FROM digest_runs r JOIN questions q ON q.id = r.question_id
        WHERE r.digest_id = d.id AND r.slot > %(now)s - interval '30 days') f ON true
"""

LOCK_WORKSPACE = "SELECT pg_advisory_xact_lock(hashtext('digests'), hashtext(%(team_id)s))"
"""Let only one process at a time add digests of a workspace, so that no limit is exceeded."""

COUNTS = """
    SELECT count(*) FILTER (WHERE user_id = %(user_id)s) AS of_owner,
        count(*) FILTER (WHERE channel_id = %(channel_id)s) AS in_channel,
        count(*) FILTER (WHERE user_id = %(user_id)s AND channel_id = %(channel_id)s) AS of_owner_in_channel
    FROM digests WHERE team_id = %(team_id)s
"""
"""Count the digests of a person, of a channel, and of the person in the channel."""

CREATE = """
    INSERT INTO digests
        (id, team_id, user_id, number, channel_id, category, topic, days, at, zone, silence, next_at)
    SELECT %(id)s, %(team_id)s, %(user_id)s, min(n), %(channel_id)s, %(category)s, %(topic)s, %(days)s, %(at)s,
        %(zone)s, %(silence)s, %(next_at)s
    FROM generate_series(1, %(most)s) n
    WHERE NOT EXISTS (
        SELECT 1 FROM digests WHERE team_id = %(team_id)s AND user_id = %(user_id)s AND number = n)
"""
"""Insert a digest with the owner's lowest free number."""

GET = f"{_WITH_STATS} WHERE d.id = %(id)s"
"""Read one digest."""

OF_OWNER = f"{_WITH_STATS} WHERE d.team_id = %(team_id)s AND d.user_id = %(user_id)s ORDER BY d.number"
"""Read the digests of an owner."""

OF_TEAM = f"{_WITH_STATS} WHERE d.team_id = %(team_id)s ORDER BY f.cost_usd DESC NULLS LAST, d.created_at"
"""Read the digests of a workspace."""

LOCK = "SELECT id, state FROM digests WHERE id = %(id)s FOR UPDATE"
"""Lock a digest until the end of the transaction."""

SET_STATE = "UPDATE digests SET state = %(state)s, next_at = %(next_at)s WHERE id = %(id)s RETURNING id"
"""Pause or resume a digest."""

STOP = "UPDATE digests SET state = 'stopped', next_at = NULL WHERE id = %(id)s AND state = 'active' RETURNING id"
"""Stop a digest; returns no row if it is not active."""

DELETE = "DELETE FROM digests WHERE id = %(id)s RETURNING id"
"""Delete a digest; the questions of its runs stay, with their cost."""

DUE = f"""
    SELECT *, 0 AS runs, NULL AS cost_usd, 0 AS unpriced, false AS failed FROM digests
    WHERE state = 'active' AND next_at <= %(now)s AND {queries.of_installation("digests.team_id")}
    ORDER BY next_at
    LIMIT 1
    FOR UPDATE SKIP LOCKED
"""  # noqa: S608 - a constant
"""Lock a digest that is due and that no other process has locked."""

MISSCHEDULED = f"""
    {_WITH_STATS}
    WHERE d.state = 'active' AND d.next_at > %(now)s + (9 - cardinality(d.days)) * interval '1 day'
    ORDER BY d.next_at DESC
    LIMIT 1
    FOR UPDATE OF d SKIP LOCKED
"""
"""Lock a digest that is due later than its days of the week allow.

With n days a week, two slots in a row are at most 8 - n days apart; one more day is a margin for clock changes.
"""

SET_NEXT_RUN = "UPDATE digests SET next_at = %(next_at)s WHERE id = %(id)s"
"""Set a digest's next due time."""

CREATE_RUN = """
    INSERT INTO digest_runs (digest_id, slot, question_id) VALUES (%(id)s, %(slot)s, %(question_id)s)
    ON CONFLICT (digest_id, slot) DO NOTHING
    RETURNING question_id
"""
"""Insert a run; return no row if the slot already has one."""

HAS_RUN = """
    SELECT 1 FROM digest_runs r JOIN questions q ON q.id = r.question_id
    WHERE r.digest_id = %(id)s AND q.state = ANY(%(states)s)
    LIMIT 1
"""
"""Read whether a digest has a run whose question is in one of these states."""

QUESTION_EXISTS = "SELECT 1 FROM questions WHERE delivery_key = %(delivery_key)s"
"""Read whether this manual run exists: the request may be repeated after an interruption."""

POSTED_STORIES = """
    SELECT s.fingerprint, s.at, s.place FROM digest_seen s
    LEFT JOIN questions q ON q.id = s.question_id
    WHERE s.digest_id = %(id)s AND s.question_id <> %(question_id)s AND s.place > %(place)s
      AND s.at > %(now)s - %(days)s * interval '1 day'
      AND (q.state IS NULL OR q.state NOT IN ('failed', 'expired', 'stopped', 'withdrawn')
        OR q.state IN ('stopped', 'withdrawn') AND q.outcome = 'answered' AND q.part > 0)
    ORDER BY s.at DESC
    LIMIT %(most)s
"""
"""Read the latest stories of other runs, recorded within `days` and after the cursor `place`, the latest first.

Stories of runs that failed or expired, or that were stopped before they posted anything, are left out.
"""

MARK_SEARCHED = "UPDATE digest_runs SET looked = true WHERE digest_id = %(id)s AND question_id = %(question_id)s"
"""Record that a run has searched, once the stories that it posts are recorded."""

LAST_RUN_AT = """
    SELECT max(r.slot) AS slot FROM digest_runs r JOIN questions q ON q.id = r.question_id
    WHERE r.digest_id = %(id)s AND r.question_id <> %(question_id)s AND r.looked AND r.slot <= %(now)s
      AND q.state = 'answered'
"""
"""Read the latest slot of another run that searched and was answered.

A slot in the future comes from a wrong clock, and is ignored.
"""

FORGET_STORIES = """
    DELETE FROM digest_seen
    WHERE digest_id = %(id)s
      AND (question_id = %(question_id)s OR at <= %(now)s - %(days)s * interval '1 day')
"""
"""Delete the stories that this run recorded before an interruption, and stories older than `days`."""

RECORD_STORIES = """
    INSERT INTO digest_seen (digest_id, question_id, fingerprint, at)
    SELECT %(id)s, %(question_id)s, unnest(%(fingerprints)s::text[]), %(now)s
"""
"""Record the stories that this run posts."""


HISTORY_DAYS = 30
MAX_HISTORY = 500
"""The largest number of posted stories that one query reads, to compare new stories with them."""


@dataclass(frozen=True, kw_only=True)
class PostedHistory:
    """The stories that other runs of a digest have posted, the latest first; `at` is the time of the last post, if any.

    `cursor` is the place up to which the table was read.
    """

    fingerprints: Sequence[str] = ()
    at: datetime | None = None
    cursor: int = 0


class RecordResult(Enum):
    """The result of recording a run's stories."""

    OK = "done"
    CONFLICT = "outdated"
    """Another run has posted meanwhile: the stories must first be compared with that run's stories."""
    INACTIVE = "unwanted"
    """The digest is deleted, paused or stopped."""


@dataclass(frozen=True)
class DigestStore:
    """The operations on the tables, each a short transaction.

    `many` is whether the app has several installations. `in_lane` adds to a question the queue in which its job waits.
    """

    pool: Pool
    _: KW_ONLY
    many: bool = False
    in_lane: Callable[[NewQuestion], Awaitable[NewQuestion]] | None = None

    async def create(
        self, spec: DigestSpec, *, id: UUID, owner: Owner, channel_id: str, next_at: datetime, limits: DigestLimits
    ) -> LimitReached | None:
        """Insert a digest and return None, or return the limit that forbids this.

        A second call with the same `id` changes nothing.
        """
        values = vars(owner) | {"id": id, "channel_id": channel_id, "next_at": next_at, "most": limits.per_user}
        async with self.pool.transaction() as connection:
            await connection.execute(LOCK_WORKSPACE, values)
            if await _fetch_one(connection, LOCK, values):
                return None
            counts = await _fetch_one(connection, COUNTS, values) or {}
            if full := limits.reached(**counts, direct=channel_id.startswith("D")):
                return full
            columns = vars(spec.schedule) | {"days": sorted(spec.schedule.days), "category": spec.category}
            columns |= {"topic": storable(spec.topic), "silence": sorted(spec.report_empty_on)}
            await connection.execute(CREATE, values | columns)
        return None

    async def get(self, id: UUID, *, now: datetime) -> Digest | None:
        """Return a digest, None if it is deleted."""
        row = await self.pool.fetch_one(GET, {"id": id, "now": now})
        return _digest(row) if row else None

    async def of_owner(self, owner: Owner, *, now: datetime) -> tuple[Digest, ...]:
        """Return the digests of an owner, by number."""
        rows = await self.pool.fetch_all(OF_OWNER, vars(owner) | {"now": now})
        return tuple(map(_digest, rows))

    async def of_team(self, team_id: str, *, now: datetime) -> tuple[Digest, ...]:
        """Return the digests of a workspace, the most expensive first."""
        rows = await self.pool.fetch_all(OF_TEAM, {"team_id": team_id, "now": now})
        return tuple(map(_digest, rows))

    async def set_state(self, id: UUID, state: State, *, next_at: datetime | None) -> None:
        """Pause a digest, or resume it from `next_at` on."""
        await self.pool.execute(SET_STATE, {"id": id, "state": state, "next_at": next_at})

    async def stop(self, id: UUID, notice: NewQuestion, *, by_admin: Change | None = None) -> bool:
        """Stop a digest and insert the question `notice`, in one transaction; return False if it is not active.

        An admin's change, `by_admin`, is recorded in the audit log. If the digest is not active, a call with `by_admin`
        does nothing, and one without it only inserts the notice.
        """
        async with self.pool.transaction() as connection:
            stopped = await _fetch_one(connection, STOP, {"id": id}) is not None
            if stopped or by_admin is None:
                await self._ask(connection, notice)
            if stopped and by_admin is not None:
                await record_change(connection, by_admin)
        return stopped

    async def delete(self, id: UUID, notice: NewQuestion | None = None) -> bool:
        """Delete a digest and insert the question of its notice, in one transaction; return False if it is gone."""
        async with self.pool.transaction() as connection:
            ended = await _fetch_one(connection, DELETE, {"id": id}) is not None
            if ended and notice is not None:
                await self._ask(connection, notice)
        return ended

    async def start_due(
        self,
        plan: Callable[[Digest], tuple[datetime, NewQuestion, datetime]],
        *,
        now: datetime,
        installation: str | None = None,
    ) -> UUID | None:
        """Start a run of one digest that is due, and set when the digest is due next, in one transaction.

        Return the digest's id, None if no digest is due. `plan` returns the slot of the run, its question, and when the
        digest is due next.

        A slot has one run, even if several processes do this at once. If a run of the digest still waits for a worker,
        no other is started, since that run also covers the later slots. `installation` is the id of the installation
        that this process serves.
        """
        values = {"now": now, "installation": installation, "many": self.many}
        async with self.pool.transaction() as connection:
            row = await _fetch_one(connection, DUE, values)
            if row is None:
                return None
            slot, question, next_at = plan(_digest(row))
            if await _fetch_one(connection, HAS_RUN, {"id": row["id"], "states": ["received"]}) is None:
                await self._begin(connection, row["id"], slot, question)
            await connection.execute(SET_NEXT_RUN, {"id": row["id"], "next_at": next_at})
        return UUID(str(row["id"]))

    async def reschedule_stray(self, *, now: datetime) -> UUID | None:
        """Correct the due time of a digest that was scheduled too late, for example by a process whose clock is fast.

        Return the digest's id, None if there is no such digest.
        """
        async with self.pool.transaction() as connection:
            row = await _fetch_one(connection, MISSCHEDULED, {"now": now})
            if row is None:
                return None
            next_at = next_slot(_digest(row).spec.schedule, now)
            await connection.execute(SET_NEXT_RUN, {"id": row["id"], "next_at": next_at})
        return UUID(str(row["id"]))

    async def start_manual(self, id: UUID, question: NewQuestion, *, now: datetime) -> bool:
        """Start a manual run; return False if another run is unfinished, or if the digest is deleted.

        If the same request has started its run already, start no other, and return True.
        """
        async with self.pool.transaction() as connection:
            there = await _fetch_one(connection, LOCK, {"id": id}) is not None
            if there and await _fetch_one(connection, QUESTION_EXISTS, vars(question)):
                return True
            running = await _fetch_one(connection, HAS_RUN, {"id": id, "states": [*OPEN]}) is not None
            return there and not running and await self._begin(connection, id, now, question)

    async def _begin(
        self, connection: AsyncConnection[DictRow], id: UUID, slot: datetime, question: NewQuestion
    ) -> bool:
        values = {"id": id, "slot": slot, "question_id": question.id}
        return await _fetch_one(connection, CREATE_RUN, values) is not None and await self._ask(connection, question)

    async def _ask(self, connection: AsyncConnection[DictRow], question: NewQuestion) -> bool:
        if self.in_lane is not None:
            question = await self.in_lane(question)
        values = vars(question) | {"text": storable(question.text)}
        return await _fetch_one(connection, queries.INSERT, values) is not None

    async def posted(self, id: UUID, *, question_id: UUID, now: datetime, cursor: int = 0) -> PostedHistory:
        """Return the stories that other runs of a digest have posted after a cursor."""
        values = {"id": id, "question_id": question_id, "now": now, "days": HISTORY_DAYS, "place": cursor}
        rows = await self.pool.fetch_all(POSTED_STORIES, values | {"most": MAX_HISTORY})
        return PostedHistory(
            fingerprints=[row["fingerprint"] for row in rows],
            at=rows[0]["at"] if rows else None,
            cursor=max((row["place"] for row in rows), default=cursor),
        )

    async def record_posted(
        self, id: UUID, fingerprints: Sequence[str], *, question_id: UUID, now: datetime, cursor: int, manual: bool
    ) -> RecordResult:
        """Record the stories that a run posts, and mark the run as having searched.

        `cursor` is the place up to which the run has read the table.

        Runs of the same digest record one after the other; an interrupted run may record again. Nothing is recorded
        unless the result is `OK`. A `manual` run is recorded even if the digest is paused or stopped.
        """
        values = {"id": id, "question_id": question_id, "now": now, "days": HISTORY_DAYS, "place": cursor, "most": 1}
        async with self.pool.transaction() as connection:
            digest = await _fetch_one(connection, LOCK, values)
            await connection.execute(FORGET_STORIES, values)
            if digest is None or not (manual or digest["state"] == State.ACTIVE):
                return RecordResult.INACTIVE
            if await _fetch_one(connection, POSTED_STORIES, values):
                return RecordResult.CONFLICT
            await connection.execute(RECORD_STORIES, values | {"fingerprints": list(map(storable, fingerprints))})
            await connection.execute(MARK_SEARCHED, values)
        return RecordResult.OK

    async def last_run_at(self, id: UUID, *, question_id: UUID, now: datetime) -> datetime | None:
        """Return the slot of the latest other run that searched for news and was answered, None if there is none.

        Slots after `now` are ignored.
        """
        values = {"id": id, "question_id": question_id, "now": now}
        row = await self.pool.fetch_one(LAST_RUN_AT, values)
        return row["slot"] if row else None


async def _fetch_one(
    connection: AsyncConnection[DictRow], query: LiteralString, values: Mapping[str, Any]
) -> DictRow | None:
    return await (await connection.execute(query, values)).fetchone()


def _digest(row: Mapping[str, Any]) -> Digest:
    schedule = Schedule(days=frozenset(row["days"]), at=row["at"], zone=row["zone"])
    return Digest(
        id=row["id"],
        number=row["number"],
        owner=Owner(team_id=row["team_id"], user_id=row["user_id"]),
        channel_id=row["channel_id"],
        spec=DigestSpec(
            category=row["category"], topic=row["topic"], schedule=schedule, report_empty_on=frozenset(row["silence"])
        ),
        state=State(row["state"]),
        next_at=row["next_at"],
        runs=row["runs"],
        cost_usd=row["cost_usd"],
        unpriced=row["unpriced"],
        failed=bool(row["failed"]),
    )
