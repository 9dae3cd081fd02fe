"""Checks of the budgets: a pause of spending, budgets that are used up, and calls that were never settled."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from psycopg import AsyncConnection, OperationalError
from psycopg.errors import UndefinedFunction, UndefinedTable
from psycopg.rows import DictRow, dict_row

from bot.budgets.amounts import format_amount
from bot.commands.routing import ROOT_COMMAND
from bot.doctor.checks import Context, Finding, warning
from bot.storage.ledger import ABANDONED_CALLS
from perplexity.formatting import pluralize

BUDGETS = "Budgets"

LATE_SECONDS = 300
"""How long a call may be open after its process is gone; the app ends such calls within a minute."""

_PAUSES = "SELECT team_id, user_id FROM spending_pauses ORDER BY team_id"

_USED_UP = """
    SELECT u.team_id, u.scope, count(*) AS budgets, sum(u.spent)::bigint AS spent, sum(b.amount)::bigint AS allowed
    FROM budget_use u CROSS JOIN LATERAL (
        SELECT budget_of_v1(u.team_id, u.scope, u.subject, CASE u.scope
            WHEN 'user' THEN %(user)s WHEN 'channel' THEN %(channel)s ELSE %(workspace)s END::bigint) AS amount) b
    WHERE u.spent >= b.amount AND u.period = CASE u.scope
        WHEN 'workspace' THEN date_trunc('month', now() AT TIME ZONE 'UTC')::date
        ELSE (now() AT TIME ZONE 'UTC')::date END
    GROUP BY u.team_id, u.scope ORDER BY u.team_id, u.scope
"""


async def check_budgets(context: Context) -> Sequence[Finding]:
    """Return why paid searches are refused; none if that cannot be read, which the database check reports."""
    url = context.settings.database_url
    if url is None or "database_url" in context.invalid:
        return []
    budgets = context.settings.budgets
    allowed = {"user": budgets.user, "channel": budgets.channel, "workspace": budgets.workspace}
    try:
        async with await AsyncConnection.connect(
            url.get_secret_value(), row_factory=dict_row, prepare_threshold=None
        ) as connection:
            pauses = await (await connection.execute(_PAUSES)).fetchall()
            used_up = await (await connection.execute(_USED_UP, allowed)).fetchall()
            late = await (await connection.execute(ABANDONED_CALLS, {"seconds": LATE_SECONDS})).fetchall()
    except (OperationalError, UndefinedTable, UndefinedFunction):
        return []
    slash = f"/{context.settings.command_prefix}{ROOT_COMMAND}"
    return [*_pauses(pauses, slash), *_used_up(used_up, slash), *_late(late)]


def _pauses(rows: Sequence[DictRow], slash: str) -> Iterator[Finding]:
    for row in rows:
        text = f"{row['user_id']} has paused all paid searches in {row['team_id']}."
        yield warning(BUDGETS, text, fix=f"An admin resumes them with `{slash} resume`.")


def _used_up(rows: Sequence[DictRow], slash: str) -> Iterator[Finding]:
    for row in rows:
        if row["scope"] == "workspace":
            text = (
                f"The budget of {row['team_id']} for this month is used up: {format_amount(row['spent'])} of "
                f"{format_amount(row['allowed'])}. Paid searches are refused."
            )
            when = "the 1st"
        else:
            whose = pluralize(row["budgets"], row["scope"])
            text = f"In {row['team_id']}, today’s budget of {whose} is used up. Their paid searches are refused."
            when = "tomorrow"
        fix = f"Wait until {when} at 0:00 UTC, or raise the budget with `{slash} budget {row['scope']}`."
        yield warning(BUDGETS, text, fix=fix)


def _late(rows: Sequence[DictRow]) -> Iterator[Finding]:
    if rows:
        text = (
            f"The ledger is behind: it still reserves {pluralize(len(rows), 'paid call')} of processes that have ended."
        )
        fix = "Start the app, which settles them within a minute. If it is running, look for `ledger` in its log."
        yield warning(BUDGETS, text, fix=fix)
