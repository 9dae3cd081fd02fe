"""Looks at the audit log without the code that verifies it."""

from __future__ import annotations

from psycopg import AsyncConnection
from psycopg.rows import dict_row

from bot.model.audit import BEGINNING, Entry, Head
from bot.storage.audit import signing_key

_ENTRIES = """
    SELECT team_id, number, at, who, what, channel_id, cost_microusd, decision, subject, before::text, after::text, hash
    FROM audit ORDER BY team_id, number
"""
_HEADS = "SELECT team_id, count, hash, signature FROM audit_heads ORDER BY team_id"


async def is_whole(database: str) -> bool:
    """Return whether each entry follows the one before it, and each signed head names its workspace's last one."""
    async with await AsyncConnection.connect(database, row_factory=dict_row) as connection:
        heads: dict[str, Head] = {}
        for row in await (await connection.execute(_ENTRIES)).fetchall():
            digest, entry = row.pop("hash"), Entry(**row)
            before = heads.get(entry.team_id, Head(team_id=entry.team_id, count=0, hash=BEGINNING))
            if (entry.number, entry.hash(before.hash)) != (before.count + 1, digest):
                return False
            heads[entry.team_id] = Head(team_id=entry.team_id, count=entry.number, hash=digest)
        key = await signing_key(connection, None)
        signed = await (await connection.execute(_HEADS)).fetchall()
        return [row["team_id"] for row in signed if key.has_signed(heads[row["team_id"]], row["signature"])] == [*heads]
