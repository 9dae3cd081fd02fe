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
from bot.texts import admin_home as texts
from bot.texts import status

log = logging.getLogger(__name__)

_FIXES = {"AuthenticationError": texts.SET_NEW_KEY, "BillingError": texts.BUY_CREDIT}
"""What an admin can do about a service, by the class of its error."""


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
            Problem(
                text=texts.needs_admin(name, ADMIN_ISSUES.get(error, status.NEEDS_ADMIN)), fix=_FIXES.get(error, "")
            )
            for name, error in sorted((await self.admin_issues()).items())
        ]
        if problem := (await self.audit()).problem:
            found.append(Problem(text=problem, fix=texts.RUN_DOCTOR))
        if not await self.workers_alive():
            found.append(Problem(text=texts.NO_WORKER, fix=texts.START_WORKER))
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
    return text_reply(texts.UNKNOWN_DIGEST if digest is None else texts.DIGEST_STOPPED)


async def admin_refusal(user_id: str, context: ListenerContext) -> str:
    """Return why a person may not do what admins do, by what Slack says now; an empty text if they may."""
    try:
        async with asyncio.timeout(ADMIN_SECONDS):
            is_admin = await context.verify_admin(user_id)
    except TimeoutError:
        is_admin = None
    if is_admin is None:
        return texts.NOT_CHECKED
    return "" if is_admin else texts.NOT_ADMIN
