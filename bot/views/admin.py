"""The part of the home tab for admins: checked with Slack each time it is shown, and at each click."""

from __future__ import annotations

import logging
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial

from slack_bolt.async_app import AsyncApp

from bot.blocks.admin import STOP_DIGEST, admin_blocks
from bot.blocks.admin_pages import OPEN_PAGE, PARTS, page_blocks, page_buttons
from bot.blocks.elements import section
from bot.commands.status import Health
from bot.digests.jobs import DigestStopper
from bot.listeners.clicks import DATABASE_DOWN, Click, Reply, button, text_reply
from bot.listeners.context import ListenerContext
from bot.model.admin import AdminData, Problem
from bot.model.digest import Digest
from bot.model.home import HomeSection
from bot.model.membership import team_of
from bot.model.message import Block
from bot.model.spending import Spending
from bot.slack.users import Admins
from bot.slack.views import NotOpened, View
from bot.storage.admin import AdminStore
from bot.storage.budgets import BudgetStore
from bot.storage.database import DATABASE_UNAVAILABLE
from bot.views.admin_only import admin_refusal
from bot.views.base import modal, show_modal
from perplexity.threads import run_in_thread

log = logging.getLogger(__name__)

PAGE_MODAL = "admin_page_modal"
_PAGE = re.compile(rf"{OPEN_PAGE}(?:{'|'.join(PARTS)}):[0-9]{{1,5}}")


@dataclass(frozen=True, kw_only=True)
class AdminHome:
    """Reads what admins see. `digests` returns those of a workspace, `sections` what features add.

    Functions raise database errors.
    """

    admins: Admins
    store: AdminStore
    digests: Callable[[str], Awaitable[Sequence[Digest]]]
    health: Health
    budgets: BudgetStore
    sections: Callable[[], Sequence[HomeSection]]

    async def page(self, team_id: str, user_id: str, notice: str) -> list[Block]:
        """Return the page for admins; who asks for it has checked that it is for one."""
        data = await self.data(team_id)
        added = [block for one in self.sections() for block in await one.blocks(team_id, user_id)]
        return [*admin_blocks(data, notice, added), *page_buttons(data)]

    async def problems(self, team_id: str) -> list[Problem]:
        """Return what is wrong."""
        use, (lines, paused_by) = await self.store.use(team_id), await self.budgets.lines(team_id)
        return await self.health.problems(team_id, Spending(month=use.cost, lines=lines, paused_by=paused_by))

    async def data(self, team_id: str) -> AdminData:
        """Return what admins see of a workspace; who asks for it has checked that it is for an admin."""
        use, (lines, paused_by) = await self.store.use(team_id), await self.budgets.lines(team_id)
        spending = Spending(today=use.today, month=use.cost, lines=lines, paused_by=paused_by)
        return AdminData(
            use=use,
            digests=await self.digests(team_id),
            problems=await self.health.problems(team_id, spending),
            recorded=await self.store.recorded(team_id),
            spending=spending,
        )


def register(app: AsyncApp, context: ListenerContext, *, home: AdminHome, stopper: DigestStopper) -> None:
    """Listen to the buttons of the part for admins."""
    button(app, context, STOP_DIGEST, partial(stop_digest, home=home, stopper=stopper))
    button(app, context, _PAGE, partial(show_page, home=home))


async def show_page(click: Click, context: ListenerContext, *, home: AdminHome) -> Reply | None:
    """Show a page of all rows of a table to an admin: at once a window, and what is in it in a moment."""
    if refusal := await admin_refusal(click.user, context):
        log.warning("admin.refused", extra={"action": click.action_id})
        return text_reply(refusal)
    _, part, page = click.action_id.split(":")
    team, view_id = team_of(click.body), click.view_id
    if not click.in_modal:
        opened = await show_modal(context, click.trigger_id, _page_view(part, page, [section("Counting…")]))
        if isinstance(opened, str):
            return text_reply(opened)
        view_id = opened.id
    context.start(_fill(view_id, team, part, page, context, home=home))
    return None


def _page_view(part: str, page: str, blocks: list[Block]) -> View:
    return modal(PAGE_MODAL, PARTS[part].title, blocks, metadata={"part": part, "page": page})


async def _fill(view_id: str, team: str, part: str, page: str, context: ListenerContext, *, home: AdminHome) -> None:
    """Show a page in an open window, for a person who was just found to be an admin."""
    try:
        data = await home.data(team)
    except DATABASE_UNAVAILABLE as error:
        log.warning("view.not_updated", extra={"error": type(error).__name__, "view": PAGE_MODAL})
        blocks: list[Block] = [section(DATABASE_DOWN)]
    else:
        blocks = await run_in_thread(page_blocks, data, part, int(page))
    result = await context.views.update(view_id, _page_view(part, page, blocks))
    if isinstance(result, NotOpened):  # most often the person has closed it
        log.info("view.not_updated", extra={"error": result.error, "view": PAGE_MODAL})


async def stop_digest(click: Click, context: ListenerContext, *, home: AdminHome, stopper: DigestStopper) -> Reply:
    """Stop another person's digest, for an admin."""
    if refusal := await admin_refusal(click.user, context):
        log.warning("admin.refused", extra={"action": click.action_id})
        return text_reply(refusal)
    digest = await stopper.stop_for_admin(click.id, click.user, click.teams) if click.id is not None else None
    part, page = (str(click.metadata.get(name, "")) for name in ("part", "page"))
    if click.in_modal and part in PARTS and page.isdecimal():
        context.start(_fill(click.view_id, team_of(click.body), part, page, context, home=home))
    return text_reply(
        "This digest no longer exists." if digest is None else "The digest is stopped, and I’ll tell its owner."
    )
