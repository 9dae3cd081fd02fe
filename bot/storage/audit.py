"""The tables of the audit log: events to record, the chain, its signed heads, and people's pseudonyms."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable, Mapping
from typing import Any

from psycopg import AsyncConnection, Error

from bot.model.audit import APP, AuditHealth, Change, Head, SigningKey
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


async def record_change(connection: AsyncConnection[Any], change: Change) -> None:
    """Record a change by an admin or the app, in the transaction that makes the change.

    If recording fails, the database notes the time, and the change is made anyway. Raises database errors that have
    nothing to do with the log.
    """
    values = vars(change) | {name: _json(getattr(change, name)) for name in ("before", "after")}
    await connection.execute(_CHANGE, values)


async def record_command(connection: AsyncConnection[Any], what: str, teams: Iterable[str], subject: str = "") -> None:
    """Record an operator's command in the logs of workspaces; the entry names the app as the one who acted."""
    for team in sorted(teams):
        await record_change(connection, Change(team_id=team, user_id=APP, what=what, subject=subject))


async def signing_key(connection: AsyncConnection[Any], setting: str | None) -> SigningKey:
    """Return the key `setting`; if that is None, return the key in the database, which is created if it is missing.

    Must run in a transaction that holds the lock of `lock_writer`, or while no process adds to the chain.
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
    """Prevent every process from adding to the chain until the end of the transaction."""
    await connection.execute(_LOCK)


async def read_health(connection: AsyncConnection[Any]) -> AuditHealth:
    """Return the state of the log. Raises an error only if the database is unavailable."""
    try:
        row = await (await connection.execute(_HEALTH)).fetchone() or {}
    except DATABASE_UNAVAILABLE:
        raise
    except Error:
        return AuditHealth(broken=True)
    return AuditHealth(waiting_seconds=row["waiting"] or 0.0, lost_at=row["lost_at"])


async def save_head(connection: AsyncConnection[Any], head: Head, key: SigningKey) -> None:
    """Sign a head and save it."""
    await connection.execute(_SET_HEAD, vars(head) | {"key_id": key.id, "signature": key.sign(head)})


def head_of(row: Mapping[str, Any]) -> Head:
    """Build a head from its row."""
    return Head(team_id=row["team_id"], count=row["count"], hash=row["hash"])


def _json(value: object) -> str | None:
    return None if value is None else json.dumps(value, ensure_ascii=False, sort_keys=True)
