"""The part of the home tab for admins: checked with Slack each time it is shown, and at each click."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from slack_bolt.async_app import AsyncApp

from bot.blocks.admin import STOP_DIGEST, admin_blocks
from bot.blocks.status import ADMIN_ISSUES
from bot.listeners.clicks import Click, Reply, button, text_reply
from bot.listeners.intake import ADMIN_SECONDS, ListenerContext
from bot.model.admin import AdminData, Problem
from bot.model.audit import AuditHealth
from bot.model.digest import Digest
from bot.model.message import Block
from bot.slack.users import Admins
from bot.storage.admin import AdminStore
from bot.storage.budgets import BudgetStore

log = logging.getLogger(__name__)

NOT_ADMIN = "Only admins of this workspace can do this, and Slack says that you are not one. Nothing was changed."
NOT_CHECKED = "I couldn’t check with Slack that you are an admin, so nothing was changed. Please click again."
NO_DIGEST = "This digest is not there any more."
STOPPED = "The digest is stopped, and I’ll tell its owner."

_FIXES = {
    "AuthenticationError": "Set a new key for it, then restart the app.",
    "BillingError": "Buy credit for it.",
}


@dataclass(frozen=True, kw_only=True)
class AdminHome:
    """Reads what admins see. `limits` are values by their labels; the other functions raise database errors.

    `digests` returns those of a workspace, `admin_issues` the providers that need an admin with the class of their
    error, `audit` whether the audit log is written, `workers_alive` how many workers there are.
    """

    admins: Admins
    store: AdminStore
    digests: Callable[[str], Awaitable[Sequence[Digest]]]
    admin_issues: Callable[[], Awaitable[Mapping[str, str]]]
    audit: Callable[[], Awaitable[AuditHealth]]
    workers_alive: Callable[[], Awaitable[int]]
    budgets: BudgetStore
    limits: Mapping[str, str]

    async def blocks(self, team_id: str, user_id: str) -> list[Block]:
        """Return the blocks of the part for admins; none for other people, and while Slack does not say who it is."""
        if not await self.admins.is_admin(user_id):
            return []
        data = AdminData(
            use=await self.store.use(team_id),
            digests=await self.digests(team_id),
            problems=await self._problems(),
            recorded=await self.store.recorded(team_id),
            limits=self.limits,
            spending=await self.budgets.spending(team_id),
            defaults=self.budgets.budgets,
        )
        return admin_blocks(data)

    async def _problems(self) -> list[Problem]:
        found = [
            Problem(text=f"{name} {ADMIN_ISSUES.get(error, 'needs an admin')}.", fix=_FIXES.get(error, ""))
            for name, error in sorted((await self.admin_issues()).items())
        ]
        if problem := (await self.audit()).problem:
            found.append(Problem(text=problem, fix="Run `python -m bot doctor`, which says what to do."))
        if not await self.workers_alive():
            found.append(Problem(text="No worker is alive, so no question is answered.", fix="Start one."))
        return found


def register(app: AsyncApp, context: ListenerContext) -> None:
    """Listen to the buttons of the part for admins."""
    button(app, context, STOP_DIGEST, stop_digest)


async def stop_digest(click: Click, context: ListenerContext) -> Reply:
    """Stop another person's digest, for an admin."""
    if refusal := await admin_refusal(click.user, context):
        log.warning("admin.refused", extra={"action": click.action_id})
        return text_reply(refusal)
    digest = await context.stop_digest(click.id, click.user, click.teams) if click.id is not None else None
    return text_reply(NO_DIGEST if digest is None else STOPPED)


async def admin_refusal(user_id: str, context: ListenerContext) -> str:
    """Return why a person may not do what admins do, by what Slack says now; an empty text if they may."""
    try:
        async with asyncio.timeout(ADMIN_SECONDS):
            is_admin = await context.verify_admin(user_id)
    except TimeoutError:
        is_admin = None
    if is_admin is None:
        return NOT_CHECKED
    return "" if is_admin else NOT_ADMIN
