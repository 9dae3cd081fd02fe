"""An empty, migrated database for each test: a new one, or one that a test left as new but for its rows.

And one that fails.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Self
from urllib.parse import urlencode
from uuid import uuid4

import psycopg
from psycopg import AsyncConnection, OperationalError
from psycopg.conninfo import conninfo_to_dict
from psycopg.rows import DictRow
from psycopg.sql import SQL, Composed, Identifier

from bot.storage.questions import Pool
from tests.fakes.kept_connections import KeptConnections

MOST_BYTES = 1 << 20
"""How large a table may be, with what was deleted from it: a larger one would be slower than a new one."""

OTHERS_SECONDS = 0.1
"""How long the server may take to notice that a connection was closed."""

OTHERS = """
    SELECT count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'
        AND pid <> ALL({unused})
"""

SCHEMA = """
    SELECT ROW(
        (SELECT ROW(count(*), max(xmin::text::bigint), sum(reltuples)) FROM pg_class WHERE oid >= 16384),
        (SELECT ROW(count(*), max(xmin::text::bigint)) FROM pg_attribute WHERE attrelid >= 16384),
        (SELECT ROW(count(*), max(xmin::text::bigint)) FROM pg_index WHERE indrelid >= 16384),
        (SELECT ROW(count(*), max(xmin::text::bigint)) FROM pg_constraint),
        (SELECT ROW(count(*), max(xmin::text::bigint)) FROM pg_trigger),
        (SELECT ROW(count(*), max(xmin::text::bigint)) FROM pg_proc WHERE oid >= 16384),
        (SELECT ROW(count(*), max(xmin::text::bigint)) FROM pg_namespace),
        (SELECT ROW(count(*), max(xmin::text::bigint)) FROM schema_migrations),
        (SELECT array_agg(setconfig) FROM pg_db_role_setting WHERE setdatabase = database.oid),
        datallowconn, datconnlimit, datacl
    )::text
    FROM pg_database AS database WHERE datname = current_database()
"""
"""All that differs from a copy to which something was done that is not a row.

A change of the schema writes rows of these catalogs, or deletes some. Those below 16384 are the server's own.
https://www.postgresql.org/docs/18/system-catalog-initial-data.html
"""

TABLES = """
    SELECT relname FROM pg_class
    WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace AND relname <> 'schema_migrations'
"""


@dataclass(kw_only=True)
class Copy:
    """A copy of the migrated database, and what a connection of our own needs to empty it."""

    name: str
    address: str
    connection: psycopg.Connection | None = None


@dataclass(frozen=True, kw_only=True)
class Databases:
    """The databases of one process of the suite: copies of `template`, whose `schema` they have, on the server `admin`.

    To empty one takes a tenth of the time of a new one, and connections to it are opened faster.
    """

    server: str
    template: str
    schema: str
    largest: Composed
    emptying: Composed
    admin: psycopg.Connection
    kept: KeptConnections
    free: list[Copy] = field(default_factory=list)

    @classmethod
    @contextmanager
    def on(cls, server: str, template: str) -> Iterator[Self]:
        """Yield the databases on a server; drop them at the end."""
        with psycopg.connect(server, autocommit=True) as admin:
            with psycopg.connect(server, dbname=template, autocommit=True) as connection:
                schema = _value(connection, SQL(SCHEMA))
                tables = [Identifier(name) for (name,) in connection.execute(TABLES)]
            sizes = SQL(", ").join(SQL("pg_relation_size({}::text)").format(table.as_string()) for table in tables)
            databases = cls(
                server=server,
                template=template,
                schema=schema,
                largest=SQL("SELECT greatest({})").format(sizes),
                emptying=SQL("; ").join(
                    [
                        SQL("SET session_replication_role = replica"),  # no trigger, and in any order
                        *(SQL("DELETE FROM {}").format(table) for table in tables),
                        SQL("SELECT setval(seqrelid, seqstart, false) FROM pg_sequence"),
                    ]
                ),
                admin=admin,
                kept=KeptConnections(admin.pgconn.host),
            )
            with databases.kept.used():
                try:
                    yield databases
                finally:
                    for copy in databases.free:
                        databases._drop(copy)

    @contextmanager
    def lend(self) -> Iterator[str]:
        """Yield the address of an empty database."""
        copy = self.free.pop() if self.free else self._create()
        yield copy.address
        reusable = False
        with suppress(psycopg.Error):  # it takes no connections, for instance
            reusable = self._empty(copy)
        if reusable:
            self.free.append(copy)
        else:
            self._drop(copy)

    def _create(self) -> Copy:
        name = f"test_{uuid4().hex}"
        create = SQL("CREATE DATABASE {} TEMPLATE {} STRATEGY FILE_COPY")
        self.admin.execute(create.format(Identifier(name), Identifier(self.template)))
        address = f"postgresql:///?{urlencode(conninfo_to_dict(self.server) | {'dbname': name})}"
        self.kept.names.add(name)
        return Copy(name=name, address=address)

    def _empty(self, copy: Copy) -> bool:
        """Delete all rows. Return False if anything else differs from a new copy, or is still connected to it."""
        if copy.connection is None:
            copy.connection = psycopg.connect(copy.address, autocommit=True)
        end = time.monotonic() + OTHERS_SECONDS
        others = SQL(OTHERS).format(unused=self.kept.processes(copy.address))
        while _value(copy.connection, others):
            if time.monotonic() > end:
                return False
            time.sleep(0.002)
        if _value(copy.connection, SQL(SCHEMA)) != self.schema or _value(copy.connection, self.largest) > MOST_BYTES:
            return False
        copy.connection.execute(self.emptying)
        return True

    def _drop(self, copy: Copy) -> None:
        self.kept.forget(copy.address)
        if copy.connection is not None:
            copy.connection.close()
        self.admin.execute(SQL("DROP DATABASE {} WITH (FORCE)").format(Identifier(copy.name)))


class FlakyPool:
    """A pool whose database fails once: at this one of its connections, or, if `late`, when its work is done."""

    def __init__(self, pool: Pool, *, at: int, late: bool) -> None:
        self._pool = pool
        self._left = at
        self._late = late

    def __getattr__(self, name: str) -> Any:
        return getattr(self._pool, name)

    execute, fetch_one, fetch_all = Pool.execute, Pool.fetch_one, Pool.fetch_all

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[AsyncConnection[DictRow]]:
        self._left -= 1
        away = self._left == 0
        if away and not self._late:
            raise OperationalError
        async with self._pool.connection() as connection:
            yield connection
        if away:
            raise OperationalError

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[AsyncConnection[DictRow]]:
        async with self.connection() as connection, connection.transaction():
            yield connection


def _value(connection: psycopg.Connection, query: SQL | Composed) -> Any:
    row = connection.execute(query).fetchone()
    assert row is not None
    return row[0]
