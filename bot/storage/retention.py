"""Retention: texts are deleted after some days, by the database's clock, in small batches."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from psycopg import Error

from bot.privacy.tables import TABLES, assignments
from bot.storage.database import DATABASE_UNAVAILABLE
from bot.storage.personal_data import batched
from bot.storage.questions import Pool

log = logging.getLogger(__name__)

SWEEP_SECONDS = 600.0
SWEEP_AT_ONCE_SECONDS = 30.0
"""The pause between two sweeps if `days` is 0. A sweep deletes all outdated texts."""

START_SECONDS = 5.0
"""How long the first sweep waits after a start, so that waiting questions are answered first."""

BATCH = 200
"""The most rows that one transaction changes, which locks them for some milliseconds."""

PAUSE_SECONDS = 0.05
"""The pause between two batches, in which other transactions get their turn."""

_ONE_AT_A_TIME = "SELECT set_config('lock_timeout', '1000', true), pg_try_advisory_xact_lock(6912) AS locked"


@dataclass(frozen=True, kw_only=True)
class Retention:
    """Deletes texts that are older than `days` days; with 0, the texts of every settled question.

    Every process runs this. Only one process deletes at a time, and no process waits for another.
    """

    pool: Pool
    days: int
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep

    async def run(self) -> None:
        """Delete outdated texts repeatedly until cancelled."""
        await self.sleep(START_SECONDS)
        while True:
            try:
                deleted = await self.sweep()
            except DATABASE_UNAVAILABLE as error:
                log.warning("retention.skipped", extra={"error": type(error).__name__})
            except Error as error:
                log.error("retention.failed", extra={"error": type(error).__name__})
            else:
                if deleted:
                    log.info("retention.deleted", extra={"count": deleted})
            await self.sleep(SWEEP_SECONDS if self.days else SWEEP_AT_ONCE_SECONDS)

    async def sweep(self) -> int:
        """Delete outdated rows in every table, or the texts in them; return the number of rows."""
        deleted = 0
        # A table without a parent, such as `questions`, comes before the tables whose rows belong to its rows.
        for name in sorted(TABLES, key=lambda name: TABLES[name].parent is not None):
            deleted += await self._sweep_table(name)
        return deleted

    async def _sweep_table(self, name: str) -> int:
        table, deleted, batch = TABLES[name], 0, BATCH
        if table.outdated is None:
            return 0
        statement = f"UPDATE {{table}} SET {assignments(table.emptied)}" if table.emptied else "DELETE FROM {table}"
        query = batched(f"{statement} WHERE {{rows}}", name, table.outdated)
        while batch == BATCH:
            async with self.pool.transaction() as connection:
                locked = await (await connection.execute(_ONE_AT_A_TIME)).fetchone()
                if not (locked and locked["locked"]):
                    return deleted
                batch = (await connection.execute(query, {"days": self.days, "batch": BATCH})).rowcount
            deleted += batch
            if batch == BATCH:
                await self.sleep(PAUSE_SECONDS)
        return deleted
