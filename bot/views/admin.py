"""The page for admins of the home tab: checked with Slack each time it is shown, and at each click."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from slack_bolt.async_app import AsyncApp

from bot.blocks.admin import MAX_RECORDED, USE_TABLES, UseTable, admin_blocks, all_rows_buttons, recorded_list
from bot.commands.status import Health
from bot.listeners.context import ListenerContext
from bot.model.admin import AdminData, Problem, Recorded, Use, WorkspaceUse
from bot.model.home import HomeSection, Place
from bot.model.message import Block
from bot.model.spending import Spending
from bot.slack.users import Admins
from bot.storage.admin import AdminStore
from bot.storage.budgets import BudgetStore
from bot.views.all_rows import AllRows


@dataclass(frozen=True, kw_only=True)
class AdminHome:
    """Reads what admins see. `sections` returns what features add. Functions raise database errors."""

    admins: Admins
    store: AdminStore
    health: Health
    budgets: BudgetStore
    sections: Callable[[], Sequence[HomeSection]]

    async def page(self, team_id: str, user_id: str, notice: str) -> list[Block]:
        """Return the page for admins; who asks for it has checked that it is for one."""
        data = await self.data(team_id)
        above = await self._added("admin", team_id, user_id)
        below = await self._added("admin_end", team_id, user_id)
        buttons = [one for table in USE_TABLES for one in all_use(table, self.store.use).buttons(table.rows(data.use))]
        buttons += [one for one in below if one["type"] == "button"]
        buttons += all_recorded(self.store.recorded).buttons(data.recorded)
        shown = [one for one in below if one["type"] != "button"]
        return [*admin_blocks(data, notice, above, shown), *all_rows_buttons(buttons)]

    async def _added(self, place: Place, team_id: str, user_id: str) -> list[Block]:
        sections = [one for one in self.sections() if one.place == place]
        return [block for one in sections for block in await one.blocks(team_id, user_id)]

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
            problems=await self.health.problems(team_id, spending),
            recorded=await self.store.recorded(team_id),
            spending=spending,
        )

    def register(self, app: AsyncApp, context: ListenerContext) -> None:
        """Listen to the buttons for all rows."""
        for table in USE_TABLES:
            all_use(table, self.store.use).register(app, context)
        all_recorded(self.store.recorded).register(app, context)


def all_use(table: UseTable, use: Callable[[str], Awaitable[WorkspaceUse]]) -> AllRows[Use]:
    """Return the pages of a table of use."""

    async def read(team_id: str) -> Sequence[Use]:
        return table.rows(await use(team_id))

    return AllRows(name=table.name, title=table.title, shown=table.most, read=read, blocks=table.list)


def all_recorded(read: Callable[[str], Awaitable[Sequence[Recorded]]]) -> AllRows[Recorded]:
    """Return the pages of the audit log."""
    return AllRows(name="changes", title="Audit log", shown=MAX_RECORDED, read=read, blocks=recorded_list)
