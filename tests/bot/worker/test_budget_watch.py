"""The round that looks after the budgets: no notice is lost because something else failed."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from uuid import uuid4

import pytest
from psycopg.errors import UndefinedTable
from slack_sdk.web.async_client import AsyncWebClient

from bot.model.spending import Budgets, Ended, Reservation
from bot.slack.messages import Chat
from bot.storage.ledger import Ledger
from bot.storage.questions import Pool, connection_pool
from bot.worker.budget_watch import BudgetWatch
from tests.fakes.slack import BOT_TOKEN, FakeSlack


@pytest.fixture
async def pool(database: str) -> AsyncIterator[Pool]:
    async with connection_pool(database, size=2, seconds=10) as pool:
        yield pool


async def used_up(pool: Pool, *people: str) -> Ledger:
    """Return a ledger in which the budgets of some people are used up."""
    ledger = Ledger(pool, budgets=Budgets(user=100))
    for person in people:
        wanted = Reservation(
            id=uuid4(),
            team_id="T1",
            channel_id="C1",
            user_id=person,
            question_id=None,
            provider="Perplexity",
            effort="fast",
            ceiling=100,
        )
        await ledger.reserve(wanted)
        ledger.end(Ended(id=wanted.id, state="settled", cost=100))
        await ledger.flush()
        async with pool.connection() as connection:
            await connection.execute("DELETE FROM call_costs")
    return ledger


async def test_a_notice_is_sent_after_what_failed_on_the_way(pool: Pool) -> None:
    tries = iter([UndefinedTable("no budgets")])

    async def admins(team_id: str) -> Sequence[str]:
        if (error := next(tries, None)) is not None:
            raise error
        return ["U0ADMIN"]

    async def no_others(team_id: str) -> Sequence[str] | None:
        return []

    async with FakeSlack() as slack:
        client = AsyncWebClient(token=BOT_TOKEN, base_url=slack.api_url, retry_handlers=[])
        watch = BudgetWatch(
            ledger=await used_up(pool, "U1", "U2"),
            chat=Chat(client),
            admins=admins,
            other_admins=no_others,
            slash="/pplx",
        )
        with pytest.raises(UndefinedTable):
            await watch.look()
        assert slack.posts == []
        await watch.look()
        await watch.look()

    assert sorted(post.payload["text"].partition("’")[0] for post in slack.posts) == ["<@U1>", "<@U2>"]
