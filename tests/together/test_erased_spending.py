"""Item 27, with 23: an erasure leaves no one's id in the ledger, and no one another budget for the day."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest

from bot.features.checking import ProposalStore
from bot.model.spending import Budgets, Ended, Erased, Granted, OverBudget, Reservation
from bot.storage.budgets import BudgetStore
from bot.storage.ledger import Ledger
from bot.storage.personal_data import PersonalDataStore
from bot.storage.questions import Pool, connection_pool
from bot.storage.retention import Retention
from tests.fakes.personal_data import find_text

pytestmark = [pytest.mark.trust(27), pytest.mark.features("checking")]


CENT = 10_000
ADA = "U0ADA1815"


@pytest.fixture
async def pool(database: str) -> AsyncIterator[Pool]:
    async with connection_pool(database, size=6, seconds=10) as opened:
        yield opened


@asynccontextmanager
async def connect(database: str) -> AsyncIterator[psycopg.AsyncConnection[Any]]:
    async with await psycopg.AsyncConnection.connect(database, autocommit=True) as connection:
        yield connection


def call(question: UUID | None, *, team: str = "T1", cents: int = 2) -> Reservation:
    """Return a call for Ada's question."""
    return Reservation(
        id=uuid4(),
        team_id=team,
        channel_id="C1",
        user_id=ADA,
        question_id=question,
        provider=f"P{cents}",  # so that its ceiling is its own
        effort="fast",
        ceiling=cents * CENT,
    )


async def asks(database: str, *, team: str = "T1", state: str = "working") -> UUID:
    question = uuid4()
    async with connect(database) as connection:
        await connection.execute(
            "INSERT INTO questions (id, delivery_key, surface, command, text, team_id, channel_id, user_id, state)"
            " VALUES (%s, %s, 'slash', 'ask', 'why', %s, 'C1', %s, %s)",
            (question, str(question), team, ADA, state),
        )
    return question


async def spend(ledger: Ledger, question: UUID, *, cents: int = 2, team: str = "T1") -> None:
    """Make a call and settle it."""
    verdict = await ledger.reserve(call(question, cents=cents, team=team))
    assert isinstance(verdict, Granted)
    ledger.end(Ended(id=verdict.id, state="settled", cost=cents * CENT))
    await ledger.flush()


@pytest.mark.parametrize("own", [True, False])
async def test_an_erasure_gives_no_one_another_budget_for_the_day(database: str, pool: Pool, *, own: bool) -> None:
    ledger, store = Ledger(pool, budgets=Budgets(user=10 * CENT)), PersonalDataStore(pool)
    for cents in (4, 3, 3):
        await spend(ledger, await asks(database), cents=cents)
        await store.erase(ADA, team_id="T1" if own else None, own=own)

    refused = await ledger.reserve(call(await asks(database), cents=1))

    assert isinstance(refused, OverBudget)
    assert (refused.scope, refused.remaining) == ("user", 0)
    # In another workspace nothing was spent, and another person is someone else.
    await spend(ledger, await asks(database, team="T2"), team="T2", cents=10)


async def test_a_call_under_way_counts_with_what_is_reserved_for_it(database: str, pool: Pool) -> None:
    ledger = Ledger(pool, budgets=Budgets(user=10 * CENT))
    granted = await ledger.reserve(call(await asks(database), cents=8))
    await PersonalDataStore(pool).erase(ADA)
    assert isinstance(granted, Granted)
    ledger.end(Ended(id=granted.id, state="settled", cost=CENT))
    await ledger.flush()

    assert isinstance(await ledger.reserve(call(await asks(database), cents=3)), OverBudget)
    assert isinstance(await ledger.reserve(call(await asks(database), cents=2)), Granted)


async def test_what_a_form_began_is_not_booked_or_kept_once_its_person_is_erased(database: str, pool: Pool) -> None:
    ledger, proposals, proposal = Ledger(pool, budgets=Budgets(user=10 * CENT)), ProposalStore(pool), uuid4()
    first = await ledger.reserve(call(None))
    assert isinstance(first, Granted)
    await proposals.record(proposal, "T1", ADA, "what is sent")
    await PersonalDataStore(pool).erase(ADA, own=True)

    assert isinstance(await ledger.reserve(call(None)), Erased)
    await proposals.record(proposal, "T1", ADA, "what is sent again")
    async with connect(database) as connection:
        assert await find_text(connection, ADA) == {}
        await connection.execute("UPDATE erased_spending SET at = at - interval '1 minute'")
    assert isinstance(await ledger.reserve(call(None)), Granted)


async def test_a_budget_that_is_set_after_the_erasure_counts_it_too(database: str, pool: Pool) -> None:
    await spend(Ledger(pool), await asks(database), cents=8)
    await PersonalDataStore(pool).erase(ADA)

    limited = Ledger(pool, budgets=Budgets(user=9 * CENT))

    assert isinstance(await limited.reserve(call(await asks(database), cents=2)), OverBudget)
    await spend(limited, await asks(database), cents=1)


async def test_an_erasure_gives_no_one_another_budget_for_the_week(database: str, pool: Pool) -> None:
    ledger, store = Ledger(pool), PersonalDataStore(pool)
    await BudgetStore(pool).change(team_id="T1", user_id="U9", scope="user_week", subject="", amount=10 * CENT)
    async with connect(database) as connection:
        await spend(ledger, await asks(database), cents=6)
        await connection.execute("UPDATE ledger SET at = date_trunc('week', now(), 'UTC')")
        await store.erase(ADA)
        await spend(ledger, await asks(database), cents=3)
        await store.erase(ADA)

    refused = await ledger.reserve(call(await asks(database), cents=2))

    assert isinstance(refused, OverBudget)
    assert (refused.scope, refused.remaining) == ("user_week", CENT)


async def test_what_is_kept_names_no_one_and_goes_with_the_week(database: str, pool: Pool) -> None:
    await spend(Ledger(pool), await asks(database), cents=8)
    await PersonalDataStore(pool).erase(ADA)
    async with connect(database) as connection:
        assert await find_text(connection, ADA) == {}
        assert await Retention(pool=pool, days=30).sweep() == 0
        await connection.execute("UPDATE erased_spending SET period = period - 7, at = at - interval '7 days'")
        limited = Ledger(pool, budgets=Budgets(user=8 * CENT))
        assert isinstance(await limited.reserve(call(await asks(database), cents=8)), Granted)
        assert await Retention(pool=pool, days=30).sweep() == datetime.now(UTC).isoweekday()


async def test_a_call_from_a_direct_message_no_longer_says_which(database: str, pool: Pool) -> None:
    ledger = Ledger(pool)
    for channel in ("D0ADA1815", "C1"):
        assert isinstance(await ledger.reserve(replace(call(None), channel_id=channel)), Granted)
    await PersonalDataStore(pool).erase(ADA)

    async with connect(database) as connection:
        found = await (await connection.execute("SELECT channel_id FROM ledger ORDER BY 1")).fetchall()
        assert found == [("C1",), ("D",)]


async def test_ones_own_erasure_keeps_an_admins_limit_and_a_command_does_not(database: str, pool: Pool) -> None:
    budgets, store = BudgetStore(pool), PersonalDataStore(pool)
    await budgets.change(team_id="T1", user_id="U9", scope="user", subject=ADA, amount=0)
    ledger = Ledger(pool, budgets=Budgets(user=10 * CENT))

    await store.erase(ADA, team_id="T1", own=True)
    assert isinstance(await ledger.reserve(call(await asks(database))), OverBudget)
    await store.erase(ADA, team_id="T1")
    assert isinstance(await ledger.reserve(call(await asks(database))), Granted)


async def test_a_call_that_begins_after_the_erasure_of_its_question_is_not_made(database: str, pool: Pool) -> None:
    """The worker has not noticed yet that the question is gone."""
    ledger, question = Ledger(pool, budgets=Budgets(user=10 * CENT, workspace=100 * CENT)), await asks(database)
    await spend(ledger, question)
    await PersonalDataStore(pool).erase(ADA)

    other = await asks(database)
    verdicts = await asyncio.gather(*(ledger.reserve(call(one)) for one in (question, other, None)))

    assert [type(verdict) for verdict in verdicts] == [Erased, Granted, Erased]
    assert isinstance(await ledger.reserve(call(question)), Erased)
    async with connect(database) as connection:
        rows = await (await connection.execute("SELECT question_id, user_id FROM ledger ORDER BY at")).fetchall()
        assert set(rows) == {(None, ""), (other, ADA)}


async def test_a_call_that_is_booked_during_the_erasure_loses_its_person(database: str, pool: Pool) -> None:
    """One booking is before the erasure, one after it; neither row names the person."""
    ledger, question = Ledger(pool), await asks(database)
    async with connect(database) as connection:
        await connection.execute("BEGIN")
        await connection.execute("LOCK TABLE ledger IN SHARE MODE")
        booking = asyncio.create_task(ledger.reserve(call(question)))
        await waiting(database, 1)
        erasing = asyncio.create_task(PersonalDataStore(pool).erase(ADA))
        await waiting(database, 2)
        late = asyncio.create_task(Ledger(pool).reserve(call(question)))
        await waiting(database, 3)
        await connection.execute("COMMIT")
        verdicts = [type(verdict) for verdict in await asyncio.gather(booking, late)]
        await erasing
        assert verdicts == [Granted, Erased]
        assert await find_text(connection, ADA) == {}


async def waiting(database: str, count: int) -> None:
    """Wait until so many connections wait for a lock."""
    query = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
    async with asyncio.timeout(10), connect(database) as connection:
        found = await (await connection.execute(query)).fetchall()
        while found[0][0] < count:
            await asyncio.sleep(0.01)
            found = await (await connection.execute(query)).fetchall()


async def waits(database: str, person: str, *, team: str = "T1") -> bool:
    """Take a token of a person who may ask three times a minute; return whether there is none."""
    async with connect(database) as connection:
        taken = await connection.execute("SELECT rate_take_v1(%s, %s, 'C1', 3, 0) > 0", (team, person))
        return bool((await taken.fetchone() or [None])[0])


async def test_an_erasure_lets_no_one_ask_faster(database: str, pool: Pool) -> None:
    await asks(database)
    await asks(database, team="T2")
    assert [await waits(database, ADA) for _ in range(4)] == [False, False, False, True]
    for _ in range(2):
        await PersonalDataStore(pool).erase(ADA)
        async with connect(database) as connection:
            assert await find_text(connection, ADA) == {}
        assert await waits(database, ADA)

    assert not await waits(database, "U2")
    assert not await waits(database, ADA, team="T2")
    async with connect(database) as connection:  # a minute later
        await connection.execute("UPDATE rate_limits SET full_at = full_at - interval '1 minute'")
        await connection.execute("UPDATE erased_spending SET full_at = full_at - interval '1 minute'")
    assert not await waits(database, ADA)
