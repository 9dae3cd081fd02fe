"""The writer of the audit log: in the background, it moves recorded events into the hash chains of the workspaces."""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from time import monotonic

from psycopg import AsyncConnection, Error
from psycopg.rows import DictRow

from bot.model.admin import DIRECT
from bot.model.audit import (
    APP,
    BEGINNING,
    AuditHealth,
    Change,
    Entry,
    Head,
    SigningKey,
    people_in,
    pseudonym,
    without_people,
)
from bot.storage.audit import head_of, read_health, record_change, save_head, signing_key
from bot.storage.database import DATABASE_UNAVAILABLE
from bot.storage.questions import Pool

log = logging.getLogger(__name__)

BATCH = 200
"""The most entries that are chained in one transaction."""

HELD_SECONDS = 60.0
"""How long a workspace's events wait before the next attempt if its head is not signed with the key in use."""

HEAD_LOG_SECONDS = 60.0
"""The shortest time between two log lines with the head of a workspace."""

PAUSE_SECONDS = 1.0
"""The pause before the writer looks for new entries again."""

_WAITING = "SELECT EXISTS (SELECT 1 FROM audit_outbox WHERE team_id <> ALL(%(held)s)) AS waits"
_TRY_LOCK = "SELECT pg_try_advisory_xact_lock(6907) AS locked"
_NEXT = """
    SELECT id, at, team_id, user_id, who, what, channel_id, cost_microusd, decision, subject, before::text, after::text
    FROM audit_outbox WHERE team_id <> ALL(%(held)s) ORDER BY id LIMIT %(most)s
"""
_HEADS = """
    SELECT t.team_id, h.count, h.hash, h.signature,
        EXISTS (SELECT 1 FROM audit a WHERE a.team_id = t.team_id) AS has_entries
    FROM unnest(%(teams)s::text[]) t (team_id) LEFT JOIN audit_heads h USING (team_id)
"""
_PEOPLE = """
    SELECT p.team_id, p.user_id, p.who FROM audit_people p
    JOIN unnest(%(teams)s::text[], %(users)s::text[]) w (team_id, user_id) USING (team_id, user_id)
"""
_ADD_PERSON = """
    INSERT INTO audit_people (team_id, user_id, key, who) VALUES (%(team_id)s, %(user_id)s, %(key)s, %(who)s)
"""
_ADD = """
    INSERT INTO audit
        (team_id, number, at, who, what, channel_id, cost_microusd, decision, subject, before, after, hash)
    VALUES (%(team_id)s, %(number)s, %(at)s, %(who)s, %(what)s, %(channel_id)s, %(cost_microusd)s, %(decision)s,
        %(subject)s, %(before)s::json, %(after)s::json, %(hash)s)
"""
_REMOVE = "DELETE FROM audit_outbox WHERE id = ANY(%(ids)s)"


_NAMING = ("subject", "before", "after")
"""The columns that may name people other than the one who acts."""


def _people_of(event: DictRow) -> set[tuple[str, str]]:
    """Return the people whom an event names, as pairs of workspace and id; an entry has their pseudonyms instead."""
    named = set().union(*(people_in(event[name]) for name in _NAMING), {event["user_id"]})
    return {(event["team_id"], user) for user in named if user}


def _entry(event: DictRow, number: int, pseudonyms: Mapping[tuple[str, str], str]) -> Entry:
    """Return an event as an entry; `pseudonyms` maps pairs of workspace and person's id to pseudonyms.

    An event's `user_id` is the person who acted. It is empty if the app acted, or if the person has been erased since;
    after an erasure, the event's `who` is a pseudonym. All direct messages are recorded as one place, since the channel
    id of a direct message reveals its person.
    """
    team, user = event["team_id"], event["user_id"]
    values = {name: value for name, value in event.items() if name not in ("id", "user_id")}
    values |= {name: without_people(event[name], lambda one: pseudonyms[team, one]) for name in _NAMING}
    values["who"] = event["who"] or (pseudonyms[team, user] if user else APP)
    if event["channel_id"].startswith(DIRECT):
        values["channel_id"] = DIRECT
    return Entry(**values, number=number)


class AuditStore:
    """Chains the recorded events. `key` is the configured key that signs heads; without it, the database holds the key.

    Any process may chain events, but only one at a time does. `clock` is monotonic.
    """

    def __init__(self, pool: Pool, *, key: str | None = None, clock: Callable[[], float] = monotonic) -> None:
        self._pool = pool
        self._setting = key
        self._clock = clock
        self._held: dict[str, float] = {}
        self._logged: dict[str, float] = {}

    async def run(self) -> None:
        """Chain the events that any process has recorded, about once a second, until cancelled.

        Failures are logged and retried. Events are recorded even while this task does not run.
        """
        while True:
            try:
                while await self.write():
                    pass
            except DATABASE_UNAVAILABLE as error:
                log.warning("audit.away", extra={"error": type(error).__name__})
            except Error as error:
                log.error("audit.not_written", extra={"error": type(error).__name__})
            await asyncio.sleep(PAUSE_SECONDS)

    async def write(self) -> int:
        """Chain the waiting events, at most `BATCH`; return their number. Raises database errors."""
        held = self._held_now()
        row = await self._pool.fetch_one(_WAITING, {"held": held})
        if row is None or not row["waits"]:
            return 0
        async with self._pool.transaction() as connection:
            locked = await (await connection.execute(_TRY_LOCK)).fetchone()
            if locked is None or not locked["locked"]:
                return 0
            heads, written = await self._chain(connection, held)
        for head in heads:
            self._log(head)
        return written

    async def record(self, change: Change) -> None:
        """Record an event without any other change in the database, such as a refusal."""
        async with self._pool.connection() as connection:
            await record_change(connection, change)

    async def health(self) -> AuditHealth:
        """Return the state of the log. Raises an error only if the database is unavailable."""
        async with self._pool.connection() as connection:
            return await read_health(connection)

    async def _chain(self, connection: AsyncConnection[DictRow], held: Sequence[str]) -> tuple[list[Head], int]:
        rows = await connection.execute(_NEXT, {"held": held, "most": BATCH})
        waiting = await rows.fetchall()
        key = await signing_key(connection, self._setting)
        heads = await self._heads(connection, key, {one["team_id"] for one in waiting})
        waiting = [one for one in waiting if one["team_id"] in heads]
        pseudonyms = await _people(connection, set().union(*map(_people_of, waiting)))
        added = []
        for one in waiting:
            head = heads[one["team_id"]]
            entry = _entry(one, head.count + 1, pseudonyms)
            heads[entry.team_id] = Head(team_id=entry.team_id, count=entry.number, hash=entry.hash(head.hash))
            added.append(vars(entry) | {"hash": heads[entry.team_id].hash})
        async with connection.cursor() as cursor:
            await cursor.executemany(_ADD, added)
        await connection.execute(_REMOVE, {"ids": [one["id"] for one in waiting]})
        changed = [heads[team] for team in sorted({one["team_id"] for one in waiting})]
        for head in changed:
            await save_head(connection, head, key)
        return changed, len(waiting)

    async def _heads(
        self, connection: AsyncConnection[DictRow], key: SigningKey, teams: Iterable[str]
    ) -> dict[str, Head]:
        """Return the heads to which entries may be added, by workspace; the first head of a new chain has no entries.

        A head that is missing although the chain has entries, or that `key` has not signed, is left out, since the app
        must not sign a chain that somebody may have changed. The workspace's events then wait for `HELD_SECONDS`.
        """
        heads = {}
        for row in await (await connection.execute(_HEADS, {"teams": sorted(teams)})).fetchall():
            team = row["team_id"]
            if row["hash"] is None and not row["has_entries"]:
                heads[team] = Head(team_id=team, count=0, hash=BEGINNING)
            elif row["hash"] is not None and key.has_signed(head_of(row), row["signature"]):
                heads[team] = head_of(row)
            else:
                self._held[team] = self._clock() + HELD_SECONDS
                log.error("audit.head_not_signed", extra={"team": team})
        return heads

    def _held_now(self) -> list[str]:
        now = self._clock()
        self._held = {team: until for team, until in self._held.items() if until > now}
        return list(self._held)

    def _log(self, head: Head) -> None:
        """Log a head, at most once in `HEAD_LOG_SECONDS`.

        This copy outside the database reveals whether the whole audit log was replaced.
        """
        now = self._clock()
        if now - self._logged.get(head.team_id, -HEAD_LOG_SECONDS) >= HEAD_LOG_SECONDS:
            self._logged[head.team_id] = now
            log.info("audit.head", extra={"team": head.team_id, "count": head.count, "hash": head.hash})


async def _people(
    connection: AsyncConnection[DictRow], people: Iterable[tuple[str, str]]
) -> dict[tuple[str, str], str]:
    """Return people's pseudonyms by workspace and id; keys are created for new people."""
    wanted = sorted(people)
    values = {"teams": [team for team, _ in wanted], "users": [user for _, user in wanted]}
    rows = await (await connection.execute(_PEOPLE, values)).fetchall()
    pseudonyms = {(row["team_id"], row["user_id"]): str(row["who"]) for row in rows}
    for team, user in wanted:
        if (team, user) not in pseudonyms:
            key = secrets.token_bytes(32)
            pseudonyms[team, user] = pseudonym(key, team_id=team, user_id=user)
            new = {"team_id": team, "user_id": user, "key": key, "who": pseudonyms[team, user]}
            await connection.execute(_ADD_PERSON, new)
    return pseudonyms
