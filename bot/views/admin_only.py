"""Clicks and forms for admins only, each checked with Slack, and modals with all rows of a table."""

from __future__ import annotations

import logging
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from slack_bolt.async_app import AsyncApp

from bot.blocks.elements import button as button_block
from bot.blocks.elements import context as context_block
from bot.blocks.elements import page_turns, section
from bot.clock import in_time
from bot.listeners.clicks import DATABASE_DOWN, Click, ClickReply, Handler, button, text_reply
from bot.listeners.context import ADMIN_SECONDS, ListenerContext
from bot.model.audit import Change
from bot.model.message import Block
from bot.slack.views import NotOpened, View
from bot.storage.audit_chain import AuditStore
from bot.storage.database import DATABASE_UNAVAILABLE
from bot.translation import N_, number
from bot.translation import gettext as _
from bot.views.base import Submission, modal, show_modal
from perplexity.threads import run_in_thread

log = logging.getLogger(__name__)

NOT_ADMIN = N_("Only admins of this workspace can do this, and Slack says that you are not one. Nothing was changed.")


async def submission_refusal(submitted: Submission, what: str, context: ListenerContext, audit: AuditStore) -> str:
    """Return why a submitted form for admins is refused, as `admin_refusal` does; an empty text if it is accepted.

    If the person is no admin, record a refusal of `what` in the audit log: the person has lost the role since the form
    was opened, or the request was forged.
    """
    refusal = await admin_refusal(submitted.user, context)
    if refusal:
        log.warning("admin.refused", extra={"action": what})
    if refusal == _(NOT_ADMIN):
        await audit.record(Change(team_id=submitted.team, user_id=submitted.user, what=what, decision="refused"))
    return refusal


async def admin_refusal(user_id: str, context: ListenerContext) -> str:
    """Return the text that says why a person may not act as an admin; an empty text if the person may.

    Slack is asked each time.
    """
    is_admin = await in_time(context.admins.verify_admin(user_id), ADMIN_SECONDS)
    if is_admin is None:
        return _("I couldn’t check with Slack that you are an admin, so nothing was changed. Please click again.")
    return "" if is_admin else _(NOT_ADMIN)


def for_admins(handle: Handler) -> Handler:
    """Return a handler that calls `handle` if the person who clicked is an admin, and otherwise refuses the click."""

    async def checked(click: Click, context: ListenerContext) -> ClickReply | None:
        if refusal := await admin_refusal(click.user, context):
            log.warning("admin.refused", extra={"action": click.action_id})
            return text_reply(refusal)
        return await handle(click, context)

    return checked


Row = TypeVar("Row")

OPEN_PAGE = "admin_page:"
"""The prefix of the `action_id` of a button that shows a page; the name of the rows and the page's number follow."""

PAGE_MODAL = "admin_page_modal"
PAGE_ROWS = 40


@dataclass(frozen=True, kw_only=True)
class AllRows(Generic[Row]):
    """A table: the page for admins shows its first `shown` rows; a modal shows all rows, `PAGE_ROWS` at a time.

    `read` returns the rows of a workspace, and raises database errors; `blocks` renders rows.
    """

    name: str
    title: str
    shown: int
    read: Callable[[str], Awaitable[Sequence[Row]]]
    blocks: Callable[[Sequence[Row]], Sequence[Block]]

    def buttons(self, rows: Sequence[Row]) -> list[Block]:
        """Return the button that opens the modal with all of these rows; empty if the page for admins has them all."""
        label = f"{_(self.title)} ({number(len(rows))})"
        return [button_block(label, f"{OPEN_PAGE}{self.name}:0", "admin")] if len(rows) > self.shown else []

    def register(self, app: AsyncApp, context: ListenerContext) -> None:
        """Listen to the buttons that show a page."""
        button(app, context, re.compile(rf"{OPEN_PAGE}{self.name}:[0-9]{{1,5}}"), for_admins(self.show))

    async def show(self, click: Click, context: ListenerContext) -> ClickReply | None:
        """Show a page of the modal to an admin. If the modal is not open yet, open it before the rows are read."""
        page, view_id = click.action_id.rpartition(":")[2], click.view_id
        if not click.in_modal:
            opened = await show_modal(context, click.trigger_id, self._view(page, [section(_("Counting…"))]))
            if isinstance(opened, str):
                return text_reply(opened)
            view_id = opened.id
        context.start(self._fill(view_id, click.team, page, context))
        return None

    def show_again(self, click: Click, context: ListenerContext) -> None:
        """Start to show the page again after an admin's click in it has changed a row."""
        name, page = (str(click.metadata.get(one, "")) for one in ("part", "page"))
        if click.in_modal and name == self.name and page.isdecimal():
            context.start(self._fill(click.view_id, click.team, page, context))

    def page(self, rows: Sequence[Row], page: int) -> list[Block]:
        """Return the blocks of a page, counted from 0; if there are fewer pages now, return those of the last page."""
        page = max(0, min(page, (len(rows) - 1) // PAGE_ROWS))
        first = page * PAGE_ROWS
        shown = rows[first : first + PAGE_ROWS]
        ends = number(first + 1 if rows else 0), number(first + len(shown))
        counted = _("{first} to {last} of {count}").format(first=ends[0], last=ends[1], count=number(len(rows)))
        turns = {_("Previous"): page - 1} if page else {}
        turns |= {_("Next"): page + 1} if first + PAGE_ROWS < len(rows) else {}
        return [
            context_block(counted),
            *(self.blocks(shown) if shown else ()),
            *page_turns(f"{OPEN_PAGE}{self.name}:", turns),
        ]

    def _view(self, page: str, blocks: list[Block]) -> View:
        return modal(PAGE_MODAL, _(self.title), blocks, metadata={"part": self.name, "page": page})

    async def _fill(self, view_id: str, team: str, page: str, context: ListenerContext) -> None:
        """Show a page in an open window, for a person who was just confirmed as an admin."""
        try:
            rows = await self.read(team)
        except DATABASE_UNAVAILABLE as error:
            log.warning("view.not_updated", extra={"error": type(error).__name__, "view": PAGE_MODAL})
            blocks: list[Block] = [section(_(DATABASE_DOWN))]
        else:
            blocks = await run_in_thread(self.page, rows, int(page))
        result = await context.views.update(view_id, self._view(page, blocks))
        if isinstance(result, NotOpened):  # most often the person has closed it
            log.info("view.not_updated", extra={"error": result.error, "view": PAGE_MODAL})
