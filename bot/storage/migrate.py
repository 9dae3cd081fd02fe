"""Migrations of the database, and the indexes that are built while the app runs."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import LiteralString

from procrastinate.schema import SchemaManager
from psycopg import AsyncConnection, Error
from psycopg.errors import (
    DeadlockDetected,
    InsufficientPrivilege,
    InvalidSchemaName,
    LockNotAvailable,
    ReadOnlySqlTransaction,
)
from psycopg.sql import SQL, Identifier, Literal

from bot.storage.questions import is_pooled

log = logging.getLogger(__name__)


MIGRATIONS = Path(__file__).with_name("migrations")
LOCK = 7_421_906_533
"""The number of the advisory lock that keeps two starting processes from migrating at the same time."""

BREAKING_HEADER = "-- Older versions cannot run with this."
"""The first line of a migration after which older versions of the app cannot run; they then refuse to start."""

LOCK_MILLISECONDS = 400
"""How long a migration waits for a lock before it starts again.

This is less than a second: after a second, Postgres looks for a deadlock, and may abort a question's transaction. It is
also so short that requests from Slack, which wait meanwhile, are still acknowledged in time.
"""

LOCK_WAIT_SECONDS = 60.0

LOCK_ORDER = (
    "ledger",
    "budget_use",
    "digests",
    "digest_runs",
    "digest_seen",
    "stages",
    "questions",
    "procrastinate_jobs",
)
"""The order in which the app's transactions lock the tables; for example, a question is written before its job."""


class DatabaseNewer(Exception):
    """A newer version migrated the database, and this version cannot run with it; the message says what to do."""


class MigrationRefused(Exception):
    """The database's user may not migrate; the message says what to run, and as which user."""


@dataclass(frozen=True, kw_only=True)
class Migration:
    """An SQL file, with the name under which it is recorded as applied."""

    name: str
    sql: str

    @property
    def additive(self) -> bool:
        """Whether an older version of the app can run after this migration.

        If it cannot, a migration of the job engine has `_post_` in its file name
        (https://procrastinate.readthedocs.io/en/stable/howto/production/migrations.html), and a migration of the app
        begins with `BREAKING_HEADER`.
        """
        return "_post_" not in self.name and not self.sql.startswith(BREAKING_HEADER)


def own_migrations() -> Iterator[Migration]:
    """Yield the files of `bot/storage/migrations` in order; a new file gets the next number."""
    for path in sorted(MIGRATIONS.glob("*.sql")):
        yield Migration(name=path.name, sql=path.read_text(encoding="utf-8"))


def procrastinate_migrations() -> Iterator[Migration]:
    """Yield the migrations that come with the job engine."""
    for path in sorted(Path(SchemaManager.get_migrations_path()).glob("*.sql")):
        yield Migration(name=f"procrastinate/{path.name}", sql=path.read_text(encoding="utf-8"))


def all_migrations() -> tuple[Migration, ...]:
    """Return every migration of this version, in order."""
    return (*procrastinate_migrations(), *own_migrations())


async def newer(connection: AsyncConnection, *, migrations: Sequence[Migration] | None = None) -> tuple[bool, bool]:
    """Return whether a newer version migrated the database, and whether this version can still run with it."""
    names = {migration.name for migration in (all_migrations() if migrations is None else migrations)}
    unknown = [adds for name, adds in (await applied_migrations(connection)).items() if name not in names]
    return bool(unknown), all(unknown)


async def database_is_newer(conninfo: str) -> bool:
    """Return whether a newer version migrated the database."""
    async with await AsyncConnection.connect(conninfo, prepare_threshold=None) as connection:
        return (await newer(connection))[0]


async def applied_migrations(connection: AsyncConnection) -> dict[str, bool]:
    """Return the names of the applied migrations, each with whether it is additive; True if that is not recorded."""
    table = await connection.execute("SELECT to_regclass('schema_migrations')")
    if await table.fetchone() == (None,):
        return {}
    marks = await connection.execute(
        "SELECT name, coalesce((to_jsonb(m) ->> 'adds')::boolean, true) FROM schema_migrations m"
    )
    return {str(name): bool(adds) for name, adds in await marks.fetchall()}


async def migrate(
    conninfo: str,
    *,
    migrations: Sequence[Migration] | None = None,
    wait_seconds: float = LOCK_WAIT_SECONDS,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> int:
    """Apply the missing migrations in one transaction, and return their number.

    If a table is locked for longer than `LOCK_MILLISECONDS`, the transaction is rolled back, and tried again for
    `wait_seconds`. If a newer version has migrated the database, but only with additive migrations, a warning is
    logged. Raises `DatabaseNewer`, `MigrationRefused`, and `LockNotAvailable` or `DeadlockDetected` if the tables were
    in use all the time.
    """
    wanted = all_migrations() if migrations is None else tuple(migrations)
    end = monotonic() + wait_seconds
    while True:
        try:
            async with await AsyncConnection.connect(conninfo, prepare_threshold=None) as connection:
                applied = await _migrate(connection, wanted)
            await create_indexes(conninfo)
            return applied
        except (LockNotAvailable, DeadlockDetected) as error:
            if monotonic() > end:
                raise
            log.info("migrate.waits", extra={"error": type(error).__name__})
        await sleep(0.2)


INDEXES: Mapping[str, LiteralString] = {
    "questions_of_asker": "questions (team_id, user_id, received_at)",
    "questions_with_text": "questions (settled_at) WHERE text_deleted_at IS NULL AND settled_at IS NOT NULL",
    "questions_of_team": "questions (team_id, received_at)",
    "questions_uncleared": "questions (uncleared_since) WHERE uncleared_since IS NOT NULL",
    "budget_use_of_period": "budget_use (period)",
    "audit_changes": "audit (team_id, number) WHERE what NOT LIKE 'question.%'",
    "ledger_of_person": "ledger (user_id)",
}
"""The indexes that take long to build on a large table, each with its table and columns.

A migration that built them would block the app.
"""

INDEX_LOCK = LOCK + 1
"""The number of the advisory lock of the one process that builds `INDEXES`."""


async def create_indexes(conninfo: str) -> None:
    """Build the missing `INDEXES` while the app runs; replace the remains of an interrupted build.

    A failed build is logged: without an index the app is slower, but still correct.
    https://www.postgresql.org/docs/current/sql-createindex.html#SQL-CREATEINDEX-CONCURRENTLY
    """
    async with await AsyncConnection.connect(conninfo, autocommit=True, prepare_threshold=None) as connection:
        missing = [name for name in INDEXES if not await _is_valid(connection, name)]
        # Behind a pooler, a session's lock would not last, so no lock is taken. Two builds at once do no harm: one
        # waits for the other, then builds again.
        if not missing or not (await is_pooled(connection) or await _locks(connection)):
            return
        for name in missing:
            try:
                await connection.execute(SQL("DROP INDEX CONCURRENTLY IF EXISTS {}").format(Identifier(name)))
                create = SQL("CREATE INDEX CONCURRENTLY IF NOT EXISTS {} ON {}")
                await connection.execute(create.format(Identifier(name), SQL(INDEXES[name])))
            except Error as error:
                log.warning("index.not_built", extra={"error": type(error).__name__})


async def _is_valid(connection: AsyncConnection, name: str) -> bool:
    """Return whether an index is complete; also True if there is no table `questions`, and so nothing to build."""
    found = await connection.execute(
        "SELECT to_regclass('questions') IS NULL"
        " OR EXISTS (SELECT 1 FROM pg_index WHERE indexrelid = to_regclass(%s) AND indisvalid)",
        (name,),
    )
    return await found.fetchone() == (True,)


async def _locks(connection: AsyncConnection) -> bool:
    taken = await connection.execute("SELECT pg_try_advisory_lock(%s)", (INDEX_LOCK,))
    return await taken.fetchone() == (True,)


async def _migrate(connection: AsyncConnection, wanted: Sequence[Migration]) -> int:
    is_newer, runs = await newer(connection, migrations=wanted)
    if not runs:
        raise DatabaseNewer(
            "The database is newer than this version of the app, which cannot run with it. "
            "Run the version that migrated it, or a newer one."
        )
    if is_newer:
        log.warning("database.newer")
    there = await applied_migrations(connection)
    if all(migration.name in there for migration in wanted):
        return 0
    try:
        return await _apply(connection, wanted)
    except (InsufficientPrivilege, InvalidSchemaName, ReadOnlySqlTransaction) as error:
        await connection.rollback()
        raise MigrationRefused(await _refusal(connection, error)) from None


async def _apply(connection: AsyncConnection, wanted: Sequence[Migration]) -> int:
    await connection.execute("SELECT pg_advisory_xact_lock(%s)", (LOCK,))
    await connection.execute(SQL("SET LOCAL lock_timeout = {}").format(Literal(LOCK_MILLISECONDS)))
    await _lock_tables(connection)
    await connection.execute(
        "CREATE TABLE IF NOT EXISTS schema_migrations"
        " (name text PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now())"
    )
    # An older version does not know the names of newer migrations, and reads here whether it can run.
    await connection.execute(
        "ALTER TABLE schema_migrations ADD COLUMN IF NOT EXISTS adds boolean NOT NULL DEFAULT true"
    )
    there = await applied_migrations(connection)
    missing = [migration for migration in wanted if migration.name not in there]
    fresh = not any(name.startswith("procrastinate/") for name in there)
    if fresh:
        await _run(connection, SchemaManager.get_schema())
    for migration in missing:
        if not (fresh and migration.name.startswith("procrastinate/")):
            await _run(connection, migration.sql)
        await connection.execute(
            "INSERT INTO schema_migrations (name, adds) VALUES (%s, %s)", (migration.name, migration.additive)
        )
    return len(missing)


async def _lock_tables(connection: AsyncConnection) -> None:
    """Lock the tables that migrations may change, in the order of `LOCK_ORDER`."""
    for name in LOCK_ORDER:
        table = await connection.execute("SELECT to_regclass(%s)::text", (name,))
        if await table.fetchone() != (None,):
            await connection.execute(SQL("LOCK TABLE {} IN ACCESS EXCLUSIVE MODE").format(Identifier(name)))


async def _refusal(connection: AsyncConnection, error: Exception) -> str:
    if isinstance(error, ReadOnlySqlTransaction):
        return "The database is read-only and cannot be migrated. Set DATABASE_URL to the primary server."
    found = await connection.execute(
        "SELECT current_user::text, coalesce(current_schema()::text, 'public'),"
        " coalesce(has_schema_privilege(current_schema()::text, 'CREATE'), false)"
    )
    [(role, schema, may_create)] = await found.fetchall()
    user, place = Identifier(role).as_string(connection), Identifier(schema).as_string(connection)
    if not may_create:
        return (
            f"The database's user {role} may not create tables in the schema {schema}. "
            "As the owner of the database run\n"
            f"    GRANT USAGE, CREATE ON SCHEMA {place} TO {user};\nand then `python -m bot migrate` again."
        )
    return (
        f"The database's user {role} may not change the tables, because another user owns them. "
        "Run `python -m bot migrate` with DATABASE_URL set for that user."
    )


async def _run(connection: AsyncConnection, sql: str) -> None:
    await connection.execute(sql.encode(), prepare=False)
