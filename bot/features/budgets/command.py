"""Budgets for admins: `/pplx budget`, `pause` and `resume`, and the form and the buttons on the page for admins.

In the settings file, a budget has a name such as `user U012AB3CD week`, and its value is dollars or `off`.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import cast, get_args

from slack_bolt.async_app import AsyncApp

from bot.blocks.elements import (
    actions,
    bullets,
    cell,
    channel,
    confirmation,
    context,
    leaf,
    person,
    rich_line,
    section,
    spoken,
    table,
)
from bot.blocks.elements import button as button_element
from bot.blocks.elements import context as context_block
from bot.blocks.escaping import escape
from bot.blocks.words import NO_LIMIT, spending_sentence
from bot.budgets import ALLOWED, format_amount, format_rounded, parse_amount
from bot.commands.base import ROOT_COMMAND, CommandContext, free_subcommand, one_message
from bot.commands.help import text_message
from bot.commands.parsing import (
    OFF,
    RESETS,
    check_length,
    choose_from,
    inline_code,
    parse_nothing,
)
from bot.errors import UsageError
from bot.listeners.clicks import Click, ClickReply, button, text_reply
from bot.listeners.context import ListenerContext
from bot.model.message import Block, OutgoingMessage
from bot.model.spending import NO_BUDGETS, WEEK, BudgetLine, Budgets, Scope, Spending, Spent
from bot.settings import Settings
from bot.slack.users import Admins
from bot.slack.views import View
from bot.storage.audit_chain import AuditStore
from bot.storage.budgets import BudgetStore, with_first_budget
from bot.storage.questions import Pool
from bot.translation import N_, money
from bot.translation import gettext as _
from bot.views.admin_only import for_admins, submission_refusal
from bot.views.base import Response, Submission, errors, modal, open_for_click, submission
from bot.views.forms import limit_input
from perplexity.formatting import closest_match

NO_CHANNEL_BUDGET = N_(
    "A direct message has no budget of its own: a question there counts toward the asker’s budget. "
    "Type this in a channel, or name one by its id, such as C012AB3CD."
)
FOR_ADMINS_TO_PAUSE = N_("Only admins of this workspace can pause and resume paid searches.")

HERE = "here"
MAX_LENGTH = 200
SCOPES = ("user", "channel", "workspace")
ALL_SCOPES: tuple[Scope, ...] = get_args(Scope)
WEEKLY = "week"

_IDS = {"user": re.compile(r"<@([UW][A-Z0-9]+)(?:\|[^>]*)?>|([UW][A-Z0-9]{1,20})"),
        "channel": re.compile(r"<#([CG][A-Z0-9]+)(?:\|[^>]*)?>|([CG][A-Z0-9]{1,20})")}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class BudgetRequest:
    """A request to change a budget, or, without a `scope`, only to show the spending.

    An empty `subject` means every person or channel that has no budget of its own.

    An `amount` of None means no limit; with `reset`, the budget in the settings applies again.
    """

    scope: Scope | None = None
    subject: str = ""
    amount: int | None = None
    reset: bool = False


def parse(text: str) -> BudgetRequest:
    """Parse the text after `budget`. Raises UsageError, which names the field, the value and the allowed values."""
    check_length(text, MAX_LENGTH)
    words = text.split()
    if not words:
        return BudgetRequest()
    scope = next((one for one in SCOPES if one == words[0].casefold()), None)
    if scope is None:
        choices = choose_from([*SCOPES], meant=closest_match(words[0].casefold(), SCOPES))
        raise UsageError(_("{word} has no budget. {choices}").format(word=inline_code(words[0]), choices=choices))
    *whose, amount = [word for word in words[1:] if word.casefold() != WEEKLY] or [""]
    if not amount:
        problem = _("Add an amount for `{scope}`: {allowed}, `off` or `reset`.")
        raise UsageError(problem.format(scope=scope, allowed=_(ALLOWED)))
    weekly = WEEKLY in text.casefold().split()
    request = BudgetRequest(scope=cast("Scope", f"{scope}{WEEK if weekly else ''}"), subject=_subject(scope, whose))
    if amount.casefold() in RESETS:
        return replace(request, reset=True)
    if amount.casefold() in OFF:
        return request
    try:
        return replace(request, amount=parse_amount(amount))
    except ValueError as error:
        problem = _("The budget of `{scope}` cannot be {value}. It takes {allowed}, `off` or `reset`.")
        allowed = _(str(error))
        raise UsageError(problem.format(scope=scope, value=inline_code(amount), allowed=allowed)) from None


def _subject(scope: str, words: Sequence[str]) -> str:
    if not words:
        return ""
    if scope == "workspace":
        problem = _("`workspace` takes an amount only. Leave out {word}.")
        raise UsageError(problem.format(word=inline_code(words[0])))
    if scope == "channel" and len(words) == 1 and words[0].casefold() == HERE:
        return HERE
    found = _IDS[scope].fullmatch(words[0])
    if found is None or len(words) > 1:
        problem = _("{words} isn’t a user. Use an id such as U012AB3CD, or leave it out.")
        if scope == "channel":
            problem = _("{words} isn’t a channel. Use `here` or an id such as C012AB3CD, or leave it out.")
        raise UsageError(problem.format(words=inline_code(" ".join(words))))
    return found[1] or found[2]


async def answer(
    request: BudgetRequest, context: CommandContext, *, admins: Admins, budgets: BudgetStore, slash: str
) -> OutgoingMessage:
    """Make the requested change and render the spending, both for admins only; `slash` is the umbrella command.

    Raises database errors.
    """
    row, note = context.row, ""
    if not await admins.is_admin(row.user_id):
        return text_message(_("Only admins of this workspace can see and change its budgets."))
    if request.subject == HERE:
        request = replace(request, subject=row.channel_id)
    if request.scope in {"channel", f"channel{WEEK}"} and request.subject.startswith("D"):
        return text_message(_(NO_CHANNEL_BUDGET))
    if request.scope is not None:
        await budgets.change(team_id=row.team_id, user_id=row.user_id, **vars(request))
        note = _("Saved.")
    return spending_message(await budgets.spending(row.team_id), budgets.budgets, slash=slash, note=note)


BUDGET = free_subcommand(
    name="budget",
    summary=N_("See what is spent, and set budgets (admins)"),
    for_admins=True,
    usage="[user | channel | workspace] [ID] [DOLLARS | off | reset] [week]",
    examples=(
        ("user 2.50", N_("what each person may spend a day")),
        ("user 10 week", N_("what each person may spend a week, from Monday")),
        ("user U012AB3CD 10", N_("more for one person")),
        ("channel here 5", N_("what may be spent in this channel a day")),
        ("workspace 300", N_("what may be spent in all a month")),
        ("user off", N_("no limit")),
        ("user reset", N_("back to the default")),
    ),
    for_everyone=True,
    parse=parse,
    render=one_message,
)


async def switch_spending(name: str, budgets: BudgetStore, team_id: str, user_id: str, slash: str) -> str:
    """Pause or resume all spending for an admin, and return a sentence for the admin. Raises database errors."""
    if name == PAUSE.name:
        paused = await budgets.pause(team_id=team_id, user_id=user_id)
        text = _(
            "Paused. I start no more paid searches, and I’m cancelling those under way. "
            "Type `{slash} resume` to allow them again."
        )
        again = _("Paid searches are paused already. Type `{slash} resume` to allow them again.")
        return (text if paused else again).format(slash=slash)
    resumed = await budgets.resume(team_id=team_id, user_id=user_id)
    return _("Paid searches are allowed again.") if resumed else _("Paid searches are not paused.")


async def answer_switch(
    request: None, context: CommandContext, *, name: str, admins: Admins, budgets: BudgetStore, slash: str
) -> OutgoingMessage:
    """Pause or resume spending for a question that an older version of the app has accepted. Raises database errors."""
    row = context.row
    if not await admins.is_admin(row.user_id):
        return text_message(_(FOR_ADMINS_TO_PAUSE))
    return text_message(await switch_spending(name, budgets, row.team_id, row.user_id, slash))


switch = partial(
    free_subcommand, for_admins=True, usage="", for_everyone=True, refusal=FOR_ADMINS_TO_PAUSE, render=one_message
)

PAUSE = switch(name="pause", summary=N_("Stop all paid searches at once (admins)"), parse=parse_nothing("pause"))
RESUME = switch(name="resume", summary=N_("Allow paid searches again (admins)"), parse=parse_nothing("resume"))


LABELS: Mapping[Scope, str] = {
    "user": N_("Each person, a day"),
    "user_week": N_("Each person, a week"),
    "channel": N_("Each channel, a day"),
    "channel_week": N_("Each channel, a week"),
    "workspace_week": N_("The workspace, a week"),
    "workspace": N_("The workspace, a month"),
}
"""The title of each budget."""

MAX_NAMED = 50
"""The most budgets of people or channels that are listed."""


def spending_message(spending: Spending, defaults: Budgets, *, slash: str, note: str = "") -> OutgoingMessage:
    """Render the spending and the budgets.

    `defaults` apply if no budget is set. `note`, which is not escaped yet, says what was done.
    """
    blocks: list[Block] = [section(escape(note))] if note else []
    if spending.paused_by is not None:
        # The line is rich text, because `sanitize_message` allows no mention in mrkdwn.
        text = _("{paused}. Type {command} to allow them again.")
        if spending.paused_by:
            text = _("{paused} by {person}. Type {command} to allow them again.")
        paused = leaf(_("All paid searches are paused")) | {"style": {"bold": True}}
        resume = leaf(f"{slash} resume") | {"style": {"code": True}}
        blocks.append(rich_line(text, paused=paused, person=person(spending.paused_by), command=resume))
    blocks += [section(spending_sentence(spending)), *budget_blocks(spending.lines, defaults)]
    blocks += _table(_("Person"), _("Spent today"), spending.people, person)
    blocks += _table(_("Channel"), _("Spent today"), spending.channels, channel)
    blocks += _table(_("Service"), _("Spent this month"), spending.providers, leaf)
    blocks.append(context(_("`{slash} budget help` shows how to set budgets.").format(slash=slash)))
    return spoken(*blocks)


def budget_blocks(lines: Sequence[BudgetLine], defaults: Budgets) -> list[Block]:
    """Return blocks that list the budgets; `defaults` apply where admins have set none."""
    set_for_all = {line.scope: line.amount for line in lines if not line.subject}
    allowed = "\n".join(
        f"{_(label)}: *{_amount(set_for_all.get(scope, defaults.of(scope)))}*"
        for scope, label in LABELS.items()
        if scope in set_for_all or not scope.endswith(WEEK)
    )
    named = [_named(line) for line in lines if line.subject][:MAX_NAMED]
    return [section(f"{_('*Budgets*')}\n{allowed}"), *([bullets(named)] if named else [])]


def _named(line: BudgetLine) -> list[Block]:
    subject = person(line.subject) if line.scope.startswith("user") else channel(line.subject)
    text = _(": {amount} a week") if line.scope.endswith(WEEK) else ": {amount}"
    return [subject, leaf(text.format(amount=_amount(line.amount)))]


def _amount(amount: int | None) -> str:
    return _(NO_LIMIT) if amount is None else money(format_amount(amount))


def _table(first: str, last: str, rows: Sequence[Spent], name: Callable[[str], Block]) -> list[Block]:
    cells = [
        [cell(name(one.name)), cell(leaf(str(one.calls))), cell(leaf(money(format_rounded(one.spent))))] for one in rows
    ]
    return [table([first, _("Calls"), last], cells)] if rows else []


_ALL = "SELECT * FROM budgets WHERE team_id <> '' AND subject NOT LIKE 'erased %'"


class BudgetTable:
    """The budgets that admins have set, as a table of the settings file."""

    name = "budgets"

    def __init__(self, pool: Pool, settings: Settings) -> None:
        self._pool = pool
        self._settings = settings
        self._store = BudgetStore(pool)

    async def read(self) -> Mapping[tuple[str, str], object]:
        """Return the values set by admins, by workspace and name."""
        rows = await self._pool.fetch_all(_ALL)
        return {(row["team_id"], _name_in_file(row["scope"], row["subject"])): _in_file(row["amount"]) for row in rows}

    async def check(self, name: str, value: object) -> tuple[str, object]:
        """Return a name and a value as `read` returns them. Raises UsageError or ValueError if they are not allowed."""
        scope, request = _parse(name, value)
        return _name_in_file(scope, request.subject), _in_file(request.amount)

    async def change(self, team_id: str, values: Mapping[str, object]) -> None:
        """Set the budgets with these names; a value of None removes a budget."""
        for name, value in values.items():
            _, request = _parse(name, "off" if value is None else value)
            request = replace(request, reset=value is None)
            await self._store.change(team_id=team_id, user_id="", **vars(request))

    async def explain(self, team_id: str, user_id: str, channel_id: str) -> list[tuple[str, str, str]]:
        """Return each budget for a person in a channel: its name, its value, and who has set it."""
        lines, _ = await self._store.lines(team_id)
        async with self._pool.connection() as connection:
            first = (await with_first_budget(self._settings, connection)).budgets
        own = {(one.scope, one.subject): _in_file(one.amount) for one in lines}
        subjects = {"user": user_id, "channel": channel_id}
        return [
            (
                f"budget {_name_in_file(scope, '')}",
                *self._level(scope, subjects.get(scope.removesuffix(WEEK), ""), own, first),
            )
            for scope in ALL_SCOPES
        ]

    def _level(
        self, scope: Scope, subject: str, own: Mapping[tuple[Scope, str], str], first: Budgets
    ) -> tuple[str, str]:
        for who in (subject, ""):
            if (scope, who) in own:
                return own[scope, who], f"an admin, for {who or 'the workspace'}"
        if scope == "user" and self._settings.budgets.user != first.user:
            return _in_file(first.user), "a new installation begins with it"
        return _in_file(first.of(scope)), "no one" if first.of(scope) is None else "the environment"


def _parse(name: str, value: object) -> tuple[Scope, BudgetRequest]:
    """Parse a budget of the settings file: return its scope, and the change. Raises UsageError, ValueError."""
    if isinstance(value, bool) or not isinstance(value, str | int) or len(str(value).split()) != 1:
        raise ValueError(f'a budget cannot be {value!r}: it takes an amount in dollars such as "2.50", or "off"')
    request = parse(f"{name} {value}")
    if request.scope is None or request.reset or request.subject == HERE:
        raise ValueError(f"{name} = {value!r} is for Slack only: it takes an id, and an amount or off")
    return request.scope, request


def _name_in_file(scope: str, subject: str) -> str:
    return " ".join(filter(None, (scope.removesuffix(WEEK), subject, WEEKLY if scope.endswith(WEEK) else "")))


def _in_file(amount: int | None) -> str:
    return "off" if amount is None else format_amount(amount).removeprefix("$").replace(",", "")


log = logging.getLogger(__name__)

CHANGE_BUDGETS, CALLBACK_ID = "change_budgets", "budget_modal"
PAUSE_SPENDING, RESUME_SPENDING = "pause_spending", "resume_spending"
"""The ids of the buttons and of the form."""


def register(app: AsyncApp, context: ListenerContext, *, budgets: BudgetStore, audit: AuditStore, slash: str) -> None:
    """Listen to the buttons, and to the form; `slash` is the umbrella command."""
    button(app, context, CHANGE_BUDGETS, for_admins(partial(open_budgets, budgets=budgets, slash=slash)))
    for switch in (PAUSE_SPENDING, RESUME_SPENDING):
        button(app, context, switch, for_admins(partial(click_switch, budgets=budgets)))
    save = partial(save_budgets, budgets=budgets, audit=audit)
    submission(app, context, CALLBACK_ID, save, first_input=ALL_SCOPES[0])


async def admin_section(team_id: str, _: str, *, budgets: BudgetStore) -> list[Block]:
    """Return the blocks that show the budgets on the page for admins."""
    lines, paused_by = await budgets.lines(team_id)
    return budgets_section(lines, budgets.budgets, paused=paused_by is not None)


def budgets_section(lines: Sequence[BudgetLine], usual: Budgets = NO_BUDGETS, *, paused: bool = False) -> list[Block]:
    """Render budgets with buttons to change them, and to pause or resume all spending."""
    switch = button_element(_("Allow paid searches"), RESUME_SPENDING, "admin")
    if not paused:
        told = _("No paid search is made until an admin allows them again. People who ask are told so.")
        confirm = confirmation(_("Pause paid searches?"), told, _("Pause"))
        switch = button_element(_("Pause paid searches"), PAUSE_SPENDING, "admin") | {"confirm": confirm}
    change = button_element(_("Change budgets"), CHANGE_BUDGETS, "admin")
    return [*budget_blocks(lines, usual), actions(change, switch)]


async def open_budgets(
    click: Click, context: ListenerContext, *, budgets: BudgetStore, slash: str
) -> ClickReply | None:
    """Open the form for an admin."""
    lines = (await budgets.lines(click.team))[0]
    return await open_for_click(click, context, budgets_view(lines, budgets.budgets, slash=slash))


def budgets_view(lines: Sequence[BudgetLine], usual: Budgets = NO_BUDGETS, *, slash: str = f"/{ROOT_COMMAND}") -> View:
    """Build the form with the current budgets: those set by admins, otherwise the `usual` ones in the settings."""
    amounts: dict[Scope, int | None] = {scope: usual.of(scope) for scope in ALL_SCOPES}
    amounts |= {line.scope: line.amount for line in lines if not line.subject}
    shown: dict[str, str] = {scope: "" if one is None else _in_file(one) for scope, one in amounts.items()}
    taken = _("Dollars such as 2.50, or off for no limit. Empty a field to go back to its default.")
    blocks = [
        context_block(taken),
        *(limit_input(scope, _(LABELS[scope]), shown[scope]) for scope in ALL_SCOPES),
        context_block(_("For one person or one channel, type `{slash} budget help`.").format(slash=slash)),
    ]
    return modal(CALLBACK_ID, _("Budgets"), blocks, submit=_("Save"), close=_("Cancel"), metadata=shown)


async def save_budgets(
    submitted: Submission, context: ListenerContext, *, budgets: BudgetStore, audit: AuditStore
) -> Response | None:
    """Save the budgets that an admin has changed in the form; the others do not change."""
    typed = {scope: str(submitted.value(scope) or "").strip() for scope in ALL_SCOPES}
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
        return errors(**{ALL_SCOPES[0]: refusal})
    for scope, amount in amounts.items():
        request = BudgetRequest(scope=scope, amount=amount, reset=not changed[scope])
        await budgets.change(team_id=submitted.team, user_id=submitted.user, **vars(request))
    context.home_changed(submitted.team, submitted.user, _("The budgets are saved.") if amounts else "")
    return None


async def click_switch(click: Click, context: ListenerContext, *, budgets: BudgetStore) -> ClickReply:
    """Pause or resume all spending for an admin."""
    pauses = click.action_id == PAUSE_SPENDING
    switch = budgets.pause if pauses else budgets.resume
    changed = await switch(team_id=click.team, user_id=click.user)
    return text_reply(
        _("There was nothing to change.")
        if not changed
        else _("Paid searches are paused. All of them stop within seconds.")
        if pauses
        else _("Paid searches are allowed again.")
    )
