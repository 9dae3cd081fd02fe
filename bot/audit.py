"""Writes the hash-chained audit log in the background."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from psycopg import Error

from bot.storage.audit_chain import AuditStore
from bot.storage.database import DATABASE_UNAVAILABLE

log = logging.getLogger(__name__)

PAUSE_SECONDS = 1.0
"""The pause before the writer looks for new entries again."""


@dataclass(frozen=True, kw_only=True)
class AuditWriter:
    """Chains the entries recorded by any process, about once a second."""

    audit: AuditStore
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep

    async def run(self) -> None:
        """Chain entries until cancelled. Failures are logged and retried.

        Other code records the entries, so they are recorded even while this task does not run.
        """
        while True:
            try:
                while await self.audit.write():
                    pass
            except DATABASE_UNAVAILABLE as error:
                log.warning("audit.away", extra={"error": type(error).__name__})
            except Error as error:
                log.error("audit.not_written", extra={"error": type(error).__name__})
            await self.sleep(PAUSE_SECONDS)
