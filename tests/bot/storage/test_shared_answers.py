"""Answers that many share, on a real Postgres: which are kept, who waits for whom, and what ends that."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import uuid4

import pytest

from bot.model.question import NewQuestion, Outcome, QuestionRow
from bot.storage.personal_data import PersonalDataStore
from bot.storage.questions import Pool, QuestionStore, connection_pool
from bot.storage.shared_answers import SharedAnswers
from perplexity.errors import Attempt, TimedOut
from perplexity.steps import SteppedProvider
from perplexity.types import Answer, Message, Question, Usage
from tests.fakes.provider import FakeProvider, answer_by
from tests.fakes.rows import claim, message

ASKED = Question(messages=(Message(role="user", content="why is the sky blue"),))
GOOD = replace(answer_by("One"), id="resp_1", usage=Usage(cost_usd=0.01))
FAILED = Attempt(provider="Zero", seconds=1.0, error_class="TimedOut", summary="did not answer")


class Held(FakeProvider):
    """Answers once it is let go, then as it is told to."""

    def __init__(self, answer: Answer | Exception = GOOD) -> None:
        super().__init__("One")
        self.go, self.reply = asyncio.Event(), answer

    async def answer(self, question: Question) -> Answer:
        self.questions.append(question)
        self.called.set()
        await self.go.wait()
        if isinstance(self.reply, Exception):
            raise self.reply
        return self.reply


@dataclass
class Asker:
    """A question that is being answered, and what answers it."""

    row: QuestionRow
    provider: Held
    sharing: SteppedProvider
    times: list[datetime]
    waits: asyncio.Event
    """Set when it has seen that another question gets the answer."""

    def ask(self, question: Question = ASKED) -> asyncio.Task[Answer]:
        return asyncio.create_task(self.sharing.answer(question))


NewAsker = Callable[..., Awaitable[Asker]]


@pytest.fixture
async def pool(database: str) -> AsyncIterator[Pool]:
    async with connection_pool(database, seconds=30) as pool:
        yield pool


@pytest.fixture
def new_asker(pool: Pool) -> NewAsker:
    async def make(answer: Answer | Exception = GOOD, *, team: str = "T1") -> Asker:
        store, question_id, waits = QuestionStore(pool), uuid4(), asyncio.Event()
        new = NewQuestion(
            id=question_id,
            delivery_key=str(question_id),
            surface="slash",
            command="ask",
            text="why is the sky blue",
            team_id=team,
            channel_id="C1",
            user_id=f"U{question_id.hex}",
        )
        await store.insert(new)
        row = await claim(store, question_id)
        assert row is not None

        async def pause(seconds: float) -> None:
            waits.set()
            await asyncio.sleep(0.01)

        times: list[datetime] = []
        held = Held(answer)
        step = SharedAnswers(pool=pool, row=row, on_shared=times.append, pause=pause)
        sharing = SteppedProvider(provider=held, steps=[step])
        return Asker(row, held, sharing, times, waits)

    return make


async def fail(pool: Pool, asker: Asker) -> None:
    """Save that a question failed, as its worker does before it posts that."""
    outcome = Outcome(messages=(message(1),), state="failed")
    assert await QuestionStore(pool).save_messages(asker.row, outcome, uses=0)


async def test_who_waits_gets_the_answer_free_and_its_time(new_asker: NewAsker) -> None:
    first, second = await new_asker(), await new_asker()
    leading = first.ask()
    await first.provider.called.wait()
    waiting = second.ask()
    await second.waits.wait()
    first.provider.go.set()

    assert await leading == GOOD
    assert await waiting == replace(GOOD, id=None, usage=Usage(cost_usd=0.0))
    assert (len(first.times), len(second.times), second.provider.questions) == (0, 1, [])


async def test_if_the_first_fails_each_who_waits_asks_by_itself_at_once(pool: Pool, new_asker: NewAsker) -> None:
    first = await new_asker(TimedOut("down"))
    others = [await new_asker() for _ in range(3)]
    leading = first.ask()
    await first.provider.called.wait()
    waiting = [one.ask() for one in others]
    await asyncio.gather(*(one.waits.wait() for one in others))
    first.provider.go.set()
    with pytest.raises(TimedOut):
        await leading
    await fail(pool, first)

    # None of them waits for another one.
    await asyncio.wait_for(asyncio.gather(*(one.provider.called.wait() for one in others)), 60)
    for one in others:
        one.provider.go.set()
    assert await asyncio.gather(*waiting) == [GOOD] * 3


async def test_if_the_first_is_stopped_one_asks_for_the_others(pool: Pool, new_asker: NewAsker) -> None:
    first = await new_asker()
    others = [await new_asker() for _ in range(3)]
    leading = first.ask()
    await first.provider.called.wait()
    waiting = [one.ask() for one in others]
    await asyncio.gather(*(one.waits.wait() for one in others))
    assert await QuestionStore(pool).stop(first.row.id, user_id=first.row.user_id)
    leading.cancel()

    called = [asyncio.create_task(one.provider.called.wait()) for one in others]
    await asyncio.wait(called, return_when=asyncio.FIRST_COMPLETED)
    for one in others:
        one.provider.go.set()
    await asyncio.gather(*waiting)
    for task in called:
        task.cancel()
    assert sum(len(one.provider.questions) for one in others) == 1


async def test_if_its_process_dies_the_next_one_asks(pool: Pool, new_asker: NewAsker) -> None:
    first, second = await new_asker(), await new_asker()
    leading = first.ask()
    await first.provider.called.wait()
    waiting = second.ask()
    await second.waits.wait()
    leading.cancel()
    again = await claim(QuestionStore(pool), first.row.id)  # by another process
    assert again is not None
    await second.provider.called.wait()
    second.provider.go.set()

    assert await waiting == GOOD
    resumed = SteppedProvider(first.provider, [SharedAnswers(pool=pool, row=again, on_shared=first.times.append)])
    assert (await resumed.answer(ASKED)).usage.cost_usd == 0.0


async def test_who_asks_twice_under_one_claim_does_not_wait_for_itself(new_asker: NewAsker) -> None:
    first = await new_asker(TimedOut("down"))
    first.provider.go.set()
    for _ in range(2):
        with pytest.raises(TimedOut):
            await asyncio.wait_for(first.ask(), 60)


@pytest.mark.parametrize(
    "answer",
    [
        replace(GOOD, failed=(FAILED,)),
        replace(GOOD, stand_in="I thought quickly instead of longer."),
        replace(GOOD, incomplete="length"),
        replace(GOOD, text=" "),
    ],
    ids=["another service", "less effort", "incomplete", "empty"],
)
async def test_what_another_call_might_do_better_is_not_kept(pool: Pool, new_asker: NewAsker, answer: Answer) -> None:
    first, second = await new_asker(answer), await new_asker()
    for one in (first, second):
        one.provider.go.set()
    assert await first.ask() == answer
    assert await QuestionStore(pool).save_messages(first.row, Outcome(messages=(message(1),), state="answered"), uses=0)

    assert await second.ask() == GOOD


@pytest.mark.parametrize(
    ("question", "same"),
    [
        (ASKED, True),
        (replace(ASKED, reasoning=True), False),
        (replace(ASKED, model="fast"), False),
        (replace(ASKED, filters=replace(ASKED.filters, languages=("de",))), False),
        (replace(ASKED, filters=replace(ASKED.filters, domains=("a.example",))), False),
        (replace(ASKED, messages=(Message(role="system", content="Say “tap”."), *ASKED.messages)), False),
    ],
)
async def test_only_the_same_with_each_setting_is_the_same(new_asker: NewAsker, question: Question, same: bool) -> None:
    first, second = await new_asker(), await new_asker()
    for one in (first, second):
        one.provider.go.set()
    await first.ask()
    await second.ask(question)

    assert bool(second.times) is same


async def test_the_minute_that_a_model_is_told_makes_no_difference(new_asker: NewAsker) -> None:
    first, second = await new_asker(), await new_asker()
    for minute, one in enumerate((first, second)):
        one.provider.go.set()
        told = Message(role="system", content=f"It is 2026-11-24 09:0{minute}, UTC.")
        await one.ask(replace(ASKED, messages=(told, *ASKED.messages)))

    assert second.times


async def test_no_other_workspace_gets_it(new_asker: NewAsker) -> None:
    first, second = await new_asker(), await new_asker(team="T2")
    for one in (first, second):
        one.provider.go.set()
        await one.ask()

    assert second.times == []


async def test_a_run_that_was_paid_for_is_resumed(new_asker: NewAsker) -> None:
    first, second = await new_asker(), await new_asker()
    for one in (first, second):
        one.provider.go.set()
    await first.ask()
    await second.ask(replace(ASKED, run_id="resp_2"))

    assert [question.run_id for question in second.provider.questions] == ["resp_2"]


async def test_who_erases_their_data_leaves_an_answer_that_names_no_one(pool: Pool, new_asker: NewAsker) -> None:
    first, second = await new_asker(), await new_asker()
    for one in (first, second):
        one.provider.go.set()
    await first.ask()
    async with pool.connection() as connection:
        (kept,) = await (await connection.execute("SELECT * FROM shared_answers")).fetchall()
    assert kept["question_id"] is None
    assert not [one for one in (first.row.user_id, str(first.row.id), "resp_1") if one in str(kept)]

    await PersonalDataStore(pool).erase(first.row.user_id, team_id="T1")

    assert await second.ask()
    assert second.times
