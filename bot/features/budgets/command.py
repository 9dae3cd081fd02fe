"""`/pplx budget`, `pause` and `resume`: admins see the spending, set budgets, and stop and allow all spending."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import cast

from bot.budgets.amounts import ALLOWED, parse_amount
from bot.commands.base import Command, free_subcommand, one_message
from bot.commands.context import CommandContext
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
from bot.features.budgets.rendering import spending_message
from bot.model.message import OutgoingMessage
from bot.model.spending import WEEK, Scope
from bot.slack.users import Admins
from bot.storage.budgets import BudgetStore
from perplexity.formatting import closest_match

NO_CHANNEL_BUDGET = (
    "A direct message has no budget of its own: a question there counts toward the asker’s budget. "
    "Type this in a channel, or name one by its id, such as C012AB3CD."
)
FOR_ADMINS_TO_PAUSE = "Only admins of this workspace can pause and resume paid searches."

HERE = "here"
MAX_LENGTH = 200
SCOPES = ("user", "channel", "workspace")
WEEKLY = "week"

_IDS = {"user": re.compile(r"<@([UW][A-Z0-9]+)(?:\|[^>]*)?>|([UW][A-Z0-9]{1,20})"),
        "channel": re.compile(r"<#([CG][A-Z0-9]+)(?:\|[^>]*)?>|([CG][A-Z0-9]{1,20})")}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class BudgetRequest:
    """The change to make; none without a `scope`.

    An empty `subject` means every person or channel without an own budget.

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
        raise UsageError(f"{inline_code(words[0])} has no budget. {choices}")
    *whose, amount = [word for word in words[1:] if word.casefold() != WEEKLY] or [""]
    if not amount:
        raise UsageError(f"Add an amount for `{scope}`: {ALLOWED}, `off` or `reset`.")
    weekly = WEEKLY in text.casefold().split()
    request = BudgetRequest(scope=cast("Scope", f"{scope}{WEEK if weekly else ''}"), subject=_subject(scope, whose))
    if amount.casefold() in RESETS:
        return replace(request, reset=True)
    if amount.casefold() in OFF:
        return request
    try:
        return replace(request, amount=parse_amount(amount))
    except ValueError as error:
        raise UsageError(
            f"The budget of `{scope}` cannot be {inline_code(amount)}. It takes {error}, `off` or `reset`."
        ) from None


def _subject(scope: str, words: Sequence[str]) -> str:
    if not words:
        return ""
    if scope == "workspace":
        raise UsageError(f"`workspace` takes an amount only. Leave out {inline_code(words[0])}.")
    if scope == "channel" and len(words) == 1 and words[0].casefold() == HERE:
        return HERE
    found = _IDS[scope].fullmatch(words[0])
    if found is None or len(words) > 1:
        allowed = "a user. Use an id such as U012AB3CD"
        if scope == "channel":
            allowed = "a channel. Use `here` or an id such as C012AB3CD"
        raise UsageError(f"{inline_code(' '.join(words))} isn’t {allowed}, or leave it out.")
    return found[1] or found[2]


@dataclass(frozen=True, kw_only=True)
class BudgetCommand:
    """Reads and changes budgets for admins. `slash` is the umbrella command."""

    admins: Admins
    budgets: BudgetStore
    slash: str

    def command(self) -> Command[BudgetRequest, OutgoingMessage]:
        """Return the command that a worker runs."""
        return replace(BUDGET, answer=self.answer)

    def switches(self) -> tuple[Command[None, OutgoingMessage], ...]:
        """Return the commands that pause and resume all spending."""
        return tuple(
            replace(
                one, answer=partial(self._switch, one.name), at_once=partial(switch_spending, one.name, self.budgets)
            )
            for one in (PAUSE, RESUME)
        )

    async def answer(self, request: BudgetRequest, context: CommandContext) -> OutgoingMessage:
        """Change what is asked for, and render the spending, if the person is an admin. Raises database errors."""
        row, store = context.row, self.budgets
        if not await self.admins.is_admin(row.user_id):
            return text_message("Only admins of this workspace can see and change its budgets.")
        note, subject = "", row.channel_id if request.subject == HERE else request.subject
        if request.scope in {"channel", f"channel{WEEK}"} and subject.startswith("D"):
            return text_message(NO_CHANNEL_BUDGET)
        if request.scope is not None:
            await store.change(
                team_id=row.team_id,
                user_id=row.user_id,
                scope=request.scope,
                subject=subject,
                amount=request.amount,
                reset=request.reset,
            )
            note = "Saved."
        return spending_message(await store.spending(row.team_id), store.budgets, slash=self.slash, note=note)

    async def _switch(self, name: str, _: None, context: CommandContext) -> OutgoingMessage:
        """Switch spending for a question that an older version has accepted."""
        row = context.row
        if not await self.admins.is_admin(row.user_id):
            return text_message(FOR_ADMINS_TO_PAUSE)
        return text_message(await switch_spending(name, self.budgets, row.team_id, row.user_id, self.slash))


BUDGET = free_subcommand(
    name="budget",
    summary="See what is spent, and set budgets (admins)",
    for_admins=True,
    usage="[user | channel | workspace] [ID] [DOLLARS | off | reset] [week]",
    examples=(
        ("user 2.50", "what each person may spend a day"),
        ("user 10 week", "what each person may spend a week, from Monday"),
        ("user U012AB3CD 10", "more for one person"),
        ("channel here 5", "what may be spent in this channel a day"),
        ("workspace 300", "what may be spent in all a month"),
        ("user off", "no limit"),
        ("user reset", "back to the default"),
    ),
    for_everyone=True,
    parse=parse,
    render=one_message,
)


async def switch_spending(name: str, budgets: BudgetStore, team_id: str, user_id: str, slash: str) -> str:
    """Pause or resume all spending for an admin, and return a sentence for them. Raises database errors."""
    if name == PAUSE.name:
        paused = await budgets.pause(team_id=team_id, user_id=user_id)
        what = "Paused. I start no more paid searches, and I’m cancelling those under way."
        return f"{what if paused else 'Paid searches are paused already.'} Type `{slash} resume` to allow them again."
    resumed = await budgets.resume(team_id=team_id, user_id=user_id)
    return "Paid searches are allowed again." if resumed else "Paid searches are not paused."


_switch = partial(
    free_subcommand, for_admins=True, usage="", for_everyone=True, refusal=FOR_ADMINS_TO_PAUSE, render=one_message
)

PAUSE = _switch(name="pause", summary="Stop all paid searches at once (admins)", parse=parse_nothing("pause"))
RESUME = _switch(name="resume", summary="Allow paid searches again (admins)", parse=parse_nothing("resume"))
