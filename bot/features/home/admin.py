"""The home tab's page for admins: use and cost, problems, the audit log, and the features' sections.

Slack is asked whether the person is an admin each time the page is shown, and at each click.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC

from slack_bolt.async_app import AsyncApp

from bot.blocks.elements import (
    actions,
    bullets,
    button,
    cell,
    channel,
    context,
    header,
    leaf,
    name,
    person,
    section,
    table,
)
from bot.blocks.escaping import one_line, shorten
from bot.blocks.status import health_block
from bot.blocks.words import NO_LIMIT, spending_sentence
from bot.budgets import format_amount, format_rounded
from bot.feature import Together
from bot.features.home.store import AdminData, AdminStore, Recorded, Use, WorkspaceUse
from bot.listeners.context import ListenerContext
from bot.model.admin import Problem
from bot.model.message import Block
from bot.model.spending import Spending
from bot.slack.users import Admins
from bot.storage.budgets import BudgetStore
from bot.translation import N_, money, ngettext
from bot.translation import gettext as _
from bot.views.admin_only import AllRows

FOR_ADMINS = "admin_home"
"""The `action_id` of the buttons that open and close the page for admins."""

MAX_RECORDED = 20
"""The most entries of the audit log on the page."""

_MAX_CHANGE = 150


def admin_blocks(
    data: AdminData, notice: str = "", sections: Sequence[Block] = (), end: Sequence[Block] = ()
) -> list[Block]:
    """Return the page for admins, which has fewer than a hundred blocks.

    `notice`, escaped, is the result of the last click.

    The features' `sections` come above the workspace's use, and `end` below it.
    """
    return [
        header(_("For admins")),
        context(_("Only admins of this workspace see this page. It has no texts of questions.")),
        actions(button(_("Back"), FOR_ADMINS, "close")),
        *([context(notice)] if notice else []),
        health_block(data.problems),
        section(spending_sentence(data.spending)),
        *sections,
        *_use(data.use),
        *end,
        *_recorded(data.recorded),
    ]


def questions(count: int) -> str:
    """Return "3 questions"."""
    return ngettext("{count} question", "{count} questions", count)


def used(count: int, counted: Callable[[int], str], cost: int) -> str:
    """Return "3 questions, $0.02" for a count and a cost in micro-dollars; without a count, only the cost."""
    return ", ".join([*([counted(count)] if count else []), money(format_rounded(cost))])


@dataclass(frozen=True, kw_only=True)
class UseTable:
    """A table of a month's use, for example by person, with a list of all its rows.

    `name` is part of `action_id`s. `title` is the title of the list. In the table, `column` is the title of the column
    of names, and `counts` the title of the column of counts. `counted` puts a count into words. `most` is the number of
    rows on the page.
    """

    name: str
    title: str
    column: str
    counts: str = N_("Questions")
    counted: Callable[[int], str] = questions
    most: int = 10
    rows: Callable[[WorkspaceUse], Sequence[Use]]
    shown: Callable[[str], Block]

    def table(self, use: WorkspaceUse) -> Block:
        """Return the first rows as a table."""
        cells = [
            (self.shown(one.name), leaf(str(one.count or "–")), leaf(money(format_rounded(one.cost))))
            for one in self.rows(use)[: self.most]
        ]
        return table([_(self.column), _(self.counts), _("Dollars")], [[*map(cell, row)] for row in cells])

    def list(self, rows: Sequence[Use]) -> list[Block]:
        """Return rows as a list."""
        return [bullets([self.shown(one.name), leaf(f": {used(one.count, self.counted, one.cost)}")] for one in rows)]


USE_TABLES = (
    UseTable(name="days", title=N_("Use by day"), column=N_("Day"), most=7, rows=lambda use: use.days, shown=name),
    UseTable(name="people", title=N_("Use by person"), column=N_("Person"), rows=lambda use: use.people, shown=person),
    UseTable(
        name="channels", title=N_("Use by channel"), column=N_("Channel"), rows=lambda use: use.channels, shown=channel
    ),
    UseTable(
        name="services",
        title=N_("Use by service"),
        column=N_("Service"),
        counts=N_("Calls"),
        counted=lambda count: ngettext("{count} call", "{count} calls", count),
        rows=lambda use: use.providers,
        shown=name,
    ),
)


def _use(use: WorkspaceUse) -> Iterator[Block]:
    yield section(_("*Use and cost this month*") + ("" if use.days else f"\n{_('No one has asked anything yet.')}"))
    if use.days:
        yield from (one.table(use) for one in USE_TABLES)


def all_rows_buttons(buttons: Sequence[Block]) -> list[Block]:
    """Return the row of buttons that open complete lists; empty without buttons."""
    return [context(_("All of it")), actions(*buttons)] if buttons else []


def recorded_list(recorded: Sequence[Recorded]) -> list[Block]:
    """Return entries of the audit log as a list."""
    return [bullets(map(_recorded_item, recorded))]


def _recorded_item(one: Recorded) -> list[Block]:
    place = [channel(one.channel_id)] if one.channel_id else []
    moment = leaf(f"{one.at.astimezone(UTC):%Y-%m-%d %H:%M}")
    parts = [moment, doer(one.user_id), name(one.what), *place, name(change_text(one))]
    return [block for part in parts for block in (leaf(" · "), part)][1:]


def doer(user_id: str | None) -> Block:
    """Return a block that names who acted: a person, by name; the app if `user_id` is empty; "erased" if it is None."""
    return person(user_id) if user_id else leaf(_("erased") if user_id is None else _("the app"))


def _recorded(recorded: Sequence[Recorded]) -> Iterator[Block]:
    if not recorded:
        yield section(_("*Audit log*\nNo admin has changed anything in the last 7 days."))
        return
    yield section(_("*Audit log*, the last 7 days"))
    cells = [
        [
            cell(leaf(f"{one.at.astimezone(UTC):%Y-%m-%d %H:%M}")),
            cell(doer(one.user_id)),
            cell(leaf(one.what)),
            cell(channel(one.channel_id)),
            cell(leaf(change_text(one))),
        ]
        for one in recorded[:MAX_RECORDED]
    ]
    titles = [_("When (UTC)"), _("Who"), _("What"), _("Where"), _("Change")]
    yield table(titles, cells, numbers=False)


def change_text(one: Recorded) -> str:
    """Return the values before and after a change; without values, the decision."""
    values = [_value_text(value) for value in (one.before, one.after) if value is not None]
    if one.before is not None and one.after is None:
        values.append("–")
    return " → ".join(shorten(one_line(value), _MAX_CHANGE) for value in values) or one.decision


def _value_text(written: str) -> str:
    """Return a recorded JSON value for people to read: an amount in dollars, a word without its quotes."""
    try:
        value = json.loads(written)
    except ValueError:
        return written
    match value:
        case str() if value.isascii():
            return value
        case {"amount": None, **rest} if not rest:
            return _(NO_LIMIT)
        case {"amount": int(amount), **rest} if not rest:
            return money(format_amount(amount))
        case _:
            return written


@dataclass(frozen=True, kw_only=True)
class AdminHome:
    """Reads the data for admins. Its methods raise database errors."""

    admins: Admins
    store: AdminStore
    budgets: BudgetStore
    together: Callable[[], Together]

    async def page(self, team_id: str, user_id: str, notice: str) -> list[Block]:
        """Return the page for admins; the caller has checked that the person is an admin."""
        together, (use, spending) = self.together(), await self._spending(team_id)
        data = AdminData(
            use=use,
            problems=await together.problems(team_id, spending),
            recorded=await self.store.recorded(team_id),
            spending=spending,
        )
        above, below = [await together.blocks(place, team_id, user_id) for place in ("admin", "admin_end")]
        buttons = [one for table in USE_TABLES for one in all_use(table, self.store.use).buttons(table.rows(data.use))]
        buttons += [one for one in below if one["type"] == "button"]
        buttons += all_recorded(self.store.recorded).buttons(data.recorded)
        shown = [one for one in below if one["type"] != "button"]
        return [*admin_blocks(data, notice, above, shown), *all_rows_buttons(buttons)]

    async def problems(self, team_id: str) -> Sequence[Problem]:
        """Return the current problems."""
        spending = (await self._spending(team_id))[1]
        return await self.together().problems(team_id, spending)

    async def _spending(self, team_id: str) -> tuple[WorkspaceUse, Spending]:
        use, (lines, paused_by) = await self.store.use(team_id), await self.budgets.lines(team_id)
        return use, Spending(today=use.today, month=use.cost, lines=lines, paused_by=paused_by)

    def register(self, app: AsyncApp, context: ListenerContext) -> None:
        """Listen to the buttons that open complete lists, and turn their pages."""
        for one in USE_TABLES:
            all_use(one, self.store.use).register(app, context)
        all_recorded(self.store.recorded).register(app, context)


def all_use(table: UseTable, use: Callable[[str], Awaitable[WorkspaceUse]]) -> AllRows[Use]:
    """Return the pages of a table of use."""

    async def read(team_id: str) -> Sequence[Use]:
        return table.rows(await use(team_id))

    return AllRows(name=table.name, title=table.title, shown=table.most, read=read, blocks=table.list)


def all_recorded(read: Callable[[str], Awaitable[Sequence[Recorded]]]) -> AllRows[Recorded]:
    """Return the pages of the audit log."""
    return AllRows(name="changes", title=N_("Audit log"), shown=MAX_RECORDED, read=read, blocks=recorded_list)
