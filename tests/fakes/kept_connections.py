"""Connections to the tests' databases that outlive the test, so that the next one need not open them.

A new connection costs the server more than what most tests ask of it: its process has yet to read each table's
description before it can plan the first query with it. What is prepared on a connection stays, as its plans are those
of an app that has been running for a while.
"""

from __future__ import annotations

import select
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import pytest
from psycopg import AsyncConnection, Connection, generators
from psycopg._connection_base import BaseConnection
from psycopg._preparing import PrepareManager
from psycopg.abc import PQGenConn
from psycopg.conninfo import conninfo_to_dict
from psycopg.pq import ConnStatus, ExecStatus, PGconn, PipelineStatus, TransactionStatus, abc

FORGET = b"""
    CLOSE ALL; RESET SESSION AUTHORIZATION; RESET ALL; UNLISTEN *; SELECT pg_advisory_unlock_all();
    DISCARD TEMP; DISCARD SEQUENCES
"""
"""What `DISCARD ALL` does, but for the prepared statements. https://www.postgresql.org/docs/current/sql-discard.html"""


class KeptConnections:
    """The unused connections of one process of the suite to the databases `names` of the server at `host`.

    Of who used them before only the prepared statements are left, which psycopg knows in `_prepared`.
    """

    def __init__(self, host: bytes) -> None:
        self.host = host
        self.names: set[str] = set()
        self._unused: defaultdict[str, list[abc.PGconn]] = defaultdict(list)
        self._opened_with: dict[int, str] = {}
        self._prepared: dict[abc.PGconn, PrepareManager] = {}

    @contextmanager
    def used(self) -> Iterator[None]:
        """Have psycopg take these before it opens new ones, and keep what is closed."""
        opens, closes, closes_later = generators.connect, Connection.close, AsyncConnection.close
        begins = BaseConnection.__init__

        def connect(conninfo: str, **more: Any) -> PQGenConn[abc.PGconn]:
            if (unused := self._take(conninfo)) is not None:
                return unused
            made: abc.PGconn = yield from opens(conninfo, **more)
            self._opened_with[made.backend_pid] = conninfo
            return made

        def begin(connection: BaseConnection[Any], used: abc.PGconn) -> None:
            begins(connection, used)
            connection._prepared = self._prepared.pop(used, connection._prepared)

        def close(connection: Connection[Any]) -> None:
            self._keep(connection)
            closes(connection)

        async def close_later(connection: AsyncConnection[Any]) -> None:
            self._keep(connection)
            await closes_later(connection)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(generators, "connect", connect)
            patch.setattr(BaseConnection, "__init__", begin)
            patch.setattr(Connection, "close", close)
            patch.setattr(AsyncConnection, "close", close_later)
            yield

    def processes(self, address: str) -> list[int]:
        """Return the server's processes of the unused connections to a database."""
        return [one.backend_pid for conninfo in self._leading_to(address) for one in self._unused[conninfo]]

    def forget(self, address: str) -> None:
        """Close the unused connections to a database, and keep none again."""
        self.names.discard(_name(address))
        for conninfo in self._leading_to(address):
            for connection in self._unused.pop(conninfo):
                del self._prepared[connection]
                connection.finish()

    def _leading_to(self, address: str) -> list[str]:
        name = _name(address)
        return [conninfo for conninfo in self._unused if _name(conninfo) == name]

    def _take(self, conninfo: str) -> abc.PGconn | None:
        """Return an unused connection that was opened with the same words and works, if there is one."""
        unused = self._unused.get(conninfo, [])
        while unused:
            connection = unused.pop()
            if _is_silent(connection):
                return connection
            del self._prepared[connection]
            connection.finish()
        return None

    def _keep(self, connection: Connection[Any] | AsyncConnection[Any]) -> None:
        """Keep what this was made from, if that can be used again; what is left of it can only be closed."""
        used = connection.pgconn
        if (
            used.status == ConnStatus.OK
            and used.transaction_status == TransactionStatus.IDLE
            and used.pipeline_status == PipelineStatus.OFF  # a cancellation as it begins leaves it on
            and used.host == self.host  # not a pooler
            and used.db.decode() in self.names
            and used.exec_(FORGET).status == ExecStatus.COMMAND_OK
        ):
            while used.notifies():
                pass
            self._unused[self._opened_with[used.backend_pid]].append(used)
            self._prepared[used] = connection._prepared
            connection.pgconn = PGconn.connect_start(b"host=/")
            connection.pgconn.finish()


@cache
def _name(conninfo: str) -> str:
    return str(conninfo_to_dict(conninfo)["dbname"])


def _is_silent(connection: abc.PGconn) -> bool:
    """Return whether a connection is open, and the server has sent nothing on it, such as its goodbye."""
    if connection.status != ConnStatus.OK:
        return False
    poll = select.poll()
    poll.register(connection.socket, select.POLLIN)
    return not poll.poll(0)
