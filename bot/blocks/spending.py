"""Renders what a workspace and a person have spent, with the budgets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bot.blocks.elements import context, markdown, section
from bot.blocks.escaping import escape
from bot.blocks.markdown.render import table_cell
from bot.budgets.amounts import format_amount, format_rounded
from bot.model.message import Audience, Block, OutgoingMessage
from bot.model.spending import BudgetLine, Budgets, OwnSpending, Scope, Spending, Spent
from bot.texts import spending as texts

LABELS: Mapping[Scope, str] = {"user": texts.PER_PERSON, "channel": texts.PER_CHANNEL, "workspace": texts.PER_WORKSPACE}
"""What each budget is called."""


def spending_message(spending: Spending, defaults: Budgets, *, slash: str, note: str = "") -> OutgoingMessage:
    """Render the spending and the budgets; `defaults` apply if none is set, `note` is what was done, not escaped."""
    lines = [texts.heading(slash), *budget_lines(spending.lines, defaults)]
    blocks: list[Block] = [section(escape(note))] if note else []
    if spending.paused_by is not None:
        by = f"<@{escape(spending.paused_by)}>" if spending.paused_by else ""
        blocks.append(section(texts.paused(by, slash)))
    blocks += [section(spending_sentence(spending)), section("\n".join(lines))]
    for title, rows in ((texts.BY_PERSON, spending.people), (texts.BY_CHANNEL, spending.channels)):
        blocks += _table(title, rows)
    blocks += _table(texts.BY_SERVICE, spending.providers)
    blocks.append(context(f"{texts.IN_UTC} {Audience.ASKER.value}"))
    return OutgoingMessage(text=escape(note) or spending_sentence(spending), blocks=tuple(blocks))


def spending_sentence(spending: Spending) -> str:
    """Return what was spent, as mrkdwn."""
    return texts.spent(
        format_rounded(spending.today),
        format_rounded(spending.month),
        reserved=format_rounded(spending.reserved) if spending.reserved else "",
        cut=format_rounded(spending.cut) if spending.cut else "",
    )


def own_spending_text(own: OwnSpending) -> str:
    """Return what a person has spent today, as mrkdwn."""
    allowed = "" if own.allowed is None else format_amount(own.allowed)
    return texts.own_today(format_rounded(own.today), allowed)


def budget_lines(lines: Sequence[BudgetLine], defaults: Budgets) -> list[str]:
    """Return a line of mrkdwn for each budget; `defaults` apply if none is set."""
    set_for_all = {line.scope: line for line in lines if not line.subject}
    rendered = [
        f"{LABELS[scope]}: *{_amount(set_for_all[scope].amount if scope in set_for_all else default)}*"
        for scope, default in _defaults(defaults)
    ]
    return rendered + [f"{_name(line)}: *{_amount(line.amount)}*" for line in lines if line.subject]


def _defaults(defaults: Budgets) -> tuple[tuple[Scope, int | None], ...]:
    return ("user", defaults.user), ("channel", defaults.channel), ("workspace", defaults.workspace)


def _name(line: BudgetLine) -> str:
    return f"<@{escape(line.subject)}>" if line.scope == "user" else f"<#{escape(line.subject)}>"


def _amount(amount: int | None) -> str:
    return texts.NO_LIMIT if amount is None else format_amount(amount)


def _table(title: str, rows: Sequence[Spent]) -> list[Block]:
    if not rows:
        return []
    body = "\n".join(
        f"| {table_cell(one.name)} | {texts.count_calls(one.calls)} | {format_rounded(one.spent)} |" for one in rows
    )
    return [markdown(f"| {title} | | {texts.SPENT} |\n|---|---|---|\n{body}")]
