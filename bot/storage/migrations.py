"""Brings the database to the schema this version needs: procrastinate's own files, then ours, each once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from procrastinate.schema import SchemaManager
from psycopg import AsyncConnection

OURS = Path(__file__).with_name("migrations")
LOCK = 7_421_906_533
"""The advisory lock's number: any, but ours, so that two starting processes do not migrate at once."""


@dataclass(frozen=True, kw_only=True)
class Migration:
    """One SQL file and the name under which it is remembered as applied."""

    name: str
    sql: str


def ours() -> Iterator[Migration]:
    """Yield the files of `bot/storage/migrations` in order; a new one is added as the next number."""
    for path in sorted(OURS.glob("*.sql")):
        yield Migration(name=path.name, sql=path.read_text(encoding="utf-8"))


def of_procrastinate() -> Iterator[Migration]:
    """Yield the job engine's own migrations, which its upgrades bring along."""
    for path in sorted(Path(SchemaManager.get_migrations_path()).glob("*.sql")):
        yield Migration(name=f"procrastinate/{path.name}", sql=path.read_text(encoding="utf-8"))


def known() -> tuple[Migration, ...]:
    """Return every migration of this version, in order."""
    return (*of_procrastinate(), *ours())


async def applied(connection: AsyncConnection) -> frozenset[str]:
    """Return the names of the migrations that a database has seen; a fresh one has seen none."""
    table = await connection.execute("SELECT to_regclass('schema_migrations')")
    if await table.fetchone() == (None,):
        return frozenset()
    names = await connection.execute("SELECT name FROM schema_migrations")
    return frozenset(str(row[0]) for row in await names.fetchall())


async def migrate(conninfo: str) -> int:
    """Apply what is missing in one transaction and return how many files that were."""
    async with await AsyncConnection.connect(conninfo) as connection:
        await connection.execute("SELECT pg_advisory_xact_lock(%s)", (LOCK,))
        await connection.execute(
            "CREATE TABLE IF NOT EXISTS schema_migrations"
            " (name text PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now())"
        )
        there = await applied(connection)
        missing = [migration for migration in known() if migration.name not in there]
        fresh = not any(name.startswith("procrastinate/") for name in there)
        if fresh:
            await _run(connection, SchemaManager.get_schema())
        for migration in missing:
            if not (fresh and migration.name.startswith("procrastinate/")):
                await _run(connection, migration.sql)
            await connection.execute("INSERT INTO schema_migrations (name) VALUES (%s)", (migration.name,))
    return len(missing)


async def _run(connection: AsyncConnection, sql: str) -> None:
    await connection.execute(sql.encode(), prepare=False)
