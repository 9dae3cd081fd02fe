"""The ledger: what is reserved and spent never passes a budget, in however many processes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, cast
from uuid import UUID, uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg import AsyncConnection, OperationalError
from psycopg.rows import DictRow

from bot.budgets import CEILINGS
from bot.chain import AWAY_SECONDS, Meter
from bot.model.membership import Asker, working_for
from bot.model.question import Outcome
from bot.model.spending import (
    BudgetLine,
    Budgets,
    Ended,
    Granted,
    OverBudget,
    Paused,
    RequestText,
    Reservation,
    TakenOver,
)
from bot.storage.budgets import BudgetStore
from bot.storage.ledger import MOST_AT_ONCE, Ledger, LedgerAway
from bot.storage.personal_data import PersonalDataStore
from bot.storage.questions import SPENDS_PAUSED, DatabaseRetry, Pool, QuestionStore, connection_pool
from perplexity.errors import RequestCancelled
from tests.fakes.rows import claim
from tests.rare import one_in

CENT = 10_000


@pytest.fixture
async def pool(database: str) -> AsyncIterator[Pool]:
    async with connection_pool(database, size=4, seconds=10) as pool:
        yield pool


def call(**changes: Any) -> Reservation:
    """Return a quick call of a person in a channel."""
    base = Reservation(
        id=uuid4(),
        team_id="T1",
        channel_id="C1",
        user_id="U1",
        question_id=None,
        provider="Perplexity",
        effort="fast",
        ceiling=2 * CENT,
    )
    return replace(base, **changes)


async def rows(pool: Pool, query: str, *values: object) -> list[dict[str, Any]]:
    async with pool.connection() as connection:
        return await (await connection.execute(query.encode(), values)).fetchall()


async def states(pool: Pool) -> list[tuple[str, int | None]]:
    return [(row["state"], row["cost"]) for row in await rows(pool, "SELECT state, cost FROM ledger ORDER BY at, id")]


async def reserved(ledger: Ledger, wanted: Reservation) -> UUID:
    verdict = await ledger.reserve(wanted)
    assert isinstance(verdict, Granted)
    return verdict.id


async def test_settles_a_call_at_what_it_cost(pool: Pool) -> None:
    ledger = Ledger(pool)
    ledger.end(Ended(id=await reserved(ledger, call()), state="settled", cost=4_321))
    await ledger.flush()
    assert await states(pool) == [("settled", 4_321)]


async def test_ends_a_call_once(pool: Pool) -> None:
    ledger = Ledger(pool)
    mine = await reserved(ledger, call())
    for cost in (1, 2):
        ledger.end(Ended(id=mine, state="settled", cost=cost))
        await ledger.flush()
    assert await states(pool) == [("settled", 1)]


@pytest.mark.parametrize(
    ("budgets", "scope"),
    [
        (Budgets(user=5 * CENT), "user"),
        (Budgets(channel=5 * CENT), "channel"),
        (Budgets(workspace=5 * CENT), "workspace"),
        (Budgets(user=5 * CENT, channel=3 * CENT, workspace=1_000 * CENT), "channel"),
    ],
)
async def test_refuses_what_does_not_fit_into_a_budget(pool: Pool, budgets: Budgets, scope: str) -> None:
    ledger = Ledger(pool, budgets=budgets)
    granted = 0
    while isinstance(verdict := await ledger.reserve(call()), Granted):
        granted += 1
    assert isinstance(verdict, OverBudget)
    assert (verdict.scope, verdict.remaining) == (scope, CENT)
    assert granted == verdict.allowed // (2 * CENT)
    assert 0 < verdict.resets <= 31 * 86_400


async def test_a_direct_message_is_no_channel(pool: Pool) -> None:
    ledger = Ledger(pool, budgets=Budgets(channel=0))
    assert isinstance(await ledger.reserve(call(channel_id="D1")), Granted)
    assert isinstance(await ledger.reserve(call()), OverBudget)


async def test_what_is_left_of_a_reservation_can_be_spent(pool: Pool) -> None:
    ledger = Ledger(pool, budgets=Budgets(user=2 * CENT))
    first = await reserved(ledger, call())
    assert isinstance(await ledger.reserve(call()), OverBudget)
    ledger.end(Ended(id=first, state="released"))
    assert isinstance(await ledger.reserve(call()), Granted)


@pytest.mark.parametrize("processes", [1, 4])
async def test_a_hundred_at_once_on_the_last_reservation_overspend_by_none(pool: Pool, processes: int) -> None:
    ledgers = [Ledger(pool, budgets=Budgets(workspace=100 * CENT)) for _ in range(processes)]
    ledgers[0].end(Ended(id=await reserved(ledgers[0], call(ceiling=98 * CENT)), state="settled", cost=98 * CENT))
    await ledgers[0].flush()
    async with pool.connection() as connection:
        await connection.execute("DELETE FROM call_costs")
    asked = [ledgers[n % processes].reserve(call(user_id=f"U{n}", channel_id=f"C{n % 7}")) for n in range(100)]
    verdicts = await asyncio.gather(*asked)
    assert sum(isinstance(verdict, Granted) for verdict in verdicts) == 1
    [use] = await rows(pool, "SELECT reserved, spent FROM budget_use")
    assert use == {"reserved": 2 * CENT, "spent": 98 * CENT}


async def test_counts_what_was_spent_before_there_was_a_budget(pool: Pool) -> None:
    ledger, store = Ledger(pool), BudgetStore(pool)
    ledger.end(Ended(id=await reserved(ledger, call()), state="settled", cost=2 * CENT))
    open_call = await reserved(ledger, call())
    await ledger.flush()
    await store.change(team_id="T1", user_id="U0", scope="workspace", subject="", amount=5 * CENT)
    assert isinstance(await ledger.reserve(call()), OverBudget)
    ledger.end(Ended(id=open_call, state="settled", cost=CENT))
    await ledger.flush()
    assert isinstance(await ledger.reserve(call()), Granted)


async def test_a_budget_of_ones_own_outranks_that_of_all_and_that_the_settings(pool: Pool) -> None:
    ledger, store = Ledger(pool, budgets=Budgets(user=0)), BudgetStore(pool)
    assert isinstance(await ledger.reserve(call()), OverBudget)
    change = partial(store.change, team_id="T1", user_id="U0", scope="user")
    assert await change(subject="", amount=2 * CENT) == (None, _line("", 2 * CENT))
    assert isinstance(await ledger.reserve(call(user_id="U2")), Granted)
    await change(subject="U3", amount=CENT)
    assert isinstance(await ledger.reserve(call(user_id="U3")), OverBudget)
    assert await change(subject="U3", amount=None) == (
        _line("U3", CENT),
        _line("U3", None),
    )
    assert isinstance(await ledger.reserve(call(user_id="U3", ceiling=100 * CENT)), Granted)
    assert await change(subject="", amount=None, reset=True) == (
        _line("", 2 * CENT),
        None,
    )
    assert isinstance(await ledger.reserve(call(user_id="U4")), OverBudget)


def _line(subject: str, amount: int | None) -> BudgetLine:
    return BudgetLine(scope="user", subject=subject, amount=amount)


async def test_a_pause_holds_for_all_calls_of_a_workspace(pool: Pool) -> None:
    ledger, store = Ledger(pool), BudgetStore(pool)
    assert await store.pause(team_id="T1", user_id="U0")
    assert not await store.pause(team_id="T1", user_id="U9")
    assert isinstance(await ledger.reserve(call()), Paused)
    assert isinstance(await ledger.reserve(call(team_id="T2")), Granted)
    assert await store.resume(team_id="T1", user_id="U0")
    assert not await store.resume(team_id="T1", user_id="U0")
    assert isinstance(await ledger.reserve(call()), Granted)


async def test_a_ceiling_follows_what_calls_have_cost(pool: Pool) -> None:
    ledger = Ledger(pool)

    async def ceiling_after(*costs: int) -> int:
        for cost in costs:
            ledger.end(Ended(id=await reserved(ledger, call()), state="settled", cost=cost))
        mine = await reserved(ledger, call())
        [row] = await rows(pool, "SELECT reserved FROM ledger WHERE id = %s", mine)
        ledger.end(Ended(id=mine, state="released"))
        return int(row["reserved"])

    assert await ceiling_after() == 2 * CENT
    assert await ceiling_after(5_000) == 2 * CENT
    assert await ceiling_after(3 * CENT) == 3 * CENT
    assert await ceiling_after(*[5_000] * 18) == 37_500
    assert await ceiling_after(4 * CENT) == 5 * CENT


@pytest.mark.parametrize(
    ("cost", "share", "effort"),
    one_in(3, [(*figures, effort) for figures in [(0, 0.125), (900_000_000_000, 10.0)] for effort in CEILINGS]),
)
async def test_odd_figures_close_no_budget_and_open_none(pool: Pool, effort: str, cost: int, share: float) -> None:
    ledger = Ledger(pool)
    odd = [await reserved(ledger, call(effort=effort, ceiling=CEILINGS[effort])) for _ in range(20)]
    for one in odd:
        ledger.end(Ended(id=one, state="settled", cost=cost))
    await ledger.flush()

    mine = await reserved(ledger, call(effort=effort, ceiling=CEILINGS[effort]))

    [row] = await rows(pool, "SELECT reserved FROM ledger WHERE id = %s", mine)
    assert row["reserved"] == share * CEILINGS[effort]


async def test_notices_of_many_people_are_found_at_once(pool: Pool) -> None:
    async with pool.connection() as connection:
        await connection.execute(
            "INSERT INTO budget_use (team_id, scope, subject, period, reserved, spent)"
            " SELECT 'T1', 'user', 'U' || person, (now() AT TIME ZONE 'UTC')::date - day, 0, 1"
            " FROM generate_series(1, 2000) person, generate_series(0, 29) day"
        )
    await BudgetStore(pool).change(team_id="T1", user_id="U0", scope="user", subject="U7", amount=1)
    ledger = Ledger(pool, budgets=Budgets(user=CENT))

    began = time.monotonic()
    told = await ledger.notices()

    # A call of a function for each row took six seconds.
    assert time.monotonic() - began < 2
    assert {(one.subject, one.percent) for one in told} == {("U7", 100)}
    today, yesterday = sorted((one.period for one in told), reverse=True)[:2]
    assert (today - yesterday).days == 1


async def test_a_caller_that_was_cancelled_leaves_nothing_reserved(pool: Pool) -> None:
    ledger = Ledger(pool)
    async with pool.transaction() as connection:
        await connection.execute("LOCK TABLE ledger IN SHARE ROW EXCLUSIVE MODE")
        asking = asyncio.create_task(ledger.reserve(call()))
        while not await rows(pool, "SELECT FROM pg_locks WHERE NOT granted"):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
    await ledger.flush()
    await ledger.flush()
    assert await states(pool) == [("released", 0)]


async def test_without_a_database_no_call_is_permitted_and_no_end_forgotten(database: str, pool: Pool) -> None:
    async with connection_pool(database, size=1, seconds=0.2) as own:
        ledger = Ledger(own)
        mine = await reserved(ledger, call())
        async with own.connection():
            ledger.end(Ended(id=mine, state="settled", cost=7))
            with pytest.raises(LedgerAway):
                await ledger.reserve(call())
        await ledger.flush()
    assert await states(pool) == [("settled", 7)]


@dataclass
class LosingReplies:
    """A pool whose connection breaks once, after a transaction was committed."""

    pool: Pool
    replies: int = 0
    fetch_all = Pool.fetch_all

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[AsyncConnection[DictRow]]:
        async with self.pool.connection() as connection:
            yield connection
        self.replies += 1
        if self.replies == 1:
            raise OperationalError("the connection is lost")


async def test_a_call_whose_booking_got_no_reply_costs_nothing_and_can_be_booked_again(pool: Pool) -> None:
    ledger = Ledger(cast("Pool", LosingReplies(pool)), budgets=Budgets(user=3 * CENT))
    with pytest.raises(LedgerAway):
        await ledger.reserve(call())

    assert isinstance(await ledger.reserve(call()), Granted)
    assert await states(pool) == [("released", 0), ("reserved", None)]


async def test_those_who_wait_behind_a_booking_that_failed_are_told_too(database: str) -> None:
    async with connection_pool(database, size=1, seconds=0.2) as own:
        ledger = Ledger(own)
        async with own.connection():
            asked = [ledger.reserve(call()) for _ in range(2 * MOST_AT_ONCE + 1)]
            async with asyncio.timeout(10):
                verdicts = await asyncio.gather(*asked, return_exceptions=True)
    assert all(isinstance(one, LedgerAway) for one in verdicts)


async def test_what_was_not_booked_is_booked_at_the_end(pool: Pool) -> None:
    async with Ledger(pool) as ledger:
        ledger.end(Ended(id=await reserved(ledger, call()), state="settled", cost=7))
    assert await states(pool) == [("settled", 7)]


QUESTION = uuid4()


async def _question(pool: Pool, *, state: str, claimed: str) -> None:
    async with pool.connection() as connection:
        await connection.execute(
            "INSERT INTO questions (id, delivery_key, surface, command, text, team_id, channel_id, user_id, state,"
            " claimed_at) VALUES (%s, 'k', 'slash', 'ask', 'x', 'T1', 'C1', 'U1', %s, now() - %s::interval)",
            (QUESTION, state, claimed),
        )


@pytest.mark.parametrize(
    ("state", "claimed", "ends"),
    [
        ("working", "3 minutes", False),
        ("working", "1 minute", True),
        ("stopped", "3 minutes", True),
        ("answered", "3 minutes", True),
    ],
)
async def test_the_call_of_a_dead_worker_is_cut_at_its_ceiling(
    pool: Pool, state: str, claimed: str, *, ends: bool
) -> None:
    ledger = Ledger(pool, budgets=Budgets(user=10 * CENT))
    mine = await reserved(ledger, call(question_id=QUESTION))
    await _question(pool, state=state, claimed=claimed)
    assert await ledger.cut_abandoned() == 0
    async with pool.connection() as connection:
        await connection.execute("UPDATE ledger SET held_at = now() - interval '2 minutes'")
    assert await ledger.cut_abandoned() == ends
    assert await states(pool) == [("cut", 2 * CENT) if ends else ("reserved", None)]
    # Its own end, should it come after all, is what counts.
    ledger.end(Ended(id=mine, state="settled", cost=CENT))
    await ledger.flush()
    assert await states(pool) == [("settled", CENT)]
    assert await rows(pool, "SELECT reserved, spent FROM budget_use") == [{"reserved": 0, "spent": CENT}]


async def claims_while_paused(pool: Pool) -> dict[UUID, int]:
    """Return what workers read of the question while an admin has paused all spending."""
    await BudgetStore(pool).pause(team_id="T1", user_id="U0")
    async with pool.connection() as connection:
        await connection.execute(
            "INSERT INTO questions (id, delivery_key, surface, command, text, team_id, channel_id, user_id)"
            " VALUES (%s, 'k', 'im', 'ask', 'why', 'T1', 'D1', 'U1') ON CONFLICT DO NOTHING",
            (QUESTION,),
        )
    return await QuestionStore(pool).claims([QUESTION])


@pytest.mark.parametrize("was_cut", [False, True])
async def test_a_resumed_run_takes_over_its_reservation(pool: Pool, *, was_cut: bool) -> None:
    ledger = Ledger(pool, budgets=Budgets(user=200 * CENT))
    deep = call(question_id=QUESTION, effort="high", ceiling=200 * CENT)
    first = await reserved(ledger, deep)
    if was_cut:
        ledger.end(Ended(id=first, state="cut"))
    resumed = await reserved(ledger, replace(deep, id=uuid4(), resumes=True))
    assert resumed == first
    assert await claims_while_paused(pool) == {QUESTION: SPENDS_PAUSED}
    ledger.end(Ended(id=resumed, state="settled", cost=50 * CENT))
    await ledger.flush()
    assert await states(pool) == [("settled", 50 * CENT)]
    assert await rows(pool, "SELECT reserved, spent FROM budget_use") == [{"reserved": 0, "spent": 50 * CENT}]
    assert await claims_while_paused(pool) == {QUESTION: 0}


async def test_a_resumed_run_that_was_paid_for_is_not_booked_again(pool: Pool) -> None:
    ledger = Ledger(pool, budgets=Budgets(user=200 * CENT))
    deep = call(question_id=QUESTION, effort="high", ceiling=200 * CENT)
    ledger.end(Ended(id=await reserved(ledger, deep), state="settled", cost=50 * CENT))
    await ledger.flush()
    ledger.end(
        Ended(id=await reserved(ledger, replace(deep, id=uuid4(), resumes=True)), state="settled", cost=50 * CENT)
    )
    await ledger.flush()
    assert await states(pool) == [("settled", 50 * CENT)]
    assert await rows(pool, "SELECT reserved, spent FROM budget_use") == [{"reserved": 0, "spent": 50 * CENT}]


async def test_a_resumed_run_takes_over_its_own_reservation_before_what_another_one_has_cost(pool: Pool) -> None:
    ledger = Ledger(pool)
    deep = call(question_id=QUESTION, effort="high")
    ledger.end(Ended(id=await reserved(ledger, deep), state="settled", cost=CENT))
    await ledger.flush()
    second = await reserved(ledger, replace(deep, id=uuid4()))

    assert await reserved(ledger, replace(deep, id=uuid4(), resumes=True)) == second


async def test_a_notice_is_sent_once_for_each_step(pool: Pool) -> None:
    ledger = Ledger(pool, budgets=Budgets(channel=100 * CENT))
    told = []
    for cost in (70, 6, 1, 18, 4):
        ledger.end(Ended(id=await reserved(ledger, call(ceiling=0)), state="settled", cost=cost * CENT))
        await ledger.flush()
        async with pool.connection() as connection:
            await connection.execute("DELETE FROM call_costs")
        notices = await ledger.notices()
        told.append([(notice.percent, notice.spent // CENT) for notice in notices])
        for notice in notices:
            await ledger.told(notice)
    assert told == [[], [(75, 76)], [], [(95, 95)], []]
    assert isinstance(await ledger.reserve(call()), OverBudget)
    [notice] = await ledger.notices()
    assert (notice.percent, notice.scope, notice.subject) == (100, "channel", "C1")
    await ledger.told(notice, reached=False)
    assert await ledger.notices() == [notice]
    assert await ledger.notices() == []


async def test_a_budget_of_nothing_has_no_notice(pool: Pool) -> None:
    ledger = Ledger(pool, budgets=Budgets(user=0))
    assert isinstance(await ledger.reserve(call()), OverBudget)
    assert await ledger.notices() == []
    await BudgetStore(pool).change(team_id="T1", user_id="U0", scope="user", subject="", amount=CENT)
    assert isinstance(await ledger.reserve(call()), OverBudget)
    assert [notice.percent for notice in await ledger.notices()] == [100]


costs = st.lists(
    st.tuples(
        st.sampled_from(["reserve", "settle", "release", "cut", "late"]),
        st.integers(0, 3),
        st.integers(1, 6),
        st.floats(0, 1),
    ),
    max_size=40,
)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=costs, allowed=st.integers(0, 30))
async def test_settled_and_reserved_never_pass_a_budget(pool: Pool, steps: Any, allowed: int) -> None:
    async with pool.connection() as connection:
        await connection.execute("TRUNCATE ledger, budget_use, call_costs")
    ledger = Ledger(pool, budgets=Budgets(user=allowed, channel=2 * allowed, workspace=3 * allowed))
    held: list[tuple[UUID, int]] = []
    for step, who, ceiling, share in steps:
        if step == "reserve":
            wanted = call(user_id=f"U{who}", channel_id=f"C{who % 2}", ceiling=ceiling, effort=f"{ceiling}-{who}")
            if isinstance(await ledger.reserve(wanted), Granted):
                held.append((wanted.id, ceiling))
        elif held:
            mine, most = held[who % len(held)]
            state = {"settle": "settled", "release": "released"}.get(step, "cut")
            if step == "late":
                state = "settled"
            cost = int(most * share)
            ledger.end(Ended(id=mine, state=state, cost=cost if state == "settled" else None))  # type: ignore[arg-type]
            await ledger.flush()
        for use in await rows(pool, "SELECT * FROM budget_use"):
            limit = allowed * {"user": 1, "channel": 2, "workspace": 3}[use["scope"]]
            assert use["reserved"] >= 0
            assert use["spent"] >= 0
            assert use["reserved"] + use["spent"] <= limit
    [sums] = await rows(
        pool,
        "SELECT coalesce(sum(reserved) FILTER (WHERE state = 'reserved'), 0) AS reserved,"
        " coalesce(sum(cost), 0) AS spent FROM ledger",
    )
    for scope in ("user", "channel", "workspace"):
        [kept] = await rows(
            pool,
            "SELECT coalesce(sum(reserved), 0) AS reserved, coalesce(sum(spent), 0) AS spent FROM budget_use"
            " WHERE scope = %s",
            scope,
        )
        assert kept == sums


async def sent(pool: Pool) -> list[str]:
    return [row["request"] for row in await rows(pool, "SELECT request FROM sent_requests ORDER BY request")]


async def asked(pool: Pool, user_id: str = "U1") -> UUID:
    """Insert a question and return its id."""
    question_id = uuid4()
    await rows(
        pool,
        "INSERT INTO questions (id, delivery_key, surface, command, text, team_id, channel_id, user_id)"
        " VALUES (%s, %s, 'slash', 'ask', 'why', 'T1', 'C1', %s) RETURNING id",
        question_id,
        str(question_id),
        user_id,
    )
    return question_id


def leaving(question_id: UUID, text: str, **changes: Any) -> RequestText:
    return replace(RequestText(id=uuid4(), question_id=question_id, text=text), **changes)


async def test_what_leaves_is_saved_with_a_call_that_may_be_made_and_with_no_other(pool: Pool) -> None:
    async with Ledger(pool, budgets=Budgets(user=2 * CENT)) as ledger:
        question = await asked(pool)
        first, second = call(question_id=question), call(question_id=question)
        assert isinstance(
            await ledger.reserve(first, leaving(question, '"\\u0000 é"', id=first.id, with_call=True)), Granted
        )
        over = await ledger.reserve(second, leaving(question, "refused", id=second.id, with_call=True))
        assert isinstance(over, OverBudget)
        await asyncio.gather(*(ledger.keep(leaving(question, f"alone {n}")) for n in range(3)))
        await ledger.keep(leaving(uuid4(), "of no question"))

    assert await sent(pool) == ['"\\u0000 é"', "alone 0", "alone 1", "alone 2"]


@pytest.mark.parametrize(
    "ends",
    [
        "UPDATE questions SET text = '', text_deleted_at = now() WHERE id = %s RETURNING id",
        "DELETE FROM questions WHERE id = %s RETURNING id",
    ],
)
async def test_what_was_sent_goes_with_the_text_of_its_question_and_nothing_is_added(pool: Pool, ends: str) -> None:
    async with Ledger(pool) as ledger:
        question, other = await asked(pool), await asked(pool)
        await ledger.keep(leaving(question, "mine"))
        await ledger.keep(leaving(other, "other"))
        await rows(pool, ends, question)
        late = call(question_id=question)
        await ledger.reserve(late, leaving(question, "late", id=late.id, with_call=True))

    assert await sent(pool) == ["other"]


async def test_what_leaves_during_an_erasure_is_not_kept(pool: Pool) -> None:
    async with Ledger(pool) as ledger:
        question = await asked(pool)
        calls = [call(question_id=question) for _ in range(20)]
        await asyncio.gather(
            PersonalDataStore(pool).erase("U1"),
            *(ledger.reserve(one, leaving(question, "late", id=one.id, with_call=True)) for one in calls),
        )

    assert await sent(pool) == []


@pytest.mark.parametrize("claim_is_lost", [False, True])
async def test_what_did_not_leave_after_all_is_deleted_with_the_answer_of_the_claim(
    pool: Pool, claim_is_lost: bool
) -> None:
    questions = QuestionStore(pool)
    async with Ledger(pool) as ledger:
        question = await asked(pool)
        row = await claim(questions, question)
        assert row is not None
        refused, left = leaving(question, "refused"), leaving(question, "left")
        await asyncio.gather(ledger.keep(refused), ledger.keep(left))
        if claim_is_lost:
            await claim(questions, question)
        outcome = Outcome(messages=(), state="answered", replaced=[refused.id])
        assert await questions.save_messages(row, outcome, uses=0) is not claim_is_lost
        assert await sent(pool) == (["left", "refused"] if claim_is_lost else ["left"])

        await questions.record_sent(question, None, [refused.id])
    assert await sent(pool) == ["left"]


async def test_a_call_is_made_only_under_the_claim_that_its_question_has(pool: Pool) -> None:
    questions, question = QuestionStore(pool), await asked(pool)
    async with Ledger(pool) as ledger:
        lost = await claim(questions, question)
        held = await claim(questions, question)
        assert lost is not None
        assert held is not None
        late = call(question_id=question, claim=lost.claim)
        wanted = (late, call(question_id=question, claim=held.claim), call())
        refused, *granted = await asyncio.gather(
            ledger.reserve(late, leaving(question, "late", id=late.id, with_call=True)),
            *(ledger.reserve(one) for one in wanted[1:]),
        )

    assert refused == TakenOver()
    assert granted == [Granted(id=one.id) for one in wanted[1:]]
    assert await states(pool) == [("reserved", None)] * 2
    assert await sent(pool) == []


@dataclass
class SuspendedAfterBooking:
    """A pool whose process is suspended once a call was booked, until another worker has claimed the question."""

    pool: Pool
    question: UUID
    now: float = 0.0
    taken_over: bool = True
    fetch_all = Pool.fetch_all

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[AsyncConnection[DictRow]]:
        async with self.pool.connection() as connection:
            yield connection
        if not self.now:
            self.now = AWAY_SECONDS + 1
            if self.taken_over:
                await claim(QuestionStore(self.pool), self.question)


@pytest.mark.parametrize("taken_over", [True, False])
async def test_what_was_granted_before_a_process_was_suspended_is_asked_for_again(
    pool: Pool, *, taken_over: bool
) -> None:
    question = await asked(pool)
    row = await claim(QuestionStore(pool), question)
    assert row is not None
    suspended = SuspendedAfterBooking(pool, question, taken_over=taken_over)
    asker = Asker(team_id="T1", user_id="U1", channel_id="C1", question_id=question, claim=row.claim)
    retry = DatabaseRetry(seconds=AWAY_SECONDS, clock=lambda: suspended.now)
    async with Ledger(cast("Pool", suspended)) as ledger:
        meter = Meter(ledger=ledger, database_retry=retry)
        with working_for(asker):
            if taken_over:
                with pytest.raises(RequestCancelled):
                    await meter.reserve("Perplexity", "fast")
            else:
                await meter.reserve("Perplexity", "fast")

    assert await states(pool) == [("released", 0), ("reserved", None)][: 1 if taken_over else 2]
