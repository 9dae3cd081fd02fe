"""Budgets on the page for admins: the amounts in force, a form for them, and a button that pauses all spending."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import partial
from typing import get_args

from slack_bolt.async_app import AsyncApp

from bot.blocks.elements import actions, confirmation
from bot.blocks.elements import button as button_element
from bot.blocks.elements import context as context_block
from bot.budgets import ALLOWED, format_amount, parse_amount
from bot.commands.base import ROOT_COMMAND
from bot.commands.parsing import OFF
from bot.features.budgets.command import LABELS, BudgetRequest, budget_blocks
from bot.listeners.clicks import Click, ClickReply, button, text_reply
from bot.listeners.context import ListenerContext
from bot.model.membership import team_of
from bot.model.message import Block
from bot.model.spending import NO_BUDGETS, BudgetLine, Budgets, Scope
from bot.slack.views import View
from bot.storage.audit_chain import AuditStore
from bot.storage.budgets import BudgetStore
from bot.translation import gettext as _
from bot.views.admin_only import for_admins, submission_refusal
from bot.views.base import Response, Submission, errors, modal, open_for_click, submission
from bot.views.forms import limit_input

log = logging.getLogger(__name__)

CHANGE_BUDGETS, CALLBACK_ID = "change_budgets", "budget_modal"
PAUSE_SPENDING, RESUME_SPENDING = "pause_spending", "resume_spending"
"""The ids of the buttons and of the form."""

SCOPES: tuple[Scope, ...] = get_args(Scope)


def register(app: AsyncApp, context: ListenerContext, *, budgets: BudgetStore, audit: AuditStore, slash: str) -> None:
    """Listen to the buttons, and to the form; `slash` is the umbrella command."""
    button(app, context, CHANGE_BUDGETS, for_admins(partial(open_budgets, budgets=budgets, slash=slash)))
    for switch in (PAUSE_SPENDING, RESUME_SPENDING):
        button(app, context, switch, for_admins(partial(switch_spending, budgets=budgets)))
    save = partial(save_budgets, budgets=budgets, audit=audit)
    submission(app, context, CALLBACK_ID, save, first_input=SCOPES[0])


async def admin_section(team_id: str, _: str, *, budgets: BudgetStore) -> list[Block]:
    """Return the budgets on the page for admins."""
    lines, paused_by = await budgets.lines(team_id)
    return budgets_section(lines, budgets.budgets, paused=paused_by is not None)


def budgets_section(lines: Sequence[BudgetLine], usual: Budgets = NO_BUDGETS, *, paused: bool = False) -> list[Block]:
    """Render budgets with buttons to change them, and to pause or resume all spending."""
    switch = button_element(_("Allow paid searches"), RESUME_SPENDING, "admin") if paused else _pause_button()
    change = button_element(_("Change budgets"), CHANGE_BUDGETS, "admin")
    return [*budget_blocks(lines, usual), actions(change, switch)]


def _pause_button() -> Block:
    told = _("No paid search is made until an admin allows them again. People who ask are told so.")
    confirm = confirmation(_("Pause paid searches?"), told, _("Pause"))
    return button_element(_("Pause paid searches"), PAUSE_SPENDING, "admin") | {"confirm": confirm}


async def open_budgets(
    click: Click, context: ListenerContext, *, budgets: BudgetStore, slash: str
) -> ClickReply | None:
    """Open the form for an admin."""
    lines = (await budgets.lines(team_of(click.body)))[0]
    return await open_for_click(click, context, budgets_view(lines, budgets.budgets, slash=slash))


def budgets_view(lines: Sequence[BudgetLine], usual: Budgets = NO_BUDGETS, *, slash: str = f"/{ROOT_COMMAND}") -> View:
    """Build the form with the current budgets: those set by admins, otherwise the `usual` ones in the settings."""
    amounts: dict[Scope, int | None] = {scope: usual.of(scope) for scope in SCOPES}
    amounts |= {line.scope: line.amount for line in lines if not line.subject}
    shown: dict[str, str] = {scope: _shown(amount) for scope, amount in amounts.items()}
    taken = _("Dollars such as 2.50, or off for no limit. Empty a field to go back to its default.")
    blocks = [
        context_block(taken),
        *(limit_input(scope, _(LABELS[scope]), shown[scope]) for scope in SCOPES),
        context_block(_("For one person or one channel, type `{slash} budget help`.").format(slash=slash)),
    ]
    return modal(CALLBACK_ID, _("Budgets"), blocks, submit=_("Save"), close=_("Cancel"), metadata=shown)


def _shown(amount: int | None) -> str:
    return "" if amount is None else format_amount(amount).removeprefix("$").replace(",", "")


async def save_budgets(
    submitted: Submission, context: ListenerContext, *, budgets: BudgetStore, audit: AuditStore
) -> Response | None:
    """Save the budgets that an admin has changed in the form; the others do not change."""
    typed = {scope: str(submitted.value(scope) or "").strip() for scope in SCOPES}
    changed = {scope: text for scope, text in typed.items() if text != submitted.metadata.get(scope, "")}
    amounts: dict[Scope, int | None] = {}
    for scope, text in changed.items():
        try:
            amounts[scope] = None if not text or text.casefold() in OFF else parse_amount(text)
        except ValueError:
            problem = _("“{label}” cannot be “{text}”: it takes {allowed}, off, or nothing.")
            named = {"label": _(LABELS[scope]), "text": text, "allowed": _(ALLOWED)}
            return errors(**{scope: problem.format(**named)})
    if refusal := await submission_refusal(submitted, "budget.change", context, audit):
        return errors(**{SCOPES[0]: refusal})
    for scope, amount in amounts.items():
        request = BudgetRequest(scope=scope, amount=amount, reset=not changed[scope])
        await budgets.change(team_id=submitted.team, user_id=submitted.user, **vars(request))
    context.home_changed(submitted.team, submitted.user, _("The budgets are saved.") if amounts else "")
    return None


async def switch_spending(click: Click, context: ListenerContext, *, budgets: BudgetStore) -> ClickReply:
    """Pause or resume all spending for an admin."""
    pauses = click.action_id == PAUSE_SPENDING
    switch = budgets.pause if pauses else budgets.resume
    changed = await switch(team_id=team_of(click.body), user_id=click.user)
    return text_reply(
        _("There was nothing to change.")
        if not changed
        else _("Paid searches are paused. All of them stop within seconds.")
        if pauses
        else _("Paid searches are allowed again.")
    )
