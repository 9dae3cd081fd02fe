"""The questions table, on a real Postgres."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, cast
from uuid import UUID, uuid4

import pytest
from psycopg import AsyncConnection, OperationalError
from psycopg.errors import CheckViolation

from bot.model.membership import Identity
from bot.model.message import OutgoingMessage
from bot.model.question import Insertion, NewQuestion, Outcome, QuestionRow, Received, Settled
from bot.storage.installation import REVOKED, WorkspaceStore
from bot.storage.queries import ANSWERED_IN_THREAD
from bot.storage.questions import FairShare, Pool, QuestionStore, connection_pool
from tests.fakes.rows import claim

MESSAGE = OutgoingMessage(text="Hello", blocks=({"type": "divider"},))
OUTCOME = Outcome(messages=(MESSAGE,), state="answered", provider="P", cost_usd=0.25)


async def enqueued(database: str) -> list[UUID]:
    """Return the questions that have a job, in the order in which they were enqueued."""
    async with await AsyncConnection.connect(database) as connection:
        rows = await connection.execute("SELECT args ->> 'question_id' FROM procrastinate_jobs ORDER BY id")
        return [UUID(question_id) for (question_id,) in await rows.fetchall()]


@pytest.fixture
async def questions(database: str) -> AsyncIterator[QuestionStore]:
    async with connection_pool(database) as pool:
        yield QuestionStore(pool)


def new(key: str = "T1:/ask:1") -> NewQuestion:
    return NewQuestion(
        id=uuid4(),
        delivery_key=key,
        surface="slash",
        command="ask",
        text="why",
        team_id="T1",
        channel_id="C1",
        user_id="U1",
        response_url="https://hooks.slack.com/x",
    )


async def test_the_same_delivery_is_written_once(questions: QuestionStore, database: str) -> None:
    first, second = new(), new()

    assert [(await questions.insert(one)).received for one in (first, second)] == [Received.NEW, Received.DUPLICATE]
    assert await enqueued(database) == [first.id]


async def test_an_insert_that_is_cancelled_while_it_waits_is_cancelled(questions: QuestionStore, database: str) -> None:
    """And is not reported as an absent database, which would be tried again."""
    async with await AsyncConnection.connect(database) as connection:
        await connection.execute("SELECT pg_advisory_xact_lock(hashtextextended('T1:U1', 6))")
        insert = asyncio.create_task(questions.insert(new()))
        async with asyncio.timeout(60):
            while not await waiting_for_a_lock(connection):
                await asyncio.wait([insert], timeout=0.01)
        insert.cancel()
        with pytest.raises(asyncio.CancelledError):
            await insert

    assert (await questions.insert(new())).received is Received.NEW


class BusyPool:
    """Hands out itself as a connection; its pipeline waits for its results, and a cancellation becomes psycopg's error.

    psycopg 3.3 does so if the server reports the cancelled statement before the rest of the pipeline.
    """

    def __init__(self) -> None:
        self.waits = asyncio.Event()

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[BusyPool]:
        yield self

    @asynccontextmanager
    async def pipeline(self) -> AsyncIterator[None]:
        yield
        self.waits.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            raise OperationalError("cannot exit pipeline mode while busy") from None

    async def execute(self, query: str, values: Any, *, prepare: bool) -> None:
        assert prepare


async def test_an_insert_that_the_driver_does_not_end_well_is_cancelled() -> None:
    pool = BusyPool()
    insert = asyncio.create_task(QuestionStore(cast("Pool", pool)).insert(new()))
    await pool.waits.wait()

    insert.cancel()

    with pytest.raises(asyncio.CancelledError):
        await insert


async def waiting_for_a_lock(connection: AsyncConnection) -> int:
    rows = await connection.execute("SELECT count(*) FROM pg_locks WHERE NOT granted")
    (count,) = await rows.fetchone() or (0,)
    return int(count)


async def test_without_its_job_a_question_is_not_written(questions: QuestionStore, database: str) -> None:
    question = new()
    async with await AsyncConnection.connect(database, autocommit=True) as connection:
        await connection.execute("ALTER TABLE procrastinate_jobs ADD CONSTRAINT none CHECK (task_name IS NULL)")

    with pytest.raises(CheckViolation):
        await questions.insert(question)

    assert await questions.get(question.id) is None


async def test_only_claims_after_the_first_count_as_redeliveries(questions: QuestionStore) -> None:
    question = new()
    await questions.insert(question)

    claims = [await claim(questions, question.id) for _ in range(3)]

    assert [(c.state, c.claim, c.redeliveries) for c in claims if c] == [
        ("working", 1, 0),
        ("working", 2, 1),
        ("working", 3, 2),
    ]


async def test_a_superseded_worker_changes_nothing(questions: QuestionStore) -> None:
    question = new()
    await questions.insert(question)
    zombie = await claim(questions, question.id)
    current = await claim(questions, question.id)
    assert zombie is not None
    assert current is not None

    done = [
        await questions.record_run(zombie, "run"),
        await questions.save_messages(zombie, OUTCOME, uses=1),
        await questions.mark_sending(zombie, 0, uses=1),
        await questions.settle(zombie, "answered", job=None) is not None,
    ]

    assert done == [False] * 4
    row = await questions.get(question.id)
    assert row is not None
    assert replace(row, received=0.0) == replace(current, received=0.0)


async def test_messages_survive_and_the_next_claim_delivers(questions: QuestionStore) -> None:
    question = new()
    await questions.insert(question)
    row = await claim(questions, question.id)
    assert row is not None
    await questions.save_messages(row, OUTCOME, uses=1, unconfirmed=1)

    again = await claim(questions, question.id)

    assert again is not None
    assert (again.state, again.messages, again.outcome) == ("delivering", (MESSAGE,), "answered")
    assert (again.part, again.response_uses, again.unconfirmed) == (0, 1, 1)


async def test_a_settled_question_is_not_claimed_and_forgets_its_response_url(questions: QuestionStore) -> None:
    question = new()
    await questions.insert(question)
    row = await claim(questions, question.id)
    assert row is not None

    assert await questions.settle(row, "answered", job=None)
    assert await claim(questions, question.id) is None
    settled = await questions.get(question.id)
    assert settled is not None
    assert (settled.settled, settled.response_url) == (True, None)


async def test_a_run_that_began_while_its_question_was_stopped_is_left_to_the_clear_up(
    questions: QuestionStore,
) -> None:
    question = new()
    await questions.insert(question)
    row = await claim(questions, question.id)
    assert row is not None
    await questions.stop(question.id, user_id=row.user_id)
    stopped = await questions.left_over(question.id)
    assert stopped is not None
    await questions.cleared(stopped)

    ours = await questions.record_run(row, "resp_1")

    left = await questions.left_over(question.id)
    assert left is not None
    assert (ours, left.row.run_id) == (False, "resp_1")


async def test_a_run_is_kept_for_the_next_attempt(questions: QuestionStore) -> None:
    question = new()
    await questions.insert(question)
    row = await claim(questions, question.id)
    assert row is not None
    await questions.record_run(row, "resp_1")

    again = await claim(questions, question.id)

    assert again is not None
    assert again.run_id == "resp_1"


async def test_a_connection_to_a_server_that_vanished_is_given_up_soon(database: str) -> None:
    async with connection_pool(database) as pool, pool.connection() as connection:
        told = connection.info.get_parameters()

    assert (told["tcp_user_timeout"], told["keepalives_idle"]) == ("15000", "10")


async def insert_and_claim(questions: QuestionStore, question: NewQuestion) -> QuestionRow:
    await questions.insert(question)
    row = await claim(questions, question.id)
    assert row is not None
    return row


async def test_a_claim_whose_confirmation_was_lost_is_the_same_claim(questions: QuestionStore) -> None:
    question, name = new(), uuid4()
    await questions.insert(question)

    first, again = [await questions.claim(question.id, name, commands=["ask"]) for _ in range(2)]

    assert first is not None
    assert again is not None
    assert ((first.row.claim, first.row.redeliveries), (again.row.claim, again.row.redeliveries)) == ((1, 0), (1, 0))


async def test_of_claims_at_once_one_takes_the_question(questions: QuestionStore) -> None:
    question = new()
    await questions.insert(question)

    claims = await asyncio.gather(*(claim(questions, question.id) for _ in range(4)))

    attempts = sorted(one.claim for one in claims if one is not None)
    current = await questions.get(question.id)
    assert current is not None
    assert attempts == list(range(1, current.claim + 1))


async def test_a_question_that_only_a_newer_version_knows_is_not_claimed(questions: QuestionStore) -> None:
    question = new()
    await questions.insert(question)

    assert await questions.claim(question.id, uuid4(), commands=["search"]) is None
    left = await questions.get(question.id)
    assert left is not None
    assert (left.state, left.claim) == ("received", 0)


async def test_a_claim_says_whether_the_app_is_installed_and_where_the_asker_is_from(
    questions: QuestionStore, database: str
) -> None:
    asked = [new("1"), new("2")]
    for question in asked:
        await questions.insert(question)
    async with connection_pool(database) as pool:
        workspaces = WorkspaceStore(pool)
        identity = Identity(team_id="T1")
        await workspaces.save(identity, token_hash="x")
        open_ = await questions.claim(asked[0].id, uuid4(), commands=["ask"], installation=identity.id)
        await workspaces.close(identity, state=REVOKED, token_hash="x", event_at=datetime.now(UTC) + timedelta(days=1))
        await workspaces.save_user_team("U1", "T2")
        closed = await questions.claim(asked[1].id, uuid4(), commands=["ask"], installation=identity.id)

    assert open_ is not None
    assert closed is not None
    assert [(one.closed, one.user_team) for one in (open_, closed)] == [(False, ""), (True, "T2")]


@pytest.mark.parametrize(
    ("installation", "taken"),
    [
        (None, []),
        ("T1", ["T1", "E1"]),
        ("T2", ["T2"]),
        ("E2", ["E2", "T3", "T4"]),
    ],
)
async def test_a_claim_takes_only_the_questions_of_its_own_installation(
    questions: QuestionStore, database: str, installation: str | None, taken: list[str]
) -> None:
    teams = ["T1", "E1", "T2", "E2", "T3", "T4"]
    asked = [replace(new(team), team_id=team) for team in teams]
    for question in asked:
        await questions.insert(question)
    async with connection_pool(database) as pool:
        workspaces = WorkspaceStore(pool)
        for number, identity in enumerate(
            (
                Identity(team_id="T1", enterprise_id="E1"),
                Identity(team_id="T2"),
                Identity(team_id="T3", enterprise_id="E2", is_enterprise_install=True),
            )
        ):
            await workspaces.save(identity, token_hash=str(number))

    claims = [await questions.claim(one.id, uuid4(), commands=["ask"], installation=installation) for one in asked]

    assert [one.row.team_id for one in claims if one is not None] == taken
    assert [team for team in teams if await questions.is_own(team, installation=installation)] == taken


async def test_the_end_of_a_question_removes_its_job(questions: QuestionStore, database: str) -> None:
    asked = [new("1"), new("2")]
    for question in asked:
        await questions.insert(question)
    row = await claim(questions, asked[0].id)
    assert row is not None
    async with await AsyncConnection.connect(database) as connection:
        first = await (await connection.execute("SELECT min(id) FROM procrastinate_jobs")).fetchone()

    assert first is not None
    assert await questions.settle(row, "answered", job=first[0])
    assert await enqueued(database) == [asked[1].id]


async def test_a_part_and_an_end_that_are_recorded_twice_count_once(questions: QuestionStore) -> None:
    row = await insert_and_claim(questions, new())

    assert [await questions.mark_sending(row, 0, uses=1, unconfirmed=1) for _ in range(2)] == [True, True]
    kept = await questions.get(row.id)
    assert [await questions.settle(row, "answered", job=None) for _ in range(2)] == [Settled(), Settled()]
    assert kept is not None
    assert (kept.response_uses, kept.unconfirmed) == (1, 1)


async def test_the_age_of_a_question_is_the_database_s(database: str) -> None:
    async with connection_pool(database) as pool:
        questions = QuestionStore(pool, clock=lambda: 1_000_000.0)
        question = new()
        await questions.insert(question)
        async with pool.connection() as connection:
            await connection.execute("UPDATE questions SET received_at = now() - interval '29 minutes'")
        row = await questions.get(question.id)

    assert row is not None
    assert 1_000_000.0 - row.received == pytest.approx(29 * 60, abs=5)


def question_of(user: str, key: str, **changes: Any) -> NewQuestion:
    return replace(new(key), user_id=user, **changes)


async def test_a_person_has_so_many_open_questions_and_no_more(questions: QuestionStore) -> None:
    taken = [(await questions.insert(question_of("U1", f"{n}"))).received for n in range(6)]
    known = (await questions.insert(question_of("U1", "0"))).received
    other = (await questions.insert(question_of("U2", "other"))).received

    again = (await questions.insert(question_of("U1", "5"))).received
    assert taken == [Received.NEW] * 5 + [Received.TOO_MANY_OPEN]
    assert again is Received.DUPLICATE
    assert (known, other) == (Received.DUPLICATE, Received.NEW)
    assert [one.text for one in await questions.open_questions(team_id="T1", user_id="U1")] == ["why"] * 5


async def test_six_at_once_are_no_more_than_five(questions: QuestionStore) -> None:
    taken = await asyncio.gather(*(questions.insert(question_of("U1", f"{n}")) for n in range(6)))

    assert sorted(one.received.name for one in taken) == ["NEW"] * 5 + ["TOO_MANY_OPEN"]


async def test_a_question_asked_again_takes_the_place_of_the_one_before(questions: QuestionStore) -> None:
    asked = [question_of("U1", f"{n}") for n in range(5)]
    for question in asked:
        await questions.insert(question)

    again = await questions.insert(question_of("U1", "again", command="search", again=asked[0].id))
    assert again == Insertion(received=Received.NEW, withdrawn="ask")
    assert (await questions.insert(question_of("U1", "more"))).received is Received.TOO_MANY_OPEN


async def test_a_closed_question_makes_room(questions: QuestionStore) -> None:
    rows = [await insert_and_claim(questions, question_of("U1", f"{n}")) for n in range(5)]
    await questions.settle(rows[0], "answered", job=None)

    assert (await questions.insert(question_of("U1", "more"))).received is Received.NEW


async def test_a_closed_question_is_not_withdrawn_when_it_is_asked_again(questions: QuestionStore) -> None:
    row = await insert_and_claim(questions, question_of("U1", "0"))
    await questions.settle(row, "answered", job=None)

    again = await questions.insert(question_of("U1", "again", again=row.id))
    assert again == Insertion(received=Received.NEW)


def version(edit: str = "", **fields: Any) -> NewQuestion:
    key = f"T1:C1:1.1:edited:{edit}" if edit else "T1:C1:1.1"
    return question_of("U1", key, surface="mention", thread_ts="1.1", **fields)


async def test_an_edit_gets_the_status_message_that_was_saved_just_before(questions: QuestionStore) -> None:
    row = await insert_and_claim(questions, version())
    assert await questions.save_placeholder(row, "5.5")
    edit = version("2.1")

    assert (await questions.insert(edit)).received is Received.NEW
    taken = await questions.get(edit.id)
    assert taken is not None
    assert (taken.message_ts, await questions.save_placeholder(row, "6.6")) == ("5.5", False)


async def test_an_edit_that_meets_the_saving_of_the_answer_asks_nothing(
    questions: QuestionStore, database: str
) -> None:
    row = await insert_and_claim(questions, version())
    async with await AsyncConnection.connect(database) as connection:
        await connection.execute("UPDATE questions SET messages = '[]', state = 'delivering'")
        edit = asyncio.create_task(questions.insert(version("2.1")))
        async with await AsyncConnection.connect(database, autocommit=True) as watching, asyncio.timeout(60):
            while not await waiting_for_a_lock(watching):
                await asyncio.wait([edit], timeout=0.01)
    received = (await edit).received
    current = await questions.get(row.id)

    assert current is not None
    assert (received, current.state) == (Received.DUPLICATE, "delivering")


async def test_the_limit_of_answers_a_minute_counts_all_people_in_a_thread(
    questions: QuestionStore, database: str
) -> None:
    def in_thread(n: int) -> NewQuestion:
        return question_of(f"U{n}", f"{n}", surface="mention", thread_ts="1.1")

    taken = [(await questions.insert(in_thread(n))).received for n in range(8)]
    elsewhere = (await questions.insert(question_of("U9", "9", surface="mention", thread_ts="2.2"))).received
    place = {"team_id": "T1", "channel_id": "C1", "thread_ts": "1.1"}
    told = [await questions.record_full_thread(**place) for _ in range(3)]
    async with await AsyncConnection.connect(database, autocommit=True) as connection:
        await connection.execute("UPDATE questions SET received_at = received_at - interval '1 minute'")
        await connection.execute("UPDATE thread_notices SET at = at - interval '1 minute'")

    assert taken == [Received.NEW] * 6 + [Received.THREAD_FULL] * 2
    assert (elsewhere, told) == (Received.NEW, [True, False, False])
    assert (await questions.insert(in_thread(8))).received is Received.NEW
    assert await questions.record_full_thread(**place)


async def test_people_are_served_in_turns(database: str) -> None:
    async with connection_pool(database) as pool:
        questions = QuestionStore(pool, share=FairShare(open_per_person=0))
        for user, count in (("U1", 5), ("U2", 2), ("U3", 1)):
            for n in range(count):
                await questions.insert(question_of(user, f"{user}{n}"))
        async with pool.connection() as connection:
            turns = await (
                await connection.execute(
                    "SELECT q.delivery_key FROM procrastinate_jobs j"
                    " JOIN questions q ON q.id::text = j.args ->> 'question_id' ORDER BY j.priority DESC, j.id"
                )
            ).fetchall()

    assert [row["delivery_key"] for row in turns] == ["U10", "U20", "U30", "U11", "U21", "U12", "U13", "U14"]


async def test_beyond_twenty_a_person_s_questions_wait_and_each_end_releases_one(database: str) -> None:
    async with connection_pool(database) as pool:
        questions = QuestionStore(pool, share=FairShare(open_per_person=0))
        asked = [question_of("U1", f"{n}") for n in range(25)]
        for question in asked:
            await questions.insert(question)
        queued = await enqueued(database)
        row = await claim(questions, asked[0].id)
        assert row is not None
        await questions.settle(row, "answered", job=None)
        await questions.stop(asked[1].id, user_id="U1")

    assert queued == [question.id for question in asked[:20]]
    assert (await enqueued(database))[20:] == [asked[20].id, asked[21].id]


async def test_what_waits_though_there_is_room_is_released_by_the_sweep(database: str) -> None:
    async with connection_pool(database) as pool:
        questions = QuestionStore(pool, share=FairShare(open_per_person=0, queued_per_person=2))
        asked = [question_of("U1", f"{n}") for n in range(5)]
        for question in asked:
            await questions.insert(question)
        async with pool.connection() as connection:
            await connection.execute("UPDATE questions SET state = 'failed' WHERE NOT waiting")
            await connection.execute("UPDATE questions SET received_at = received_at - interval '1 minute'")
            released = await questions.enqueue_forgotten(connection)

    assert released == 2
    assert set((await enqueued(database))[2:]) == {asked[2].id, asked[3].id}


async def test_whether_a_thread_has_an_answer_is_read_by_an_index(database: str) -> None:
    values = {"team_id": "T1", "channel_id": "C1", "thread_ts": "1.1", "user_id": "U1", "follow_ups": True}
    async with await AsyncConnection.connect(database) as connection:
        await connection.execute("SET enable_seqscan = off")
        await connection.execute("SET enable_bitmapscan = off")
        rows = await (await connection.execute(f"EXPLAIN {ANSWERED_IN_THREAD}".encode(), values)).fetchall()

    assert any("Index Scan using questions_of_thread" in line and "Seq" not in line for (line,) in rows)
