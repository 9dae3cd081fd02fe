"""Migrations: each once, in order, however often they are asked for."""

from __future__ import annotations

import asyncio
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from bot.storage.migrate import INDEX_LOCK, all_migrations, migrate, own_migrations, procrastinate_migrations


async def test_a_migrated_database_has_nothing_left_to_do(database: str) -> None:
    assert await migrate(database) == 0


async def test_two_processes_migrate_at_once__each_file_once(postgres: str) -> None:
    name = f"test_{uuid4().hex}"
    conninfo = make_conninfo(postgres, dbname=name)
    async with await psycopg.AsyncConnection.connect(postgres, autocommit=True) as connection:
        await connection.execute(f"CREATE DATABASE {name}".encode())
        try:
            applied = await asyncio.gather(migrate(conninfo), migrate(conninfo))
            begun_with = await budgets(conninfo)
        finally:
            await connection.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())

    assert sorted(applied) == [0, len([*procrastinate_migrations(), *own_migrations()])]
    assert begun_with == [("", "user", "", 5_000_000, "")]


async def budgets(conninfo: str) -> list[tuple[Any, ...]]:
    async with await psycopg.AsyncConnection.connect(conninfo) as connection:
        found = await connection.execute("SELECT team_id, scope, subject, amount, user_id FROM budgets")
        return await found.fetchall()


async def test_a_database_from_before_keeps_having_no_budget(postgres: str) -> None:
    name = f"test_{uuid4().hex}"
    conninfo = make_conninfo(postgres, dbname=name)
    before = [one for one in all_migrations() if one.name < "0059" or one.name.startswith("procrastinate/")]
    async with await psycopg.AsyncConnection.connect(postgres, autocommit=True) as connection:
        await connection.execute(f"CREATE DATABASE {name}".encode())
        try:
            await migrate(conninfo, migrations=before)
            assert await migrate(conninfo) > 0
            assert await budgets(conninfo) == []
        finally:
            await connection.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


async def test_a_new_migration_of_the_app_is_applied(database: str) -> None:
    async with await psycopg.AsyncConnection.connect(database) as connection:
        await connection.execute("DELETE FROM schema_migrations WHERE name = '0001_questions.sql'")
        await connection.execute("DROP TABLE questions CASCADE")

    assert await migrate(database) == 1


VALID = "SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass('questions_of_asker')"


@pytest.mark.parametrize(
    "before",
    [
        "DROP INDEX questions_of_asker",
        "UPDATE pg_index SET indisvalid = false WHERE indexrelid = to_regclass('questions_of_asker')",
    ],
    ids=["missing", "interrupted"],
)
async def test_an_index_of_a_large_table_is_built_apart_from_the_migrations(database: str, before: str) -> None:
    async with await psycopg.AsyncConnection.connect(database, autocommit=True) as connection:
        await connection.execute(before.encode())

        assert await migrate(database) == 0
        assert await (await connection.execute(VALID)).fetchone() == (True,)


async def test_one_process_builds_it(database: str) -> None:
    async with await psycopg.AsyncConnection.connect(database, autocommit=True) as connection:
        await connection.execute("DROP INDEX questions_of_asker")
        await connection.execute("SELECT pg_advisory_lock(%s)", (INDEX_LOCK,))

        assert await migrate(database) == 0
        assert await (await connection.execute(VALID)).fetchone() is None
