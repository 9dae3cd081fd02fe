"""Start the runs of due digests once a minute; any number of processes may do so at the same time."""

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
    """Checks for due digests at the start of each minute. `new_id` makes the ids of questions.

    If the database is unavailable, the next minute tries again: what was due is still due then. If `disabled`, no
    run starts.
    """

    digests: DigestStore
    disabled: bool = False
    now: Callable[[], datetime] = utc_now
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    new_id: Callable[[], UUID] = uuid4

    async def run(self) -> None:
        """Check every minute until cancelled."""
        while True:
            try:
                await self.run_once()
            except DATABASE_UNAVAILABLE as error:
                log.warning("tick.skipped", extra={"error": type(error).__name__})
            await self.sleep(seconds_to_next_minute(self.now()))

    async def run_once(self) -> int:
        """Start every run that is due; return how many runs this process started."""
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
    """Return when a digest is due next, after `now`."""
    return next_slot(digest.spec.schedule, now)


def seconds_to_next_minute(now: datetime) -> float:
    """Return the seconds until the next full minute."""
    return MINUTE - now.second - now.microsecond / 1e6
