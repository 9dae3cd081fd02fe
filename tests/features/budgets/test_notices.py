"""The round that looks after the budgets: no notice is lost because something else failed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from datetime import date
from uuid import uuid4

import pytest
from psycopg.errors import UndefinedTable
from slack_sdk.web.async_client import AsyncWebClient

from bot.features.budgets.notices import BudgetWatch, notice_text
from bot.model.spending import BudgetNotice, Budgets, Ended, Reservation, Scope
from bot.slack.messages import Chat
from bot.storage.ledger import TELLING_SECONDS, Ledger
from bot.storage.questions import Pool, connection_pool
from bot.translation import speaking
from bot.worker.admin_notices import AdminNotices
from tests.fakes.listeners import returning
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


async def one_admin(team_id: str) -> Sequence[str]:
    return ["U0ADMIN"]


async def no_others(team_id: str) -> Sequence[str] | None:
    return []


def watch_of(
    ledger: Ledger, slack: FakeSlack, *, admins: Callable[[str], Awaitable[Sequence[str]]] = one_admin
) -> BudgetWatch:
    chat = Chat(AsyncWebClient(token=BOT_TOKEN, base_url=slack.api_url, retry_handlers=[]))
    notices = AdminNotices(
        chat=chat, admins=admins, other_admins=no_others, enter=returning(True), language=returning("en")
    )
    return BudgetWatch(ledger=ledger, notices=notices, slash="/pplx")


def people_told_of(slack: FakeSlack) -> list[str]:
    return sorted(post.payload["text"].partition("’")[0] for post in slack.posts)


async def test_a_notice_is_sent_after_what_failed_on_the_way(pool: Pool) -> None:
    tries = iter([UndefinedTable("no budgets")])

    async def admins(team_id: str) -> Sequence[str]:
        if (error := next(tries, None)) is not None:
            raise error
        return ["U0ADMIN"]

    async with FakeSlack() as slack:
        watch = watch_of(await used_up(pool, "U1", "U2"), slack, admins=admins)
        with pytest.raises(UndefinedTable):
            await watch.look()
        assert slack.posts == []
        await watch.look()
        await watch.look()

    assert people_told_of(slack) == ["<@U1>", "<@U2>"]


async def test_what_a_process_that_stops_has_not_sent_the_next_one_sends(pool: Pool) -> None:
    ledger = await used_up(pool, "U1", "U2", "U3")
    async with FakeSlack() as slack:
        halt = slack.halt("conversations.open", number=2, served=False)
        stopping = asyncio.create_task(watch_of(ledger, slack).run())
        await asyncio.wait_for(halt.reached.wait(), 60)
        assert len(slack.posts) == 1

        stopping.cancel()
        await asyncio.gather(stopping, return_exceptions=True)
        await watch_of(ledger, slack).look()

    assert people_told_of(slack) == ["<@U1>", "<@U2>", "<@U3>"]


async def test_a_notice_that_a_dead_process_had_taken_is_sent_later_and_once(pool: Pool) -> None:
    ledger = await used_up(pool, "U1")
    assert len(await ledger.notices()) == 1  # and then that process is killed

    async with FakeSlack() as slack:
        await watch_of(ledger, slack).look()
        assert slack.posts == []  # it may be about to send it
        await age_claims(pool)
        for _ in range(2):
            await watch_of(ledger, slack).look()
            await age_claims(pool)

    assert people_told_of(slack) == ["<@U1>"]


async def test_a_budget_of_which_more_is_spent_while_admins_are_told_is_told_of_again(pool: Pool) -> None:
    ledger = await used_up(pool, "U1")
    async with pool.connection() as connection:
        await connection.execute("UPDATE budget_use SET spent = 80")
    (first,) = await ledger.notices()
    async with pool.connection() as connection:
        await connection.execute("UPDATE budget_use SET spent = 100")
    assert await ledger.notices() == []
    await ledger.told(first)

    (second,) = await ledger.notices()
    await ledger.told(second)
    assert (first.percent, second.percent) == (75, 100)
    await age_claims(pool)
    assert await ledger.notices() == []


async def age_claims(pool: Pool) -> None:
    """Have the database think that what is being told was begun long ago."""
    async with pool.connection() as connection:
        await connection.execute(
            "UPDATE budget_use SET telling_since = telling_since - %s * interval '1 second'", (TELLING_SECONDS + 1,)
        )


@pytest.mark.parametrize(
    ("scope", "subject", "english", "german"),
    [
        ("user", "U1", "<@U1>’s budget for 2 November", "Das Budget von <@U1> für den 2. November"),
        (
            "channel_week",
            "C1",
            "<#C1>’s budget for the week from 2 November",
            "Das Budget von <#C1> für die Woche ab dem 2. November",
        ),
        (
            "workspace_week",
            "",
            "The workspace’s budget for the week from 2 November",
            "Das Budget des Workspace für die Woche ab dem 2. November",
        ),
        ("workspace", "", "The workspace’s budget for November", "Das Budget des Workspace für November"),
    ],
)
def test_what_a_notice_says(scope: Scope, subject: str, english: str, german: str) -> None:
    notice = BudgetNotice(
        team_id="T1",
        scope=scope,
        subject=subject,
        period=date(2026, 11, 2),
        percent=80,
        spent=1_600_000_000,
        allowed=2_000_000_000,
    )

    told = f"{english} is 80% used: $1,600.00 of $2,000.00. Change it with `/pplx budget`."
    assert notice_text(notice, slash="/pplx") == told
    with speaking("de"):
        told = f"{german} ist zu 80 % verbraucht: 1.600,00 $ von 2.000,00 $. Ändere es mit `/pplx budget`."
        assert notice_text(notice, slash="/pplx").replace("\xa0", " ") == told
