"""The questions table, on a real Postgres."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from uuid import UUID, uuid4

import pytest
from psycopg import AsyncConnection
from psycopg.rows import DictRow

from bot.blocks.base import OutgoingMessage
from bot.storage.questions import NewQuestion, Outcome, Questions, connection_pool, reference

MESSAGE = OutgoingMessage(text="Hello", blocks=({"type": "divider"},))
OUTCOME = Outcome(messages=(MESSAGE,), state="answered", provider="P", cost_usd=0.25)


class Jobs:
    """Remembers which questions a job was enqueued for; fails when told to."""

    def __init__(self) -> None:
        self.deferred: list[UUID] = []
        self.error: Exception | None = None

    async def defer(self, connection: AsyncConnection[DictRow], question_id: UUID) -> None:
        if self.error is not None:
            raise self.error
        self.deferred.append(question_id)


@pytest.fixture
def jobs() -> Jobs:
    return Jobs()


@pytest.fixture
async def questions(database: str, jobs: Jobs) -> AsyncIterator[Questions]:
    async with connection_pool(database) as pool:
        yield Questions(pool, jobs.defer)


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


async def test_the_same_delivery_is_written_once(questions: Questions, jobs: Jobs) -> None:
    first, second = new(), new()

    assert [await questions.receive(first), await questions.receive(second)] == [True, False]
    assert jobs.deferred == [first.id]


async def test_without_its_job_a_question_is_not_written(questions: Questions, jobs: Jobs) -> None:
    question = new()
    jobs.error = RuntimeError("no job")

    with pytest.raises(RuntimeError):
        await questions.receive(question)

    assert await questions.get(question.id) is None


async def test_the_first_claim_is_no_return_and_the_next_is_one(questions: Questions) -> None:
    question = new()
    await questions.receive(question)

    claims = [await questions.claim(question.id) for _ in range(3)]

    assert [(c.state, c.attempt, c.returns) for c in claims if c] == [
        ("working", 1, 0),
        ("working", 2, 1),
        ("working", 3, 2),
    ]


async def test_a_zombie_changes_nothing(questions: Questions) -> None:
    question = new()
    await questions.receive(question)
    zombie = await questions.claim(question.id)
    current = await questions.claim(question.id)
    assert zombie is not None
    assert current is not None

    done = [
        await questions.record_run(zombie, "run"),
        await questions.keep_messages(zombie, OUTCOME),
        await questions.begin_part(zombie, 0, uses=1),
        await questions.settle(zombie, "answered"),
    ]

    assert done == [False] * 4
    row = await questions.get(question.id)
    assert row == replace(current)


async def test_messages_survive_and_the_next_claim_delivers(questions: Questions) -> None:
    question = new()
    await questions.receive(question)
    row = await questions.claim(question.id)
    assert row is not None
    await questions.keep_messages(row, OUTCOME)
    await questions.begin_part(row, 0, uses=1)

    again = await questions.claim(question.id)

    assert again is not None
    assert (again.state, again.messages, again.outcome, again.response_uses) == (
        "delivering",
        (MESSAGE,),
        "answered",
        1,
    )


async def test_a_settled_question_is_not_claimed_and_forgets_its_response_url(questions: Questions) -> None:
    question = new()
    await questions.receive(question)
    row = await questions.claim(question.id)
    assert row is not None

    assert await questions.settle(row, "answered")
    assert await questions.claim(question.id) is None
    settled = await questions.get(question.id)
    assert settled is not None
    assert (settled.settled, settled.response_url) == (True, None)


async def test_a_run_is_kept_for_the_next_attempt(questions: Questions) -> None:
    question = new()
    await questions.receive(question)
    row = await questions.claim(question.id)
    assert row is not None
    await questions.record_run(row, "resp_1")

    again = await questions.claim(question.id)

    assert again is not None
    assert again.run_id == "resp_1"


async def test_a_reference_is_short_and_readable() -> None:
    assert reference(UUID("a7f319c2-0000-4000-8000-000000000000")) == "a7f3-19c2"


async def test_a_connection_to_a_server_that_vanished_is_given_up_soon(database: str) -> None:
    async with connection_pool(database) as pool, pool.connection() as connection:
        told = connection.info.get_parameters()

    assert (told["tcp_user_timeout"], told["keepalives_idle"]) == ("15000", "10")
