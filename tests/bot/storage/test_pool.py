"""The pool of connections: a request that comes right after the database cut several gets one that works."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from time import monotonic
from typing import Any

import pytest
from psycopg import AsyncConnection
from psycopg.errors import UndefinedTable
from psycopg_pool import PoolTimeout

from bot.storage.questions import Pool, connection_pool

SIZE = 4


async def open_every_connection(pool: Pool) -> None:
    """Have the pool open as many connections as it may."""
    async with AsyncExitStack() as taken:
        for _ in range(SIZE):
            await taken.enter_async_context(pool.connection())


async def cut_all(database: str) -> None:
    async with await AsyncConnection.connect(database) as connection:
        await connection.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )


async def write(handed_out: AbstractAsyncContextManager[AsyncConnection[Any]]) -> None:
    async with handed_out as connection:
        await connection.execute("INSERT INTO numbers VALUES (1)")
        await connection.execute("INSERT INTO nothing VALUES (2)")


async def test_after_every_connection_was_cut_the_next_request_gets_a_new_one_at_once(database: str) -> None:
    async with connection_pool(database, size=SIZE, seconds=5) as pool:
        await open_every_connection(pool)
        await cut_all(database)

        begun = monotonic()
        async with pool.connection() as connection:
            await connection.execute("SELECT 1")

        assert monotonic() - begun < 0.7
        await open_every_connection(pool)


@pytest.mark.parametrize(("together", "kept"), [(False, [1]), (True, [])])
async def test_statements_are_committed_one_by_one_or_together(database: str, together: bool, kept: list[int]) -> None:
    async with connection_pool(database) as pool:
        async with pool.connection() as connection:
            await connection.execute("CREATE TABLE numbers (number integer)")
        with pytest.raises(UndefinedTable):
            await write(pool.transaction() if together else pool.connection())
        async with pool.connection() as connection:
            rows = await (await connection.execute("SELECT number FROM numbers")).fetchall()

    assert [row["number"] for row in rows] == kept


async def test_a_server_that_closes_each_connection_is_given_up_in_time() -> None:
    async def close(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    async with await asyncio.start_server(close, "127.0.0.1") as server:
        port = server.sockets[0].getsockname()[1]
        pool = connection_pool(f"host=127.0.0.1 port={port} sslmode=disable", seconds=0.5)
        await pool.open()
        begun = monotonic()
        with pytest.raises(PoolTimeout):
            await pool.getconn()

        assert 0.4 < monotonic() - begun < 2
        await pool.close()
