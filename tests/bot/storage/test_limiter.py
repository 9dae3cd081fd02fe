"""The turns of all processes together: exact rates, who goes first, and what a refusal stops."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any, LiteralString
from uuid import UUID, uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg import AsyncConnection
from psycopg.errors import LockNotAvailable

from bot.model.question import NewQuestion, Received
from bot.storage.calls import HeldTurn, PostgresLimiter, holding
from bot.storage.questions import NO_LIMITS, FairShare, Lanes, Pool, QuestionStore, connection_pool
from bot.worker.queue import JobQueue
from perplexity.errors import RateLimitError
from perplexity.limiter import WAIT_SECONDS, Limits
from perplexity.scope import OwnKeys, using_keys

BEGAN = datetime(2026, 11, 24, 9, tzinfo=UTC)
URL = "https://api.perplexity.ai"


def limiter_on(pool: Pool, *, wait_seconds: float = WAIT_SECONDS, **options: Any) -> PostgresLimiter:
    lanes = Lanes(keys={"Perplexity": "pplx-one"}, addresses={"Perplexity": URL}, **options)
    return PostgresLimiter(pool=pool, lanes=lanes, wait_seconds=wait_seconds)


def asked(text: str = "", *, user: str = "U1", command: str = "ask", surface: str = "slash") -> NewQuestion:
    return NewQuestion(
        id=(name := uuid4()),
        delivery_key=str(name),
        surface=surface,
        command=command,
        text=text or str(name),
        team_id="T1",
        channel_id="C1",
        user_id=user,
    )


@pytest.fixture
async def pool(database: str) -> AsyncIterator[Pool]:
    async with connection_pool(database, seconds=10) as pool:
        yield pool


@pytest.fixture
def limiter(pool: Pool) -> PostgresLimiter:
    return limiter_on(pool)


@pytest.fixture
def questions(pool: Pool, limiter: PostgresLimiter) -> QuestionStore:
    return store_of(pool, limiter)


def store_of(pool: Pool, limiter: PostgresLimiter) -> QuestionStore:
    return QuestionStore(
        pool,
        share=FairShare(open_per_person=0),
        lane=lambda command: limiter.lanes.lane("Perplexity", "answer"),
        lanes=limiter.lanes,
    )


async def rows(pool: Pool, query: LiteralString, *values: object) -> list[tuple[Any, ...]]:
    async with pool.connection() as connection:
        found = await (await connection.execute(query, values)).fetchall()
    return [tuple(row.values()) for row in found]


async def take(pool: Pool, *, at: float, most: int = 8) -> tuple[list[UUID], list[UUID | None], Any]:
    """Take jobs so many seconds after the beginning; return the questions, their turns, and the next wait."""
    taken = await rows(
        pool,
        "SELECT ((job).args ->> 'question_id')::uuid, turn, wait FROM take_jobs_v1(NULL, %s, %s)"
        " ORDER BY (job).id IS NULL, number",
        *(most, BEGAN + timedelta(seconds=at)),
    )
    return [row[0] for row in taken[:-1]], [row[1] for row in taken[:-1]], taken[-1][2]


async def counted(pool: Pool, query: LiteralString, number: int) -> None:
    """Wait until a query counts so many."""
    async with asyncio.timeout(30):
        for _ in iter(int, 1):
            if await rows(pool, query) == [(number,)]:
                return
            await asyncio.sleep(0.01)


async def turn(connection: AsyncConnection[Any], lane: str, id: UUID, at: datetime) -> float:
    (row,) = await (
        await connection.execute("SELECT provider_turn_v1(%s, %s, NULL, %s) AS seconds", [lane, id, at])
    ).fetchall()
    return float(row["seconds"])


def most_within(moments: Sequence[datetime], seconds: float) -> int:
    span = timedelta(seconds=seconds)
    return max(sum(start <= one < start + span for one in moments) for start in moments)


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    per_second=st.integers(1, 4),
    per_minute=st.integers(3, 30),
    gaps=st.lists(st.floats(0, 3), min_size=5, max_size=60),
    late=st.lists(st.floats(0, 2), min_size=60, max_size=60),
)
async def test_no_second_and_no_minute_has_more_calls_than_its_limit(
    pool: Pool, per_second: int, per_minute: int, gaps: list[float], late: list[float]
) -> None:
    lane = f"perplexity.answer:{uuid4().hex[:12]}"
    async with pool.connection() as connection:
        await connection.execute(
            "INSERT INTO provider_limits (lane, per_second, per_minute, source) VALUES (%s, %s, %s, 'set')",
            [lane, per_second, per_minute],
        )
        # What is due by its time: each call asks, and comes back as late as its process lets it.
        due, now = [], BEGAN
        for number, gap in enumerate(gaps):
            now += timedelta(seconds=gap)
            due.append((now, number, uuid4()))
        while due:
            due.sort()
            at, number, name = due.pop(0)
            wait = await turn(connection, lane, name, at)
            if wait:
                due.append((at + timedelta(seconds=wait + 0.001 + late[number] * (wait > 1)), number, name))
    left = [one for (one,) in await rows(pool, "SELECT left_at FROM provider_turns WHERE lane = %s", lane)]

    assert len(left) == len(gaps)
    assert most_within(left, 1) <= per_second
    assert most_within(left, 60) <= per_minute


async def test_a_question_has_its_turn_before_it_is_taken(questions: QuestionStore, pool: Pool) -> None:
    first, second = asked(), asked(user="U2")
    for one in (first, second):
        await questions.insert(one)

    ids, turns, wait = await take(pool, at=0)
    assert ids == [first.id]
    assert turns[0] is not None
    assert wait == pytest.approx(1.05)
    assert await take(pool, at=1.0) == ([], [], pytest.approx(0.05))
    assert (await take(pool, at=1.05))[0] == [second.id]
    assert await take(pool, at=2.3) == ([], [], None)


async def test_what_asks_no_service_needs_no_turn(questions: QuestionStore, pool: Pool) -> None:
    free = QuestionStore(pool, share=NO_LIMITS)
    for store in (questions, free, free, questions):
        await store.insert(asked())

    ids, turns, _ = await take(pool, at=0)
    assert [one is not None for one in turns] == [True, False, False]
    assert len(ids) == 3


async def test_two_processes_take_one_turn_together(database: str, questions: QuestionStore, pool: Pool) -> None:
    for _ in range(10):
        await questions.insert(asked())
    async with connection_pool(database, seconds=10) as other:
        taken = await asyncio.gather(*(take(one, at=0) for one in (pool, other, pool, other)))

    assert sum(len(ids) for ids, _, _ in taken) == 1
    assert await rows(pool, "SELECT count(*) FROM provider_turns") == [(1,)]


async def test_one_with_ten_open_questions_waits_behind_ten_with_one(questions: QuestionStore, pool: Pool) -> None:
    many = [asked(user="UMANY") for _ in range(10)]
    few = [asked(user=f"U{number}") for number in range(10)]
    for one in (*many, *few):
        await questions.insert(one)

    order = []
    for second in range(20):
        order += (await take(pool, at=1.2 * second))[0]
    assert set(order[:11]) == {many[0].id, *(one.id for one in few)}
    assert order[11:] == [one.id for one in many[1:]]


async def test_people_go_before_digests_and_plain_questions_before_deep_dives(
    questions: QuestionStore, pool: Pool
) -> None:
    digest, dive = asked(surface="digest", command="digest", user="U1"), asked(command="deepdive", user="U2")
    check, plain, last = asked(command="check", user="U3"), asked(user="U4"), asked(user="U5")
    for one in (digest, dive, check, plain, last):
        await questions.insert(one)

    order = []
    for second in range(5):
        order += (await take(pool, at=1.2 * second))[0]
    assert order == [plain.id, last.id, dive.id, check.id, digest.id]


async def test_a_stopped_question_frees_its_place_and_takes_no_turn(questions: QuestionStore, pool: Pool) -> None:
    stopped, other = asked(), asked(user="U2")
    for one in (stopped, other):
        await questions.insert(one)
    assert await questions.stop(stopped.id, user_id="U1")

    ids, turns, _ = await take(pool, at=0)
    assert dict(zip(ids, turns, strict=True))[stopped.id] is None
    assert other.id in ids


async def test_what_is_closed_or_answered_or_runs_already_takes_no_turn(questions: QuestionStore, pool: Pool) -> None:
    withdrawn, answered, running, new, last = [asked(user=f"U{number}") for number in range(5)]
    for one in (withdrawn, answered, running, new, last):
        await questions.insert(one)
    async with pool.connection() as connection:
        await connection.execute("UPDATE questions SET state = 'withdrawn' WHERE id = %s", [withdrawn.id])
        await connection.execute("UPDATE questions SET messages = '[]' WHERE id = %s", [answered.id])
        await connection.execute("UPDATE questions SET run_id = 'resp_1' WHERE id = %s", [running.id])

    ids, turns, _ = await take(pool, at=0)
    assert ids == [withdrawn.id, answered.id, running.id, new.id]
    assert [one is not None for one in turns] == [False, False, False, True]


@pytest.mark.parametrize(
    "query", ["SELECT take_jobs_v1(NULL, 1)", "SELECT provider_turn_v1((SELECT lane FROM provider_limits), %s, NULL)"]
)
async def test_turns_are_given_one_after_the_other(
    questions: QuestionStore, pool: Pool, database: str, query: LiteralString
) -> None:
    await questions.insert(asked())
    async with pool.transaction() as connection:
        await connection.execute("SELECT FROM provider_limits FOR UPDATE")
        async with await AsyncConnection.connect(database, autocommit=True) as other:
            await other.execute("SET lock_timeout = '100ms'")
            with pytest.raises(LockNotAvailable):
                await other.execute(query, [uuid4()] if "%s" in query else None)


async def test_a_dead_process_s_turn_ages(questions: QuestionStore, pool: Pool) -> None:
    for number in range(60):
        await questions.insert(asked(user=f"U{number}"))
    for second in range(55):
        await take(pool, at=1.05 * second)
    taken = await rows(pool, "SELECT count(*) FROM provider_turns")
    assert taken == [(50,)]
    assert (await take(pool, at=60.4))[0] == []
    assert len((await take(pool, at=60.5))[0]) == 1


async def test_the_first_call_uses_the_turn_of_its_job(limiter: PostgresLimiter, pool: Pool) -> None:
    lane = limiter.lanes.lane("Perplexity", "answer") or ""
    await limiter.lanes.add(limiter.pool, lane)
    given = uuid4()
    await rows(
        pool, "INSERT INTO provider_turns VALUES (%s, %s, now() - interval '9 seconds') RETURNING 1", given, lane
    )
    async with holding(pool, HeldTurn(lane=lane, id=given)):
        await limiter.turn("Perplexity", "answer")
    assert await rows(pool, "SELECT id, left_at IS NOT NULL FROM provider_turns") == [(given, True)]


@pytest.mark.parametrize("asks", [True, False])
async def test_a_turn_that_no_call_uses_is_given_back(limiter: PostgresLimiter, pool: Pool, asks: bool) -> None:
    given = uuid4()
    await rows(pool, "INSERT INTO provider_turns VALUES (%s, 'other', now()) RETURNING 1", given)
    async with holding(pool, HeldTurn(lane="other", id=given)):
        if asks:
            await limiter.turn("Perplexity", "answer")
    assert given not in [one for (one,) in await rows(pool, "SELECT id FROM provider_turns")]


@asynccontextmanager
async def waiting_call(limiter: PostgresLimiter, pool: Pool) -> AsyncIterator[None]:
    """Have a call wait an hour behind another one's turn; it is cancelled at the end."""
    lane = limiter.lanes.lane("Perplexity", "answer") or ""
    await rows(pool, "INSERT INTO provider_turns (lane, at) VALUES (%s, now() + interval '1 hour') RETURNING 1", lane)
    waiting = asyncio.create_task(limiter.turn("Perplexity", "answer"))
    await counted(pool, "SELECT count(*) FROM provider_turns", 2)
    yield
    waiting.cancel()
    await asyncio.wait({waiting})


async def test_a_later_call_goes_before_a_new_question(
    limiter: PostgresLimiter, questions: QuestionStore, pool: Pool
) -> None:
    async with waiting_call(limiter, pool):
        await questions.insert(asked())
        ((planned,),) = await rows(pool, "SELECT max(at) FROM provider_turns")
        assert (await take(pool, at=(planned - BEGAN).total_seconds()))[0] == []
        assert (await take(pool, at=(planned - BEGAN).total_seconds() + 1.05))[0] != []


async def test_who_stops_waiting_leaves_no_turn(limiter: PostgresLimiter, pool: Pool) -> None:
    async with waiting_call(limiter, pool):
        assert await rows(pool, "SELECT count(*) FROM provider_turns") == [(2,)]
    assert await rows(pool, "SELECT count(*) FROM provider_turns") == [(1,)]


async def test_after_a_refusal_one_question_probes(questions: QuestionStore, pool: Pool) -> None:
    for number in range(4):
        await questions.insert(asked(user=f"U{number}"))
    (lane,) = (await rows(pool, "SELECT lane FROM provider_limits"))[0]
    _, (first,), _ = await take(pool, at=0)
    await told(pool, "refused", lane, first, at=1, seconds=5)

    assert await take(pool, at=2) == ([], [], pytest.approx(4))
    _, (probe,), _ = await take(pool, at=6)
    assert await take(pool, at=8) == ([], [], pytest.approx(8))
    async with pool.connection() as connection:
        assert await turn(connection, lane, probe or uuid4(), BEGAN + timedelta(seconds=6.2)) == 0
    # A call that left before says nothing new of a stop that is over.
    await told(pool, "refused", lane, first, at=7, seconds=None)
    await told(pool, "replied", lane, first)
    assert (await take(pool, at=8))[0] == []
    await told(pool, "replied", lane, probe)
    assert len((await take(pool, at=8))[0]) == 1


async def test_a_turn_that_is_used_late_waits_for_those_that_left_since(questions: QuestionStore, pool: Pool) -> None:
    """As that of a worker that was suspended, or whose question waited for Slack."""
    for number in range(3):
        await questions.insert(asked(user=f"U{number}"))
    (lane,) = (await rows(pool, "SELECT lane FROM provider_limits"))[0]
    late, second, third = [(await take(pool, at=at))[1][0] or uuid4() for at in (0, 1.1, 2.2)]
    async with pool.connection() as connection:

        async def leaves_after(turn_id: UUID, at: float) -> float:
            return await turn(connection, lane, turn_id, BEGAN + timedelta(seconds=at))

        assert await leaves_after(second, 1.2) == 0
        assert await leaves_after(late, 1.3) == pytest.approx(0.95)
        assert await leaves_after(third, 2.31) == 0
        assert await leaves_after(late, 2.32) == pytest.approx(1.04)
        assert await leaves_after(late, 3.42) == 0


async def test_after_a_refusal_one_call_probes(limiter: PostgresLimiter, pool: Pool) -> None:
    lane, first, probe, other = limiter.lanes.lane("Perplexity", "answer") or "", uuid4(), uuid4(), uuid4()
    await limiter.lanes.add(limiter.pool, lane)
    async with pool.connection() as connection:

        async def leaves_after(turn_id: UUID, at: float) -> float:
            return await turn(connection, lane, turn_id, BEGAN + timedelta(seconds=at))

        assert await leaves_after(first, 0) == 0
        await told(pool, "refused", lane, first, at=1, seconds=5)
        assert await leaves_after(probe, 2) == pytest.approx(4)
        assert await leaves_after(other, 2) == pytest.approx(5.05)
        assert await leaves_after(probe, 6) == 0
        assert await leaves_after(other, 7.1) == pytest.approx(8.9)
        await told(pool, "replied", lane, probe)
        assert await leaves_after(other, 7.2) == 0


async def told(
    pool: Pool, what: str, lane: str, turn: UUID | None, *, at: float = 0, seconds: float | None = None
) -> None:
    if what == "replied":
        await rows(pool, "SELECT provider_replied_v1(%s, %s, NULL, NULL)", lane, turn)
        return
    async with pool.connection() as connection:  # its call left when its turn was
        await connection.execute("UPDATE provider_turns SET left_at = coalesce(left_at, at) WHERE id = %s", [turn])
    moment = BEGAN + timedelta(seconds=at)
    await rows(pool, "SELECT provider_refused_v1(%s, %s, %s::float8, %s)", lane, turn, seconds, moment)


async def test_the_limit_of_a_reply_counts_for_all__and_none_that_is_set(pool: Pool) -> None:
    learning, fixed = limiter_on(pool), limiter_on(pool, limits={("perplexity", "background"): Limits(per_second=7)})
    await learning.turn("Perplexity", "answer")
    await learning.replied("Perplexity", "answer", per_minute=150)
    await fixed.turn("Perplexity", "background")
    await fixed.replied("Perplexity", "background", per_minute=9)

    limits = "SELECT split_part(lane, ':', 1), per_second, per_minute, source FROM provider_limits ORDER BY lane"
    assert await rows(pool, limits) == [
        ("perplexity.answer", 3, 150, "reply"),
        ("perplexity.background", 7, None, "set"),
    ]
    (use,) = await learning.uses()
    assert (use.per_minute, use.source, use.fullest, use.others) == (150, "reply", 1, None)


async def test_the_fullest_minute_of_the_hour_is_found(limiter: PostgresLimiter, pool: Pool) -> None:
    await limiter.turn("Perplexity", "answer")
    async with pool.connection() as connection:
        for seconds, calls in ((4000, 50), (1950, 20), (1890.5, 12), (1889.5, 15), (100, 7)):
            await connection.execute(
                "INSERT INTO provider_turns (lane, at, left_at) SELECT lane, now(), now() - %s * interval '1 second'"
                " FROM provider_limits, generate_series(1, %s)",
                (seconds, calls),
            )
    assert [one.fullest for one in await limiter.uses()] == [32]


@pytest.mark.parametrize(("used", "others"), [(None, None), (1, None), (7, None), (40, 38)])
async def test_calls_that_the_service_counts_and_no_one_here_made_are_others(
    limiter: PostgresLimiter, used: int | None, others: int | None
) -> None:
    for _ in range(2):
        await limiter.turn("Perplexity", "answer")
    await limiter.replied("Perplexity", "answer", per_minute=50, used=used)

    assert [one.others for one in await limiter.uses()] == [others]


async def test_a_limit_that_is_full_for_ten_minutes_is_told_once_until_a_calm_hour(
    limiter: PostgresLimiter, questions: QuestionStore, pool: Pool
) -> None:
    async def minutes_pass(minutes: int, *, calls: int) -> None:
        async with pool.connection() as connection:
            await connection.execute(
                "UPDATE provider_turns SET left_at = left_at - make_interval(mins => %s)", (minutes,)
            )
            await connection.execute(
                "UPDATE provider_limits SET full_at = full_at - make_interval(mins => %s)", (minutes,)
            )
            await connection.execute(
                "INSERT INTO provider_turns (lane, at, left_at)"
                " SELECT lane, left_at, left_at FROM provider_limits, generate_series(1, %s), LATERAL ("
                "SELECT now() - (minute - 0.5) * interval '1 minute' AS left_at FROM generate_series(1, %s) minute) m",
                (calls, minutes),
            )

    await questions.insert(asked())
    await minutes_pass(9, calls=49)
    assert await limiter.newly_full() == []
    await minutes_pass(1, calls=49)
    ((team, use),) = await limiter.newly_full()
    assert (team, use.per_minute, use.fullest) == ("T1", 50, 49)
    assert await limiter.newly_full() == []
    await minutes_pass(30, calls=10)
    await minutes_pass(10, calls=50)
    assert await limiter.newly_full() == []
    await limiter.not_told(use.lane)
    assert len(await limiter.newly_full()) == 1
    await minutes_pass(65, calls=10)
    await minutes_pass(10, calls=50)
    assert len(await limiter.newly_full()) == 1


async def test_a_workspaces_own_key_is_another_lane__and_no_key_none(limiter: PostgresLimiter) -> None:
    shared = limiter.lanes.lane("Perplexity", "answer")
    with using_keys(OwnKeys(owner="T2", names=["Perplexity"], keys={URL: "pplx-two"})):
        own = limiter.lanes.lane("Perplexity", "answer")
    assert shared is not None
    assert own is not None
    assert shared != own
    assert "pplx" not in shared + own
    assert limiter.lanes.lane("DuckDuckGo", "search") is None


async def test_who_would_wait_too_long_goes_to_the_next_service_that_writes_answers(pool: Pool) -> None:
    limiter = limiter_on(pool, stand_ins=["Perplexity"])
    questions = store_of(pool, limiter)
    digest = asked(surface="digest", command="digest")
    for number in range(60):
        await questions.insert(asked(user=f"U{number}"))
    await questions.insert(digest)
    async with pool.transaction() as connection:
        await connection.execute("UPDATE questions SET received_at = now() - interval '10 s'")
        await questions.enqueue_forgotten(connection)

    queues = dict(await rows(pool, "SELECT queue_name, count(*) FROM procrastinate_jobs GROUP BY 1"))
    lane = limiter.lanes.lane("Perplexity", "answer") or ""
    assert queues == {lane: 49, "overflow": 12}
    async with holding(pool, HeldTurn(lane="overflow")):
        with pytest.raises(RateLimitError):
            await limiter.turn("Perplexity", "answer", patient=False)


async def test_who_is_not_patient_hears_at_once_that_the_wait_is_too_long(pool: Pool) -> None:
    limiter = limiter_on(pool, wait_seconds=5, stand_ins=["Perplexity"])
    for kind in ("answer", "search"):
        await limiter.lanes.add(limiter.pool, limiter.lanes.lane("Perplexity", kind) or "")
    await limiter.refused("Perplexity", "answer", retry_after=3600)

    with pytest.raises(RateLimitError) as caught:
        await asyncio.wait_for(limiter.turn("Perplexity", "answer", patient=False), timeout=60)

    assert (caught.value.retry_after or 0) > 3000
    assert await rows(pool, "SELECT count(*) FROM provider_turns") == [(0,)]
    lanes = await rows(pool, "SELECT split_part(lane, ':', 1) FROM provider_limits WHERE stands_in")
    assert lanes == [("perplexity.answer",)], "a search has others to go to"


async def test_without_a_stand_in_everyone_waits(questions: QuestionStore, pool: Pool) -> None:
    for number in range(70):
        await questions.insert(asked(user=f"U{number}"))
    async with pool.transaction() as connection:
        await questions.enqueue_forgotten(connection)
    assert len(await rows(pool, "SELECT DISTINCT queue_name FROM procrastinate_jobs")) == 1


async def test_the_same_question_of_a_person_waits_once(questions: QuestionStore, pool: Pool) -> None:
    first = asked("why?")
    await questions.insert(asked(user="U2"))
    await questions.insert(first)
    async with pool.connection() as connection:
        await connection.execute("UPDATE questions SET received_at = received_at - interval '5 seconds'")

    again = asked("why?")
    assert (await questions.insert(again)).received is Received.TWIN
    place = await questions.twin_place(again)
    assert place is not None
    assert place.ahead == 1
    assert (await questions.insert(asked("why?", user="U3"))).received is Received.NEW
    assert (await questions.insert(asked("what?"))).received is Received.NEW
    await questions.claim(first.id, uuid4(), commands=["ask"])
    assert (await questions.insert(asked("why?"))).received is Received.NEW


async def test_a_place_has_its_time(questions: QuestionStore) -> None:
    inserted = [await questions.insert(asked(user=f"U{number}")) for number in range(3)]
    assert [one.ahead for one in inserted] == [0, 1, 2]
    assert [one.seconds for one in inserted] == pytest.approx([0, 1.05, 2.1])
    last = asked()
    await questions.insert(last)
    place = (await questions.places([last.id]))[last.id]
    assert place.ahead == 3
    assert place.seconds == pytest.approx(3.15)


async def test_calls_of_the_last_minute_count_for_a_place(limiter: PostgresLimiter, pool: Pool) -> None:
    lane = limiter.lanes.lane("Perplexity", "answer") or ""
    await limiter.lanes.add(limiter.pool, lane)
    async with pool.transaction() as connection:
        await connection.execute(
            "INSERT INTO provider_turns (lane, at) SELECT %s, now() - interval '10 s' FROM generate_series(1, 49)",
            [lane],
        )
        found = await connection.execute("SELECT lane_wait_v1(%s, n) AS wait FROM generate_series(1, 2) n", [lane])
        waits = [row["wait"] for row in await found.fetchall()]
    assert waits == pytest.approx([0, 50.5])


async def test_waiting_questions_hold_no_slot_and_few_bytes(questions: QuestionStore, pool: Pool) -> None:
    for number in range(200):
        await questions.insert(asked(user=f"U{number}"))
    assert len((await take(pool, at=0))[0]) == 1
    assert await rows(pool, "SELECT count(*) FROM procrastinate_jobs WHERE status = 'doing'") == [(1,)]
    ((stored,),) = await rows(
        pool, "SELECT pg_total_relation_size('questions') + pg_total_relation_size('procrastinate_jobs')"
    )
    assert stored < 200 * 100_000


async def test_workers_wake_for_the_next_turn(database: str, limiter: PostgresLimiter) -> None:
    """Two processes answer six questions, each at its turn, although neither is told of anything new."""
    async with AsyncExitStack() as stack:
        pools = [await stack.enter_async_context(connection_pool(database, seconds=10)) for _ in range(2)]
        done = asyncio.Event()
        left: list[UUID] = []

        async def answer(question_id: UUID, job: int | None) -> bool:
            await limiter.turn("Perplexity", "answer")
            left.append(question_id)
            async with pools[0].connection() as connection:
                await connection.execute("UPDATE questions SET state = 'answered' WHERE id = %s", [question_id])
            if len(left) == 6:
                done.set()
            return False

        store = store_of(pools[0], limiter)
        for number in range(6):
            await store.insert(asked(user=f"U{number}"))
        works = []
        for one in pools:
            jobs = JobQueue(one)
            await jobs.open()
            jobs.register_handler(answer)
            works.append(asyncio.create_task(jobs.work(drain_seconds=5)))
        await asyncio.wait_for(done.wait(), timeout=120)
        for work in works:
            work.cancel()
        await asyncio.wait(works)

    async with connection_pool(database) as pool:
        moments = [one for (one,) in await rows(pool, "SELECT left_at FROM provider_turns ORDER BY 1")]
    assert len(set(left)) == 6
    assert most_within(moments, 1) == 1
