"""Renders what a workspace and a person have spent, with the budgets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bot.blocks.elements import context, markdown, section
from bot.blocks.escaping import escape
from bot.blocks.markdown.render import table_cell
from bot.budgets.amounts import format_amount, format_rounded
from bot.model.message import Audience, Block, OutgoingMessage
from bot.model.spending import BudgetLine, Budgets, OwnSpending, Scope, Spending, Spent
from perplexity.formatting import pluralize

LABELS: Mapping[Scope, str] = {
    "user": "Each person, a day",
    "channel": "Each channel, a day",
    "workspace": "The workspace, a month",
}
"""What each budget is called."""


def spending_message(spending: Spending, defaults: Budgets, *, slash: str, note: str = "") -> OutgoingMessage:
    """Render the spending and the budgets; `defaults` apply if none is set, `note` is what was done, not escaped."""
    lines = [f"*Budgets*  (`{slash} budget help` shows how to set them)", *budget_lines(spending.lines, defaults)]
    blocks: list[Block] = [section(escape(note))] if note else []
    if spending.paused_by is not None:
        by = f"<@{escape(spending.paused_by)}>" if spending.paused_by else ""
        blocks.append(
            section(
                f"*All paid searches are paused*{f' by {by}' if by else ''}. Type `{slash} resume` to allow them again."
            )
        )
    blocks += [section(spending_sentence(spending)), section("\n".join(lines))]
    for title, rows in (("Person, today", spending.people), ("Channel, today", spending.channels)):
        blocks += _table(title, rows)
    blocks += _table("Service, this month", spending.providers)
    blocks.append(context(f"Days and months are in UTC. {Audience.ASKER.value}"))
    return OutgoingMessage(text=escape(note) or spending_sentence(spending), blocks=tuple(blocks))


def spending_sentence(spending: Spending) -> str:
    """Return what was spent, as mrkdwn."""
    under_way = f", and up to {format_rounded(spending.reserved)} by calls under way" if spending.reserved else ""
    cut = (
        f" {format_rounded(spending.cut)} of it is counted at the highest price of calls that were cut off."
        if spending.cut
        else ""
    )
    spent = f"{format_rounded(spending.today)} today, {format_rounded(spending.month)} this month"
    return f"*Spent*  {spent}{under_way}.{cut}"


def own_spending_text(own: OwnSpending) -> str:
    """Return what a person has spent today, as mrkdwn."""
    allowed = "" if own.allowed is None else format_amount(own.allowed)
    return f"Today (UTC): {format_rounded(own.today)}{f' of {allowed}' if allowed else ''}"


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
    return "no limit" if amount is None else format_amount(amount)


def _table(title: str, rows: Sequence[Spent]) -> list[Block]:
    if not rows:
        return []
    body = "\n".join(
        f"| {table_cell(one.name)} | {pluralize(one.calls, 'call')} | {format_rounded(one.spent)} |" for one in rows
    )
    return [markdown(f"| {title} | | Spent |\n|---|---|---|\n{body}")]
