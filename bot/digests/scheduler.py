"""Looks every minute for digests that are due and begins their runs, beside any number of other processes."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from uuid import UUID, uuid4

from bot.clock import utc_now
from bot.digests.jobs import plan_run
from bot.model.digest import Digest, next_slot
from bot.storage.database import DATABASE_UNAVAILABLE
from bot.storage.digests import DigestStore

log = logging.getLogger(__name__)

MINUTE = 60.0


@dataclass(frozen=True, kw_only=True)
class DigestScheduler:
    """Ticks at the beginning of each minute. `now`, `sleep`, `new_id`: the clock, the pause, the ids of questions.

    A database that is away is asked again at the next tick: what came due meanwhile is still due then. Where digests
    are switched `disabled`, nothing begins.
    """

    digests: DigestStore
    disabled: bool = False
    now: Callable[[], datetime] = utc_now
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    new_id: Callable[[], UUID] = uuid4

    async def run(self) -> None:
        """Tick until cancelled."""
        while True:
            try:
                await self.run_once()
            except DATABASE_UNAVAILABLE as error:
                log.warning("tick.skipped", extra={"error": type(error).__name__})
            await self.sleep(seconds_to_next_minute(self.now()))

    async def run_once(self) -> int:
        """Begin every run that is due, and return of how many digests this process did so."""
        if self.disabled:
            return 0
        now = self.now()
        while (digest := await self.digests.reschedule_stray(partial(next_run_at, now=now), now=now)) is not None:
            log.warning("digest.set_right", extra={"digest": str(digest)})
        begun = 0
        while (
            digest := await self.digests.start_due(partial(plan_run, now=now, new_id=self.new_id), now=now)
        ) is not None:
            log.info("digest.due", extra={"digest": str(digest)})
            begun += 1
        return begun


def next_run_at(digest: Digest, *, now: datetime) -> datetime:
    """Return when a digest is due next."""
    return next_slot(digest.spec.schedule, now)


def seconds_to_next_minute(now: datetime) -> float:
    """Return how long it is until the clock shows the next minute."""
    return MINUTE - now.second - now.microsecond / 1e6
