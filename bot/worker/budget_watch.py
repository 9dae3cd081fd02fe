"""Looks after budgets every few seconds: calls of dead workers end, admins are told what is spent, and what is full."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from psycopg import Error

from bot.blocks.service_limits import full_text
from bot.budgets.sentences import notice_text
from bot.model.spending import BudgetNotice
from bot.storage.database import DATABASE_UNAVAILABLE
from bot.storage.ledger import Ledger
from bot.storage.limiter import PostgresLimiter
from bot.worker.admin_notices import AdminNotices

log = logging.getLogger(__name__)

WATCH_SECONDS = 5.0

HAND_BACK_SECONDS = 0.8
"""How long a process that stops may take to hand back the notices that it has not sent."""


@dataclass(frozen=True, kw_only=True)
class BudgetWatch:
    """The round of one process. `slash` is the umbrella command."""

    ledger: Ledger
    notices: AdminNotices
    slash: str
    limiter: PostgresLimiter | None = None
    seconds: float = WATCH_SECONDS
    _sent: deque[BudgetNotice] = field(default_factory=deque)

    async def run(self) -> None:
        """Look again and again until cancelled."""
        while True:
            try:
                await self.look()
            except (*DATABASE_UNAVAILABLE, Error) as error:
                log.warning("budgets.not_watched", extra={"error": type(error).__name__})
            await asyncio.sleep(self.seconds)

    async def look(self) -> None:
        """Send the notices that are due, and end the calls whose processes are gone. Raises database errors.

        What is not sent is handed back, for any process to send; what a process that died had taken is sent some
        minutes later.
        """
        await self._record_sent()
        due = await self.ledger.notices()
        try:
            while due:
                if await self._tell(due[0]):
                    self._sent.append(due.pop(0))
                    await self._record_sent()
                else:
                    await self.ledger.told(due.pop(0), reached=False)
        finally:
            if due:
                await self._hand_back(due)
        if cut := await self.ledger.cut_abandoned():
            log.warning("ledger.cut", extra={"count": cut})
        for team_id, use in [] if self.limiter is None else await self.limiter.newly_full():
            log.warning("limit.full", extra={"provider": use.lane.partition(":")[0]})
            if await self.notices.tell(team_id, full_text(use), "limit") is None and self.limiter is not None:
                await self.limiter.not_told(use.lane)

    async def _record_sent(self) -> None:
        while self._sent:
            await self.ledger.told(self._sent[0])
            self._sent.popleft()

    async def _hand_back(self, notices: Sequence[BudgetNotice]) -> None:
        """Record that notices were not sent; without a database, that is found out after a while."""
        with suppress(TimeoutError, *DATABASE_UNAVAILABLE, Error):
            async with asyncio.timeout(HAND_BACK_SECONDS):
                for notice in notices:
                    await self.ledger.told(notice, reached=False)

    async def _tell(self, notice: BudgetNotice) -> bool:
        """Return False if no admin could be told and a later try may succeed."""
        log.warning("budget.noticed", extra={"kind": notice.scope, "count": notice.percent})
        told = await self.notices.tell(notice.team_id, notice_text(notice, slash=self.slash), "budget")
        if told is False:
            log.error("budget.not_told", extra={"kind": notice.scope, "count": notice.percent})
        return told is not None
