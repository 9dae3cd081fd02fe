"""Every call that a question makes is reserved and booked, whatever makes it, and the sums are the invoice."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row

from bot.budgets import AGENT, CEILINGS
from bot.settings import Settings
from tests.docs.pages import is_here
from tests.driver import Driver
from tests.fakes.all_services import Services, services, with_all_services
from tests.fakes.paid_calls import CALLS

pytestmark = pytest.mark.trust(23)

__all__ = ["services"]


@pytest.fixture
def settings(settings: Settings, services: Services) -> Settings:
    return with_all_services(settings, services)


async def booked(database: str, count: int) -> list[dict[str, Any]]:
    """Return the calls once there are so many and all have ended."""
    async with (
        asyncio.timeout(20),
        await psycopg.AsyncConnection.connect(database, row_factory=dict_row, autocommit=True) as connection,
    ):
        while True:
            calls = await (await connection.execute("SELECT * FROM ledger ORDER BY at, id")).fetchall()
            if len(calls) >= count and all(call["state"] != "reserved" for call in calls):
                return calls
            await asyncio.sleep(0.05)


@pytest.mark.parametrize("line", [line for line in CALLS if is_here(line)])
async def test_every_call_of_a_command_is_booked_for_its_asker(harness: Driver, services: Services, line: str) -> None:
    await harness.ask(line, trigger="t1")
    await harness.wait_until_settled(1)
    calls = await booked(harness.database, len(CALLS[line]))

    assert Counter(call["effort"] for call in calls) == Counter(CALLS[line])
    assert {(call["team_id"], call["user_id"], call["channel_id"]) for call in calls} == {("T1", "U1", "C1")}
    assert all(call["reserved"] == CEILINGS[call["effort"]] for call in calls)
    # The stand-in for the agent's model does not say what it costs: that counts as what was reserved.
    unknown = [call["cost"] for call in calls if call["effort"] == AGENT]
    assert unknown == [CEILINGS[AGENT]] * len(unknown)
    known = sum(call["cost"] for call in calls if call["effort"] != AGENT)
    assert known == services.perplexity.invoice + services.posts.invoice


CLAIMED_TWICE = """
    CREATE FUNCTION claim_again() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        UPDATE questions SET attempt = attempt + 1 WHERE id = NEW.id;
        RETURN NULL;
    END $$;
    CREATE TRIGGER claim_again AFTER UPDATE OF attempt ON questions FOR EACH ROW
        WHEN (pg_trigger_depth() = 0) EXECUTE FUNCTION claim_again();
"""
JOBS = "SELECT FROM procrastinate_jobs WHERE status IN ('todo', 'doing')"


@pytest.mark.parametrize("line", [line for line in CALLS if is_here(line)])
async def test_a_worker_that_lost_its_claim_before_it_asked_makes_no_call(
    harness: Driver, services: Services, line: str
) -> None:
    async with await psycopg.AsyncConnection.connect(harness.database, autocommit=True) as connection:
        await connection.execute(CLAIMED_TWICE)
        await harness.ask(line, trigger="t1")
        async with asyncio.timeout(20):
            while await (await connection.execute(JOBS)).fetchall():  # noqa: ASYNC110 - theirs
                await asyncio.sleep(0.05)
        calls = await (await connection.execute("SELECT FROM ledger")).fetchall()

    assert (calls, services.perplexity.requests, services.posts.requests) == ([], [], [])
