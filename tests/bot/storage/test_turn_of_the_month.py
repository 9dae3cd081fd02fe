"""Item 23, at the turn of a day and of a month (UTC): each call counts for the day and the month in which it began."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from bot.model.spending import NO_BUDGETS, Budgets, Ended, Granted, OverBudget, Reservation, Scope, Verdict
from bot.storage.budgets import BudgetStore
from bot.storage.ledger import Ledger
from bot.storage.questions import Pool, connection_pool

pytestmark = pytest.mark.trust(23)

CENT = 10_000
LAST_SECOND, FIRST_SECOND = "2026-01-31 23:59:59+00", "2026-02-01 00:00:00+00"


@asynccontextmanager
async def turned_clock(
    database: str, budgets: Budgets = NO_BUDGETS, *, last: str = LAST_SECOND
) -> AsyncIterator[tuple[Ledger, Pool]]:
    """Yield a ledger in whose database it is the last second of a month: `now()` is one of the test's."""
    async with await psycopg.AsyncConnection.connect(database, autocommit=True) as connection:
        await connection.execute("CREATE SCHEMA turned")
        await connection.execute("CREATE TABLE turned.clock (at timestamptz)")
        await connection.execute("INSERT INTO turned.clock VALUES (%s)", (last,))
        await connection.execute(
            "CREATE FUNCTION turned.now() RETURNS timestamptz LANGUAGE sql STABLE AS 'SELECT at FROM turned.clock'"
        )
        for column in ("at", "held_at"):
            await connection.execute(f"ALTER TABLE ledger ALTER {column} SET DEFAULT turned.now()")
    turned = make_conninfo(database, options="-c search_path=turned,public,pg_catalog")
    async with connection_pool(turned, size=2, seconds=10) as pool, Ledger(pool, budgets=budgets) as ledger:
        yield ledger, pool


async def turn(pool: Pool, first: str = FIRST_SECOND) -> None:
    """Let a second pass."""
    async with pool.connection() as connection:
        await connection.execute("UPDATE turned.clock SET at = %s", (first,))


async def ask(ledger: Ledger, *, user: str = "U1", channel: str = "C1") -> Verdict:
    """Reserve two cents."""
    return await ledger.reserve(
        Reservation(
            id=uuid4(),
            team_id="T1",
            channel_id=channel,
            user_id=user,
            question_id=None,
            provider=str(uuid4()),  # so that no call's price says what the next one costs
            effort="fast",
            ceiling=2 * CENT,
        )
    )


async def begun(ledger: Ledger) -> UUID:
    verdict = await ask(ledger)
    assert isinstance(verdict, Granted)
    return verdict.id


async def settle(ledger: Ledger, call: UUID, cents: int) -> None:
    ledger.end(Ended(id=call, state="settled", cost=cents * CENT))
    await ledger.flush()


async def used(pool: Pool, scope: str) -> list[tuple[Any, ...]]:
    """Return each period of a budget with the cents that are reserved and spent."""
    query = "SELECT period::text, reserved / 10000 AS held, spent / 10000 AS spent FROM budget_use WHERE scope = %s"
    async with pool.connection() as connection:
        found = await (await connection.execute(query, (scope,))).fetchall()
    return sorted(tuple(row.values()) for row in found)


async def test_a_months_budget_that_is_used_up_is_open_again_in_the_next_second(database: str) -> None:
    async with turned_clock(database, Budgets(workspace=4 * CENT)) as (ledger, pool):
        await settle(ledger, await begun(ledger), 2)
        late = await begun(ledger)
        over = await ask(ledger)
        assert isinstance(over, OverBudget)
        assert (over.scope, over.resets) == ("workspace", 1.0)

        await turn(pool)
        new = await begun(ledger)
        assert await used(pool, "workspace") == [("2026-01-01", 2, 2), ("2026-02-01", 2, 0)]
        # What ends in February counts for January, in which it began.
        await settle(ledger, late, 1)
        assert await used(pool, "workspace") == [("2026-01-01", 0, 3), ("2026-02-01", 2, 0)]
        await settle(ledger, new, 2)
        await settle(ledger, await begun(ledger), 2)
        over = await ask(ledger)
        assert isinstance(over, OverBudget)
        assert over.resets == 28 * 86_400

        assert await used(pool, "workspace") == [("2026-01-01", 0, 3), ("2026-02-01", 0, 4)]
        async with pool.connection() as connection:
            sums = await connection.execute(
                "SELECT to_char(at AT TIME ZONE 'UTC', 'MM') AS month, sum(cost) / 10000 AS cents"
                " FROM ledger GROUP BY 1 ORDER BY 1"
            )
            assert [(row["month"], int(row["cents"])) for row in await sums.fetchall()] == [("01", 3), ("02", 4)]


async def test_a_persons_and_a_channels_day_end_at_midnight(database: str) -> None:
    async with turned_clock(database, Budgets(user=2 * CENT, channel=2 * CENT)) as (ledger, pool):
        late = await begun(ledger)
        over = await ask(ledger)
        assert isinstance(over, OverBudget)
        assert over.resets == 1.0

        await turn(pool)
        new = await begun(ledger)
        await settle(ledger, late, 2)
        for scope in ("user", "channel"):
            assert await used(pool, scope) == [("2026-01-31", 0, 2), ("2026-02-01", 2, 0)]
        ledger.end(Ended(id=new, state="released"))
        await ledger.flush()
        assert isinstance(await ask(ledger), Granted)


SATURDAY, SUNDAY, MONDAY = "2026-01-31 12:00:00+00", "2026-02-01 23:59:59+00", "2026-02-02 00:00:00+00"


@pytest.mark.parametrize("scope", ["user_week", "channel_week", "workspace_week"])
async def test_a_week_ends_when_monday_begins(database: str, scope: Scope) -> None:
    async with turned_clock(database, last=SATURDAY) as (ledger, pool):
        # What was spent before there was a budget counts, and what others spend elsewhere only for the workspace.
        await settle(ledger, await begun(ledger), 2)
        if scope != "workspace_week":
            other = await ask(ledger, user="U2", channel="C2")
            assert isinstance(other, Granted)
            await settle(ledger, other.id, 2)
        await BudgetStore(pool).change(team_id="T1", user_id="U9", scope=scope, subject="", amount=4 * CENT)
        await turn(pool, SUNDAY)
        late = await begun(ledger)
        over = await ask(ledger)
        assert isinstance(over, OverBudget)
        assert (over.scope, over.remaining, over.resets) == (scope, 0, 1.0)

        await turn(pool, MONDAY)
        new = await begun(ledger)
        await settle(ledger, late, 2)
        assert await used(pool, scope) == [("2026-01-26", 0, 4), ("2026-02-02", 2, 0)]
        told = {(one.scope, str(one.period), one.percent) for one in await ledger.notices()}
        assert told == {(scope, "2026-01-26", 100)}
        await settle(ledger, new, 2)
        await settle(ledger, await begun(ledger), 2)
        over = await ask(ledger)
        assert isinstance(over, OverBudget)
        assert over.resets == 7 * 86_400


async def test_admins_hear_of_what_a_month_and_a_day_came_to_in_their_last_second(database: str) -> None:
    async with turned_clock(database, Budgets(user=2 * CENT, workspace=2 * CENT)) as (ledger, pool):
        late = await begun(ledger)
        await turn(pool)
        await settle(ledger, late, 2)
        told = {(one.scope, str(one.period), one.percent) for one in await ledger.notices()}

    assert told == {("user", "2026-01-31", 100), ("workspace", "2026-01-01", 100)}
