"""Checks the budgets every few seconds, and tells admins once when 75, 95 or 100 percent of a budget is spent."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial

from psycopg import Error

from bot.budgets import format_amount
from bot.model.spending import WEEK, BudgetNotice
from bot.process import watch
from bot.storage.database import DATABASE_UNAVAILABLE
from bot.storage.ledger import Ledger
from bot.translation import dated, money, percent
from bot.translation import gettext as _
from bot.worker.admin_notices import AdminNotices

log = logging.getLogger(__name__)

HAND_BACK_SECONDS = 0.8
"""How long a stopping process may take to hand back the notices that it has not sent."""


@dataclass(frozen=True, kw_only=True)
class BudgetWatch:
    """One process's checks of the budgets. `slash` is the umbrella command."""

    ledger: Ledger
    notices: AdminNotices
    slash: str
    _sent: deque[BudgetNotice] = field(default_factory=deque)

    async def run(self) -> None:
        """Check repeatedly until cancelled."""
        await watch(self.look)

    async def look(self) -> None:
        """Send the notices that are due. Raises database errors.

        A notice that is not sent is handed back, so that any process can send it. If a process dies, others send its
        notices after some minutes.
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

    async def _record_sent(self) -> None:
        while self._sent:
            await self.ledger.told(self._sent[0])
            self._sent.popleft()

    async def _hand_back(self, notices: Sequence[BudgetNotice]) -> None:
        """Record that notices were not sent; if this fails, they count as not sent only after some minutes."""
        with suppress(TimeoutError, *DATABASE_UNAVAILABLE, Error):
            async with asyncio.timeout(HAND_BACK_SECONDS):
                for notice in notices:
                    await self.ledger.told(notice, reached=False)

    async def _tell(self, notice: BudgetNotice) -> bool:
        """Send a notice; return False if no admin got it but a later attempt may succeed, otherwise True."""
        log.warning("budget.noticed", extra={"kind": notice.scope, "count": notice.percent})
        told = await self.notices.tell(notice.team_id, partial(notice_text, notice, slash=self.slash), "budget")
        if told is False:
            log.error("budget.not_told", extra={"kind": notice.scope, "count": notice.percent})
        return told is not None


def notice_text(notice: BudgetNotice, *, slash: str) -> str:
    """Return mrkdwn that tells an admin how much of a budget is spent; `slash` is the umbrella command."""
    text = _("{budget} is {percent} used: {spent} of {allowed}. Change it with `{slash} budget`.")
    if notice.percent >= 100:
        text = _(
            "{budget} is used up: {spent} of {allowed}. I refuse further questions. Change it with `{slash} budget`."
        )
    spent, allowed = money(format_amount(notice.spent)), money(format_amount(notice.allowed))
    share = percent(notice.percent / 100)
    return text.format(budget=_budget(notice), percent=share, spent=spent, allowed=allowed, slash=slash)


def _budget(notice: BudgetNotice) -> str:
    day = dated(notice.period, _("d MMMM"))
    if notice.scope == "workspace":
        return _("The workspace’s budget for {month}").format(month=dated(notice.period, "MMMM"))
    if notice.scope == f"workspace{WEEK}":
        return _("The workspace’s budget for the week from {day}").format(day=day)
    whose = f"<@{notice.subject}>" if notice.scope.startswith("user") else f"<#{notice.subject}>"
    weekly, daily = _("{whose}’s budget for the week from {day}"), _("{whose}’s budget for {day}")
    return (weekly if notice.scope.endswith(WEEK) else daily).format(whose=whose, day=day)
