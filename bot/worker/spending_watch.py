"""Checks spending every few seconds: ends the calls of dead workers, and tells admins about full services."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial

from psycopg import Error

from bot.blocks.status import full_text
from bot.storage.database import DATABASE_UNAVAILABLE
from bot.storage.ledger import Ledger
from bot.storage.limiter import PostgresLimiter
from bot.worker.admin_notices import AdminNotices

log = logging.getLogger(__name__)

WATCH_SECONDS = 5.0


async def watch(look: Callable[[], Awaitable[None]]) -> None:
    """Call `look` every few seconds until cancelled, also while the database is unavailable."""
    while True:
        try:
            await look()
        except (*DATABASE_UNAVAILABLE, Error) as error:
            log.warning("budgets.not_watched", extra={"error": type(error).__name__})
        await asyncio.sleep(WATCH_SECONDS)


@dataclass(frozen=True, kw_only=True)
class SpendingWatch:
    """One process's checks of spending."""

    ledger: Ledger
    limiter: PostgresLimiter
    notices: AdminNotices

    async def look(self) -> None:
        """End the calls of dead processes, and tell admins about full limits. Raises database errors."""
        if cut := await self.ledger.cut_abandoned():
            log.warning("ledger.cut", extra={"count": cut})
        for team_id, use in await self.limiter.newly_full():
            log.warning("limit.full", extra={"provider": use.lane.partition(":")[0]})
            if await self.notices.tell(team_id, partial(full_text, use), "limit") is None:
                await self.limiter.not_told(use.lane)
