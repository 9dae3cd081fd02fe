"""Changes the encryption key in use: encrypts every secret in the database again, with the first key of the ring."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import LiteralString

from psycopg import AsyncConnection
from psycopg.rows import DictRow

from bot.errors import Undecryptable
from bot.storage.audit import record_command
from bot.storage.database import connect
from bot.workspaces.encryption import KeyRing, place_of
from bot.workspaces.installations import BOT_TOKEN, REFRESH_TOKEN


@dataclass(frozen=True, kw_only=True)
class SecretColumn:
    """A column of encrypted secrets; `row` is the SQL expression for the primary key of a row, as text."""

    table: LiteralString
    row: LiteralString
    column: LiteralString
    place: LiteralString
    """An SQL expression for the part of the secret's place after the owner's id."""


SECRETS = (
    SecretColumn(table="installations", row="id", column=BOT_TOKEN, place="'bot_token'"),
    SecretColumn(table="installations", row="id", column=REFRESH_TOKEN, place="'refresh_token'"),
    SecretColumn(table="provider_keys", row="id || ' ' || provider", column="secret", place="provider"),
)
"""Every column that holds a secret."""

BATCH = 50
"""The most secrets encrypted again in one transaction, which locks their rows for a few milliseconds."""


@dataclass(kw_only=True)
class Rotation:
    """The result of encrypting every secret with the first key.

    `changed` is the number of secrets that were encrypted again, `current` the number that already had the first key.
    `unreadable` are the places of the secrets that cannot be decrypted. `recorded` are the ids of the workspaces and
    organizations in whose audit logs the change is recorded.
    """

    changed: int = 0
    current: int = 0
    recorded: set[str] = field(default_factory=set)
    unreadable: list[str] = field(default_factory=list)


async def rotate(connection: AsyncConnection[DictRow], keys: KeyRing) -> Rotation:
    """Encrypt every secret with the first key, in small transactions; safe to interrupt and to repeat."""
    result = Rotation()
    for column in SECRETS:
        after = ""
        while True:
            async with connection.transaction():
                rows = await (await connection.execute(_page(column), {"after": after, "batch": BATCH})).fetchall()
                for row in rows:
                    await _rotate_row(connection, column, row, keys, result)
            if not rows:
                break
            after = str(rows[-1]["key"])
    return result


async def _rotate_row(
    connection: AsyncConnection[DictRow], column: SecretColumn, row: DictRow, keys: KeyRing, result: Rotation
) -> None:
    place = place_of(row["id"], row["place"])
    try:
        secret = keys.decrypt(row["secret"], place=place)
    except Undecryptable:
        result.unreadable.append(place)
        return
    if keys.is_current(row["secret"]):
        result.current += 1
        return
    query = f"UPDATE {column.table} SET {column.column} = %(secret)s WHERE {column.row} = %(key)s"
    await connection.execute(query, {"secret": keys.encrypt(secret, place=place), "key": row["key"]})
    result.changed += 1
    if row["id"] not in result.recorded:
        result.recorded.add(row["id"])
        await record_command(connection, "keys.rotate", [row["id"]])


def _page(column: SecretColumn) -> LiteralString:
    return f"""
        SELECT {column.row} AS key, id, {column.place} AS place, {column.column} AS secret FROM {column.table}
        WHERE {column.row} > %(after)s AND {column.column} IS NOT NULL
        ORDER BY 1 LIMIT %(batch)s FOR UPDATE
    """


async def unreadable(connection: AsyncConnection[DictRow], keys: KeyRing) -> list[str]:
    """Return the places of the secrets that cannot be decrypted, without changing or locking anything."""
    found: list[str] = []
    for column in SECRETS:
        query = (
            f"SELECT id, {column.place} AS place, {column.column} AS secret FROM {column.table}"
            f" WHERE {column.column} IS NOT NULL ORDER BY 1, 2"
        )
        for row in await (await connection.execute(query)).fetchall():
            place = place_of(row["id"], row["place"])
            try:
                keys.decrypt(row["secret"], place=place)
            except Undecryptable:
                found.append(place)
    return found


async def rotate_keys(conninfo: str, keys: KeyRing) -> Rotation:
    """Encrypt every secret in a database with the first key. Raises database errors."""
    async with await connect(conninfo, autocommit=True) as connection:
        return await rotate(connection, keys)


def summary(result: Rotation) -> str:
    """Return the result as lines of text for the operator."""
    lines = [f"Encrypted again {result.changed}", f"Already current {result.current}"]
    if result.unreadable:
        places = ", ".join(one.replace(":", " (", 1) + ")" for one in result.unreadable)
        lines.append(
            f"Unreadable      {len(result.unreadable)}: {places}\n"
            "Add the key that they were encrypted with to ENCRYPTION_KEYS, or have these workspaces install the app "
            "again."
        )
    else:
        lines.append(
            "All secrets are encrypted with the first key. The other keys can be removed from ENCRYPTION_KEYS."
        )
    return "\n".join(lines)
