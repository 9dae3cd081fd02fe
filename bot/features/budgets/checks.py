"""Checks of the budgets: a pause of spending, exhausted budgets, and calls that were never settled."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from psycopg import AsyncConnection
from psycopg.rows import DictRow

from bot.budgets import first_budget_sentence, format_amount
from bot.commands.base import ROOT_COMMAND
from bot.doctor.checks import DATABASE_HINT, Check, Context, Finding, ok, reading_database, warning
from bot.model.spending import WEEK, Budgets
from bot.storage.budgets import first_budget_in_force, with_first_budget
from bot.storage.ledger import ABANDONED_CALLS
from perplexity.formatting import pluralize

BUDGETS = "Budgets"

LATE_SECONDS = 300
"""How long a call may stay unsettled after its process has ended; a running app settles it within a minute."""

_VARIABLES = {
    "BUDGET_USER_DAY_USD": "user",
    "BUDGET_CHANNEL_DAY_USD": "channel",
    "BUDGET_WORKSPACE_MONTH_USD": "workspace",
}

_ZERO = "SELECT team_id, scope FROM budgets WHERE subject = '' AND amount = 0 ORDER BY team_id, scope"

_PAUSES = "SELECT team_id, user_id FROM spending_pauses ORDER BY team_id"

_USED_UP = """
    SELECT u.team_id, u.scope, count(*) AS budgets, sum(u.spent)::bigint AS spent, sum(b.amount)::bigint AS allowed
    FROM budget_use u CROSS JOIN LATERAL (
        SELECT budget_of_v1(u.team_id, u.scope, u.subject, CASE u.scope
            WHEN 'user' THEN %(user)s WHEN 'channel' THEN %(channel)s ELSE %(workspace)s END::bigint) AS amount) b
    WHERE u.spent >= b.amount AND b.amount > 0 AND u.period = budget_period_v1(u.scope, now())
    GROUP BY u.team_id, u.scope ORDER BY u.team_id, u.scope
"""


@reading_database
async def check_budgets(context: Context, connection: AsyncConnection[DictRow]) -> Sequence[Finding]:
    """Return findings on refused paid searches, on unsettled calls, and on a new installation's budget.

    That budget, which the database has from the beginning, is reported only while it is in force.
    """
    budgets = (await with_first_budget(context.settings, connection)).budgets
    allowed = {"user": budgets.user, "channel": budgets.channel, "workspace": budgets.workspace}
    pauses = await (await connection.execute(_PAUSES)).fetchall()
    used_up = await (await connection.execute(_USED_UP, allowed)).fetchall()
    zero = await (await connection.execute(_ZERO)).fetchall()
    late = await (await connection.execute(ABANDONED_CALLS, {"seconds": LATE_SECONDS})).fetchall()
    slash = f"/{context.settings.command_prefix}{ROOT_COMMAND}"
    found = [*_nothing(budgets, zero, slash), *_pauses(pauses, slash), *_used_up(used_up, slash), *_late(late)]
    if (first := await first_budget_in_force(context.settings, connection)) is not None:
        found.insert(0, ok(first_budget_sentence(first, slash=slash)))
    return found


def _nothing(budgets: Budgets, rows: Sequence[DictRow], slash: str) -> Iterator[Finding]:
    """Yield a finding for each budget of $0, which refuses paid searches; skip budgets of one person or channel."""
    for variable, scope in _VARIABLES.items():
        if getattr(budgets, scope) == 0:
            text = f"{variable} is 0: paid searches are refused, unless an admin has set another budget."
            yield warning(text, fix=f"Raise it, unset it, or set one with `{slash} budget {scope}`.")
    for row in rows:
        scope = _typed(row["scope"])
        text = f"In {row['team_id']}, the budget `{scope}` is $0.00: paid searches are refused."
        yield warning(text, fix=f"Raise it with `{slash} budget {scope}`, if that is a mistake.")


def _typed(scope: str) -> str:
    return scope.replace("_", " ")


def _pauses(rows: Sequence[DictRow], slash: str) -> Iterator[Finding]:
    for row in rows:
        text = f"{row['user_id']} has paused all paid searches in {row['team_id']}."
        yield warning(text, fix=f"An admin resumes them with `{slash} resume`.")


def _used_up(rows: Sequence[DictRow], slash: str) -> Iterator[Finding]:
    for row in rows:
        if row["scope"] == "workspace":
            text = (
                f"The budget of {row['team_id']} for this month is used up: {format_amount(row['spent'])} of "
                f"{format_amount(row['allowed'])}. Paid searches are refused."
            )
            when = "the 1st"
        else:
            weekly = row["scope"].endswith(WEEK)
            whose, day = pluralize(row["budgets"], row["scope"].removesuffix(WEEK)), "this week" if weekly else "today"
            text = f"In {row['team_id']}, {day}’s budget of {whose} is used up. Their paid searches are refused."
            when = "Monday" if weekly else "tomorrow"
        fix = f"Wait until {when} at 0:00 UTC, or raise the budget with `{slash} budget {_typed(row['scope'])}`."
        yield warning(text, fix=fix)


def _late(rows: Sequence[DictRow]) -> Iterator[Finding]:
    if rows:
        text = (
            f"The ledger is behind: it still reserves {pluralize(len(rows), 'paid call')} of processes that have ended."
        )
        fix = "Start the app, which settles them within a minute. If it is running, look for `ledger` in its log."
        yield warning(text, fix=fix)


CHECK = Check(BUDGETS, check_budgets, needs=set(map(str.lower, _VARIABLES)), hint=DATABASE_HINT)
