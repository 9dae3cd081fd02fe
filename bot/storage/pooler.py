"""Detects a pooler, such as PgBouncer, between this process and the database.

In its transaction mode each transaction may meet another connection of the server: what a connection keeps, such as
prepared statements and LISTEN, gets lost or turns up elsewhere. https://www.pgbouncer.org/features.html
"""

from __future__ import annotations

from typing import Any

from psycopg import AsyncConnection
from psycopg.rows import tuple_row


async def is_pooled(connection: AsyncConnection[Any]) -> bool:
    """Return whether the server process named at the start of the connection differs from the one that answers.

    A pooler invents a process id for its own connections, in every mode.
    """
    async with connection.cursor(row_factory=tuple_row) as cursor:
        await cursor.execute("SELECT pg_backend_pid()")
        return await cursor.fetchone() != (connection.info.backend_pid,)
