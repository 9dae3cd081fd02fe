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

T = TypeVar("T")
log = logging.getLogger(__name__)

AWAY = (OperationalError, ConnectorException, OSError)
"""How an absent, restarting or overloaded database shows itself; a pool's time-out is an `OperationalError` too."""


@dataclass(frozen=True, kw_only=True)
class Patience:
    """Repeats an operation while the database is away, for at most `seconds`, first after `first` seconds.

    The pause doubles up to two seconds. The last error is raised when the time is over.
    """

    seconds: float
    first: float = 0.1
    clock: Callable[[], float] = monotonic
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep

    async def __call__(self, operation: Callable[[], Awaitable[T]]) -> T:
        """Return what the operation returns, as soon as it does."""
        end, pause = self.clock() + self.seconds, self.first
        while True:
            try:
                return await operation()
            except AWAY as error:
                if self.clock() + pause > end:
                    raise
                log.warning("database.away", extra={"error": type(error).__name__, "seconds": pause})
            await self.sleep(pause)
            pause = min(2.0, pause * 2)
