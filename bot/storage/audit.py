"""The tables of the audit log: what is to be recorded, the chain, its signed heads, and people's pseudonyms."""

from __future__ import annotations

import json
import secrets
from collections.abc import AsyncIterator, Iterable, Mapping
from typing import Any

from psycopg import AsyncConnection, Error

from bot.model.audit import APP, AuditHealth, Change, Entry, Head, SigningKey, Used
from bot.storage.database import DATABASE_UNAVAILABLE

_CHANGE = """
    SELECT audit_change(%(team_id)s, %(user_id)s, %(what)s, %(channel_id)s, %(decision)s, %(subject)s,
        %(before)s::json, %(after)s::json)
"""
_LOCK = "SELECT pg_advisory_xact_lock(6907)"
_SET_HEAD = """
    INSERT INTO audit_heads (team_id, count, hash, key_id, signature)
    VALUES (%(team_id)s, %(count)s, %(hash)s, %(key_id)s, %(signature)s)
    ON CONFLICT (team_id) DO UPDATE SET count = excluded.count, hash = excluded.hash, key_id = excluded.key_id,
        signature = excluded.signature, at = now()
"""
_STORED_KEY = "SELECT key FROM audit_keys ORDER BY at LIMIT 1"
_STORE_KEY = "INSERT INTO audit_keys (id, key) VALUES (%(id)s, %(key)s)"
_HEALTH = """
    SELECT (SELECT extract(epoch FROM now() - o.at)::float8 FROM audit_outbox o ORDER BY o.id LIMIT 1) AS waiting,
        (SELECT to_timestamp(f.last_value) FROM audit_failed_at f
            WHERE f.is_called AND to_timestamp(f.last_value) > now() - interval '1 day') AS lost_at
"""
_USED = """
    SELECT team_id, min(at) AS since, max(at) AS until FROM (
        SELECT team_id, NULL::timestamptz AS at FROM audit_people
        UNION ALL SELECT team_id, at FROM (
            SELECT team_id, settled_at AS at FROM questions
            UNION ALL SELECT team_id, at FROM budgets
            UNION ALL SELECT team_id, at FROM channel_settings WHERE settings <> '{}'
            UNION ALL SELECT team_id, at FROM workspace_settings WHERE settings <> '{}'
            UNION ALL SELECT team_id, at FROM spending_pauses) recorded
        WHERE at > (
            SELECT m.applied_at + interval '5 seconds' FROM schema_migrations m WHERE m.name = '0024_audit.sql')) known
    WHERE team_id NOT IN (SELECT o.team_id FROM audit_outbox o)
    GROUP BY team_id
"""
_PEOPLE = "SELECT team_id, user_id, key, who FROM audit_people ORDER BY team_id, who"
_LOST_EVER = "SELECT is_called AS lost FROM audit_failed_at"
_ALL_HEADS = "SELECT team_id, count, hash, signature FROM audit_heads ORDER BY team_id"
_LAST = """
    SELECT h.team_id, last.number AS count, last.hash FROM audit_heads h CROSS JOIN LATERAL (
        SELECT a.number, a.hash FROM audit a WHERE a.team_id = h.team_id ORDER BY a.number DESC LIMIT 1) last
"""
_ENTRIES = """
    SELECT team_id, number, at, who, what, channel_id, cost_microusd, decision, subject, before::text, after::text, hash
    FROM audit ORDER BY team_id, number
"""


async def record_change(connection: AsyncConnection[Any], change: Change) -> None:
    """Record a change of an admin, in the transaction that makes it.

    If it cannot be recorded, the database notes when, and the change is made anyway. Raises database errors that have
    nothing to do with the log.
    """
    values = vars(change) | {name: _json(getattr(change, name)) for name in ("before", "after")}
    await connection.execute(_CHANGE, values)


async def record_command(connection: AsyncConnection[Any], what: str, teams: Iterable[str], subject: str = "") -> None:
    """Record in the logs of workspaces what the operator has done by a command: no person of theirs has."""
    for team in sorted(teams):
        await record_change(connection, Change(team_id=team, user_id=APP, what=what, subject=subject))


async def signing_key(connection: AsyncConnection[Any], setting: str | None) -> SigningKey:
    """Return the key of the settings, or the one in the database; it is made if there is none.

    Must run in a transaction that holds the lock of the writer, or no writer may run.
    """
    if setting is not None:
        return SigningKey(secret=setting.encode())
    row = await (await connection.execute(_STORED_KEY)).fetchone()
    if row is not None:
        return SigningKey(secret=bytes(row["key"]), stored=True)
    made = SigningKey(secret=secrets.token_bytes(32), stored=True)
    await connection.execute(_STORE_KEY, {"id": made.id, "key": made.secret})
    return made


async def lock_writer(connection: AsyncConnection[Any]) -> None:
    """Keep every process from chaining until the end of the transaction."""
    await connection.execute(_LOCK)


async def signed_heads(connection: AsyncConnection[Any]) -> dict[str, tuple[Head, str]]:
    """Return the head of each workspace with its signature."""
    rows = await (await connection.execute(_ALL_HEADS)).fetchall()
    return {row["team_id"]: (head_of(row), row["signature"]) for row in rows}


async def used_workspaces(connection: AsyncConnection[Any]) -> dict[str, Used]:
    """Return the workspaces that must have a log, as far as other tables show, which have what was recorded.

    Left out are those with entries that wait. If something was ever not recorded, it may have been the first or last.
    """
    lost = await (await connection.execute(_LOST_EVER)).fetchone() or {}
    rows = await (await connection.execute(_USED)).fetchall()
    unsure = lost.get("lost")
    return {row["team_id"]: Used() if unsure else Used(since=row["since"], until=row["until"]) for row in rows}


async def pseudonyms(connection: AsyncConnection[Any]) -> list[Mapping[str, Any]]:
    """Return whose pseudonym is which, each with its key."""
    return list(await (await connection.execute(_PEOPLE)).fetchall())


async def last_entries(connection: AsyncConnection[Any]) -> dict[str, Head]:
    """Return the last entry of each workspace that has a head, as the head that it should have."""
    rows = await (await connection.execute(_LAST)).fetchall()
    return {row["team_id"]: head_of(row) for row in rows}


async def entries(connection: AsyncConnection[Any]) -> AsyncIterator[tuple[Entry, str]]:
    """Yield the entries of all workspaces with their hashes, each workspace's by number.

    Must run in a transaction.
    """
    async with connection.cursor(name="audit_entries") as cursor:
        cursor.itersize = 2_000
        await cursor.execute(_ENTRIES)
        async for row in cursor:
            values = dict(row)
            digest = str(values.pop("hash"))
            yield Entry(**values), digest


async def read_health(connection: AsyncConnection[Any]) -> AuditHealth:
    """Return whether the log is written. Raises only what says that the database is unavailable."""
    try:
        row = await (await connection.execute(_HEALTH)).fetchone() or {}
    except DATABASE_UNAVAILABLE:
        raise
    except Error:
        return AuditHealth(broken=True)
    return AuditHealth(waiting_seconds=row["waiting"] or 0.0, lost_at=row["lost_at"])


async def sign_heads(connection: AsyncConnection[Any], key: SigningKey, teams: Iterable[str]) -> None:
    """Sign the heads of some workspaces with another key, as they are."""
    known = await signed_heads(connection)
    for team in teams:
        await save_head(connection, known[team][0], key)


async def save_head(connection: AsyncConnection[Any], head: Head, key: SigningKey) -> None:
    """Sign a head and keep it."""
    await connection.execute(_SET_HEAD, vars(head) | {"key_id": key.id, "signature": key.sign(head)})


def head_of(row: Mapping[str, Any]) -> Head:
    """Read a head."""
    return Head(team_id=row["team_id"], count=row["count"], hash=row["hash"])


def _json(value: object) -> str | None:
    return None if value is None else json.dumps(value, ensure_ascii=False, sort_keys=True)
