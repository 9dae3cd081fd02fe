"""The budgets set by admins, the pause of all spending, and the amounts spent, from the ledger."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, LiteralString

from psycopg import AsyncConnection
from psycopg.rows import DictRow

from bot.model.audit import Change
from bot.model.spending import NO_BUDGETS, BudgetLine, Budgets, Scope, Spending, Spent
from bot.settings import Settings
from bot.storage.audit import record_change
from bot.storage.ledger import lock_bookings
from bot.storage.questions import Pool

LISTED = 5
"""The most entries in each of the lists of people, channels and providers."""

_BEFORE = "SELECT amount FROM budgets WHERE team_id = %(team_id)s AND scope = %(scope)s AND subject = %(subject)s"
_SET = """
    INSERT INTO budgets (team_id, scope, subject, amount, user_id)
    VALUES (%(team_id)s, %(scope)s, %(subject)s, %(amount)s, %(user_id)s)
    ON CONFLICT (team_id, scope, subject) DO UPDATE SET amount = %(amount)s, user_id = %(user_id)s, at = now()
"""
_RESET = "DELETE FROM budgets WHERE team_id = %(team_id)s AND scope = %(scope)s AND subject = %(subject)s"
_NOTICED = """
    UPDATE budget_use SET noticed = 0, told = 0
    WHERE team_id = %(team_id)s AND scope = %(scope)s AND %(subject)s IN (subject, '')
"""
_PAUSE = """
    INSERT INTO spending_pauses (team_id, user_id) VALUES (%(team_id)s, %(user_id)s) ON CONFLICT DO NOTHING
    RETURNING team_id
"""
_RESUME = "DELETE FROM spending_pauses WHERE team_id = %(team_id)s RETURNING team_id"

_SPENT = """
    SELECT
        coalesce(sum(l.cost) FILTER (WHERE l.at >= date_trunc('day', now(), 'UTC')), 0)::bigint AS today,
        coalesce(sum(l.cost), 0)::bigint AS month,
        coalesce(sum(l.reserved) FILTER (WHERE l.state = 'reserved'), 0)::bigint AS reserved,
        (SELECT p.user_id FROM spending_pauses p WHERE p.team_id = %(team_id)s) AS paused_by
    FROM ledger l WHERE l.team_id = %(team_id)s AND l.at >= date_trunc('month', now(), 'UTC')
"""
_SUMS = """
    count(*) FILTER (WHERE state <> 'released') AS calls, coalesce(sum(cost), 0)::bigint AS spent
    FROM ledger WHERE team_id = %(team_id)s
"""
_ORDER = "GROUP BY 1 HAVING count(*) FILTER (WHERE state <> 'released') > 0 ORDER BY spent DESC, 1 LIMIT %(most)s"
_MOST = (
    f"SELECT user_id AS name, {_SUMS} AND at >= date_trunc('day', now(), 'UTC') {_ORDER}",
    f"SELECT channel_id AS name, {_SUMS} AND at >= date_trunc('day', now(), 'UTC') {_ORDER}",
    f"SELECT provider AS name, {_SUMS} AND at >= date_trunc('month', now(), 'UTC') {_ORDER}",
)
_LINES = """
    SELECT scope, subject, amount FROM budgets
    WHERE team_id = %(team_id)s AND subject NOT LIKE 'erased %%' ORDER BY scope DESC, subject
"""

_PAUSED = "SELECT user_id FROM spending_pauses WHERE team_id = %(team_id)s"

_SETTERS = "SELECT DISTINCT user_id FROM budgets WHERE team_id = %(team_id)s AND user_id <> '' ORDER BY 1"


_BEGUN_WITH = "SELECT amount FROM budgets WHERE team_id = '' AND scope = 'user' AND subject = ''"
_SET_BY_ADMINS = "SELECT 1 FROM budgets WHERE team_id <> '' AND scope = 'user' AND subject = '' LIMIT 1"


async def with_first_budget(settings: Settings, connection: AsyncConnection[DictRow]) -> Settings:
    """Return the settings; if they set no budget per person and day, add the one that the database began with."""
    row = await (await connection.execute(_BEGUN_WITH)).fetchone() if settings.user_budget_unset else None
    return settings.model_copy(update={"budget_user_day_usd": Decimal(row["amount"]).scaleb(-6)} if row else {})


async def first_budget_in_force(settings: Settings, connection: AsyncConnection[DictRow]) -> int | None:
    """Return the budget per person and day that the database began with, if it applies.

    None if there is none, or if the settings or an admin of any workspace have set this budget.
    """
    begun = (await with_first_budget(settings, connection)).budgets
    if begun == settings.budgets or await (await connection.execute(_SET_BY_ADMINS)).fetchone():
        return None
    return begun.user


class BudgetStore:
    """Reads and changes budgets. `budgets` come from the settings, and apply unless admins have set others."""

    def __init__(self, pool: Pool, *, budgets: Budgets = NO_BUDGETS) -> None:
        self._pool = pool
        self.budgets = budgets

    async def change(
        self, *, team_id: str, user_id: str, scope: Scope, subject: str, amount: int | None, reset: bool = False
    ) -> tuple[BudgetLine | None, BudgetLine | None]:
        """Set a budget, or remove it with `reset`; return the budget before and after the change, each None if unset.

        Every change of a budget is made here. An `amount` of None means no limit. The person must be an admin. The
        audit log records the budget before and after the change; if a budget for everyone is not set by an admin, the
        log shows the settings' budget instead.
        """
        values: dict[str, Any] = {"team_id": team_id, "user_id": user_id, "scope": scope, "subject": subject}
        usual = None if subject else self.budgets.of(scope)
        default = None if usual is None else {"amount": usual}
        async with self._pool.transaction() as connection:
            # Without the lock, a call that is just being booked could be missing from the sum of a new budget.
            await lock_bookings(connection)
            row = await (await connection.execute(_BEFORE, values)).fetchone()
            await connection.execute(_RESET if reset else _SET, values | {"amount": amount})
            await connection.execute(_NOTICED, values)
            await record_change(
                connection,
                Change(
                    team_id=team_id,
                    user_id=user_id,
                    what=f"budget.{scope}",
                    subject=subject,
                    before=default if row is None else {"amount": row["amount"]},
                    after=default if reset else {"amount": amount},
                ),
            )
        before = None if row is None else BudgetLine(scope=scope, subject=subject, amount=row["amount"])
        return before, None if reset else BudgetLine(scope=scope, subject=subject, amount=amount)

    async def pause(self, *, team_id: str, user_id: str) -> bool:
        """Pause all spending of a workspace; return False if it was already paused. The person must be an admin."""
        return await self._switch(_PAUSE, team_id=team_id, user_id=user_id, paused=True)

    async def resume(self, *, team_id: str, user_id: str) -> bool:
        """Allow a workspace to spend again; return False if it was not paused. The person must be an admin."""
        return await self._switch(_RESUME, team_id=team_id, user_id=user_id, paused=False)

    async def _switch(self, query: LiteralString, *, team_id: str, user_id: str, paused: bool) -> bool:
        async with self._pool.transaction() as connection:
            changed = await connection.execute(query, {"team_id": team_id, "user_id": user_id})
            if await changed.fetchone() is None:
                return False
            change = Change(team_id=team_id, user_id=user_id, what="spending.paused", before=not paused, after=paused)
            await record_change(connection, change)
        return True

    async def spending(self, team_id: str) -> Spending:
        """Return a workspace's spending and budgets."""
        values = {"team_id": team_id, "most": LISTED}
        async with self._pool.transaction() as connection:
            sums = await (await connection.execute(_SPENT, values)).fetchone() or {}
            most = [await (await connection.execute(query, values)).fetchall() for query in _MOST]
            lines = await (await connection.execute(_LINES, values)).fetchall()
        people, channels, providers = (tuple(Spent(**row) for row in rows) for rows in most)
        return Spending(
            **sums,
            people=people,
            channels=channels,
            providers=providers,
            lines=tuple(BudgetLine(**line) for line in lines),
        )

    async def lines(self, team_id: str) -> tuple[tuple[BudgetLine, ...], str | None]:
        """Return the budgets that admins have set, and the id of the admin who has paused all spending, or None."""
        async with self._pool.connection() as connection:
            lines = await (await connection.execute(_LINES, {"team_id": team_id})).fetchall()
            paused = await (await connection.execute(_PAUSED, {"team_id": team_id})).fetchone()
        return tuple(BudgetLine(**line) for line in lines), None if paused is None else paused["user_id"]

    async def setters(self, team_id: str) -> list[str]:
        """Return the admins who have set a workspace's budgets."""
        rows = await self._pool.fetch_all(_SETTERS, {"team_id": team_id})
        return [row["user_id"] for row in rows]
