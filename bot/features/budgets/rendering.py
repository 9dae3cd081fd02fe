"""Renders a workspace's spending with its budgets."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from bot.blocks.elements import bullets, cell, channel, context, leaf, person, section, table
from bot.blocks.escaping import escape
from bot.blocks.words import NO_LIMIT, spending_sentence
from bot.budgets.amounts import format_amount, format_rounded
from bot.model.message import Block, OutgoingMessage
from bot.model.spending import WEEK, BudgetLine, Budgets, Scope, Spending, Spent

LABELS: Mapping[Scope, str] = {
    "user": "Each person, a day",
    "user_week": "Each person, a week",
    "channel": "Each channel, a day",
    "channel_week": "Each channel, a week",
    "workspace_week": "The workspace, a week",
    "workspace": "The workspace, a month",
}
"""The title of each budget."""

MAX_NAMED = 50
"""The most budgets of people or channels that are listed."""


def spending_message(spending: Spending, defaults: Budgets, *, slash: str, note: str = "") -> OutgoingMessage:
    """Render the spending and the budgets.

    `defaults` apply if no budget is set; `note` says what was done, not escaped.
    """
    blocks: list[Block] = [section(escape(note))] if note else []
    if spending.paused_by is not None:
        by = f"<@{escape(spending.paused_by)}>" if spending.paused_by else ""
        blocks.append(
            section(
                f"*All paid searches are paused*{f' by {by}' if by else ''}. Type `{slash} resume` to allow them again."
            )
        )
    blocks += [section(spending_sentence(spending)), *budget_blocks(spending.lines, defaults)]
    blocks += _table("Person", "Spent today", spending.people, person)
    blocks += _table("Channel", "Spent today", spending.channels, channel)
    blocks += _table("Service", "Spent this month", spending.providers, leaf)
    blocks.append(context(f"`{slash} budget help` shows how to set budgets."))
    return OutgoingMessage(text=escape(note) or spending_sentence(spending), blocks=tuple(blocks))


def budget_blocks(lines: Sequence[BudgetLine], defaults: Budgets) -> list[Block]:
    """Return the budgets; `defaults` apply where none is set."""
    set_for_all = {line.scope: line.amount for line in lines if not line.subject}
    allowed = "\n".join(
        f"{label}: *{_amount(set_for_all.get(scope, defaults.of(scope)))}*"
        for scope, label in LABELS.items()
        if scope in set_for_all or not scope.endswith(WEEK)
    )
    named = [_named(line) for line in lines if line.subject][:MAX_NAMED]
    return [section(f"*Budgets*\n{allowed}"), *([bullets(named)] if named else [])]


def _named(line: BudgetLine) -> list[Block]:
    subject = person(line.subject) if line.scope.startswith("user") else channel(line.subject)
    return [subject, leaf(f": {_amount(line.amount)}{' a week' if line.scope.endswith(WEEK) else ''}")]


def _amount(amount: int | None) -> str:
    return NO_LIMIT if amount is None else format_amount(amount)


def _table(first: str, last: str, rows: Sequence[Spent], name: Callable[[str], Block]) -> list[Block]:
    cells = [[cell(name(one.name)), cell(leaf(str(one.calls))), cell(leaf(format_rounded(one.spent)))] for one in rows]
    return [table([first, "Calls", last], cells)] if rows else []
