"""Waits out a database that is away for a moment: a paid answer is not lost for one failed write."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from time import monotonic
from typing import TypeVar

from procrastinate.exceptions import ConnectorException
from psycopg import OperationalError
from psycopg.errors import IdleInTransactionSessionTimeout, ReadOnlySqlTransaction, TransactionTimeout

T = TypeVar("T")
log = logging.getLogger(__name__)

UNAVAILABLE = (OperationalError, ReadOnlySqlTransaction, IdleInTransactionSessionTimeout, TransactionTimeout)
"""How the driver reports an absent, restarting, overloaded or read-only database, and a transaction that was given up.

A pool's time-out is an `OperationalError` too; the others are none, although they pass as well.
"""

AWAY = (*UNAVAILABLE, ConnectorException, OSError)
"""The same, also as the job engine and the network report it."""


LONGEST_PAUSE_SECONDS = 1.0


@dataclass(frozen=True, kw_only=True)
class Patience:
    """Repeats an operation while the database is away, for at most `seconds`, first after `first` seconds.

    The pause doubles up to one second. The last error is raised when the time is over.
    """

    seconds: float
    first: float = 0.1
    clock: Callable[[], float] = monotonic
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep

    async def __call__(self, operation: Callable[[], Awaitable[T]]) -> T:
        """Return what the operation returns, as soon as it does."""
        end, pause, known = self.clock() + self.seconds, self.first, False
        while True:
            try:
                return await operation()
            except AWAY as error:
                if self.clock() + pause > end:
                    raise
                if not known:
                    log.warning("database.away", extra={"error": type(error).__name__})
                known = True
            await self.sleep(pause)
            pause = min(LONGEST_PAUSE_SECONDS, pause * 2)
