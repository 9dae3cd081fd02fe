"""Migrations: each once, in order, however often they are asked for."""

from __future__ import annotations

import asyncio
from uuid import uuid4

import psycopg
from psycopg.conninfo import make_conninfo

from bot.storage.database import migrate, own_migrations, procrastinate_migrations


async def test_a_migrated_database_has_nothing_left_to_do(database: str) -> None:
    assert await migrate(database) == 0


async def test_two_processes_migrate_at_once__each_file_once(postgres: str) -> None:
    name = f"test_{uuid4().hex}"
    conninfo = make_conninfo(postgres, dbname=name)
    async with await psycopg.AsyncConnection.connect(postgres, autocommit=True) as connection:
        await connection.execute(f"CREATE DATABASE {name}".encode())
        try:
            applied = await asyncio.gather(migrate(conninfo), migrate(conninfo))
        finally:
            await connection.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())

    assert sorted(applied) == [0, len([*procrastinate_migrations(), *own_migrations()])]


async def test_a_new_migration_of_the_app_is_applied(database: str) -> None:
    async with await psycopg.AsyncConnection.connect(database) as connection:
        await connection.execute("DELETE FROM schema_migrations WHERE name = '0001_questions.sql'")
        await connection.execute("DROP TABLE questions CASCADE")

    assert await migrate(database) == 1
