"""The errors of a database that is unavailable, and connections outside the pools."""

from __future__ import annotations

from psycopg import AsyncConnection, OperationalError
from psycopg.errors import IdleInTransactionSessionTimeout, ReadOnlySqlTransaction, TransactionTimeout
from psycopg.rows import DictRow, dict_row

DRIVER_UNAVAILABLE = (OperationalError, ReadOnlySqlTransaction, IdleInTransactionSessionTimeout, TransactionTimeout)
"""The driver's errors for an absent, restarting, overloaded or read-only database, and an abandoned transaction.

A pool's timeout is an `OperationalError`, too. The other classes do not derive from it, but are just as temporary.
"""

DATABASE_UNAVAILABLE = (*DRIVER_UNAVAILABLE, OSError)
"""`DRIVER_UNAVAILABLE`, and the network's errors."""


async def connect(conninfo: str, *, autocommit: bool = False) -> AsyncConnection[DictRow]:
    """Open a connection outside the pools, for one command."""
    return await AsyncConnection.connect(conninfo, row_factory=dict_row, autocommit=autocommit, prepare_threshold=None)
