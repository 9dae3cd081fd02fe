"""Limits in the home tab of admins: a form that changes how much and how fast people may ask."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import partial

from slack_bolt.async_app import AsyncApp

from bot.blocks.elements import button as button_element
from bot.blocks.elements import context as context_block
from bot.blocks.elements import section
from bot.blocks.escaping import escape
from bot.blocks.status import service_line
from bot.features.limits.command import (
    LABELS,
    NAMES,
    SAVED,
    Limit,
    LimitName,
    LimitStore,
    limit_line,
    limit_not_taken,
    parse_limit,
    typed,
)
from bot.listeners.clicks import Click, ClickReply, button
from bot.listeners.context import ListenerContext
from bot.model.admin import LaneUse
from bot.model.membership import team_of
from bot.model.message import Block
from bot.slack.views import View
from bot.storage.audit_chain import AuditStore
from bot.translation import gettext as _
from bot.views.admin_only import for_admins, submission_refusal
from bot.views.base import Response, Submission, errors, modal, open_for_click, submission
from bot.views.forms import limit_input

CHANGE_LIMITS, CALLBACK_ID = "change_limits", "limit_modal"
"""The ids of the button that opens the form, and of the form."""


def register(app: AsyncApp, context: ListenerContext, *, store: LimitStore, audit: AuditStore) -> None:
    """Listen to the button, and to the form."""
    button(app, context, CHANGE_LIMITS, for_admins(partial(open_limits, store=store)))
    submission(app, context, CALLBACK_ID, partial(save_limits, store=store, audit=audit), first_input=NAMES[0])


async def admin_section(
    team_id: str,
    _: str,
    *,
    store: LimitStore,
    fixed: Mapping[str, str],
    services: Callable[[], Awaitable[Sequence[LaneUse]]],
) -> list[Block]:
    """Return the limits on the page for admins: those they can change, the `fixed` ones, and those of `services`."""
    return [limits_section((await store.of(team_id)).values(), fixed, await services())]


def limits_section(limits: Iterable[Limit], fixed: Mapping[str, str], services: Iterable[LaneUse]) -> Block:
    """Render limits with the button that opens the form."""
    hosts = [f"{escape(_(label))}: *{escape(value)}*" for label, value in fixed.items()]
    lines = [_("*Limits*"), *map(limit_line, limits), *hosts, *map(service_line, services)]
    return section("\n".join(lines)) | {"accessory": button_element(_("Change limits"), CHANGE_LIMITS, "admin")}


async def open_limits(click: Click, context: ListenerContext, *, store: LimitStore) -> ClickReply | None:
    """Open the form for an admin."""
    limits = await store.of(team_of(click.body))
    return await open_for_click(click, context, limits_view(limits))


def limits_view(limits: Mapping[LimitName, Limit]) -> View:
    """Build the form with the current limits."""
    shown: dict[str, str] = {name: typed(limits[name]) for name in NAMES}
    taken = _("Whole numbers, or off for no limit. Empty a field to go back to its default.")
    blocks = [context_block(taken), *(limit_input(name, _(LABELS[name]), shown[name]) for name in NAMES)]
    return modal(CALLBACK_ID, _("Limits"), blocks, submit=_("Save"), close=_("Cancel"), metadata=shown)


async def save_limits(
    submitted: Submission, context: ListenerContext, *, store: LimitStore, audit: AuditStore
) -> Response | None:
    """Save the limits that an admin has changed in the form; the others do not change."""
    if refusal := await submission_refusal(submitted, "limit.change", context, audit):
        return errors(**{NAMES[0]: refusal})
    limits = await store.of(submitted.team)
    values: dict[LimitName, int | None] = {}
    problems: dict[str, str] = {}
    for name in NAMES:
        text = str(submitted.value(name) or "").strip()
        if text == submitted.metadata.get(name, ""):
            continue
        try:
            values[name] = parse_limit(text, bound=limits[name].bound)
        except ValueError as error:
            problems[name] = limit_not_taken(text, name, str(error))
    if problems:
        return errors(**problems)
    if values:
        await store.change(team_id=submitted.team, user_id=submitted.user, values=values)
    context.home_changed(submitted.team, submitted.user, _(SAVED) if values else "")
    return None
