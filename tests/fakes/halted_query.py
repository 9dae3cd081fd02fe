"""Holds back a change of a question in the database, so that the process that makes it can be killed just then."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import psycopg

LOCK = 4242
WAITING = "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND objid = %s AND NOT granted"


@dataclass(frozen=True, kw_only=True)
class HaltedQuery:
    """A change that waits for a lock that this connection has."""

    connection: psycopg.AsyncConnection

    async def reached(self) -> None:
        """Wait until a process makes the change."""
        while not await self._waiting():  # noqa: ASYNC110 - a database says nothing by itself
            await asyncio.sleep(0.02)

    async def roll_back(self) -> None:
        """End the connections that wait, as the database does once it notices that a process died."""
        for pid in await self._waiting():
            await self.connection.execute("SELECT pg_terminate_backend(%s, 5000)", [pid])
        await self.connection.execute("DROP TRIGGER halt ON questions")

    async def _waiting(self) -> list[int]:
        rows = await self.connection.execute(WAITING, [LOCK])
        return [pid for (pid,) in await rows.fetchall()]


@asynccontextmanager
async def halted_query(database: str, condition: str) -> AsyncIterator[HaltedQuery]:
    """Halt each update of a question for which a condition on its rows `OLD` and `NEW` is true.

    The database must have been migrated.
    """
    async with await psycopg.AsyncConnection.connect(database, autocommit=True) as connection:
        await connection.execute("SELECT pg_advisory_lock(%s)", [LOCK])
        halt = f"BEGIN IF {condition} THEN PERFORM pg_advisory_xact_lock({LOCK}); END IF; RETURN NEW; END"
        await connection.execute(f"CREATE FUNCTION halt() RETURNS trigger LANGUAGE plpgsql AS $$ {halt} $$".encode())
        await connection.execute("CREATE TRIGGER halt BEFORE UPDATE ON questions FOR EACH ROW EXECUTE FUNCTION halt()")
        yield HaltedQuery(connection=connection)
