"""The writer of the hash-chained audit log, in the background."""

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
"""How long the log waits for more to chain."""


@dataclass(frozen=True, kw_only=True)
class AuditWriter:
    """Chains what was recorded, in this process or another, about once a second."""

    audit: AuditStore
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep

    async def run(self) -> None:
        """Chain until cancelled. What fails is logged and tried again; nothing that is recorded depends on it."""
        while True:
            try:
                while await self.audit.write():
                    pass
            except DATABASE_UNAVAILABLE as error:
                log.warning("audit.away", extra={"error": type(error).__name__})
            except Error as error:
                log.error("audit.not_written", extra={"error": type(error).__name__})
            await self.sleep(PAUSE_SECONDS)
