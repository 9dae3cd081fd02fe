"""The stages of a question on a real Postgres: kept for who holds it, and for no one else."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from uuid import uuid4

import pytest

from bot.model.question import NewQuestion, QuestionRow
from bot.storage.questions import DatabaseRetry, QuestionStore, connection_pool
from bot.storage.stages import QuestionStages, StageStore
from perplexity.deepdive.types import BackgroundRun
from perplexity.errors import RequestCancelled
from tests.fakes.rows import claim

RUN = BackgroundRun(id="resp_1", age=100.0)


@dataclass(frozen=True)
class ClaimedQuestion:
    """A question that a worker claimed."""

    questions: QuestionStore
    stages: StageStore
    row: QuestionRow

    @property
    def store(self) -> QuestionStages:
        return QuestionStages(stages=self.stages, row=self.row, database_retry=DatabaseRetry(seconds=1))


@pytest.fixture
async def claimed(database: str) -> AsyncIterator[ClaimedQuestion]:
    async with connection_pool(database) as pool:
        questions = QuestionStore(pool)
        question = NewQuestion(
            id=uuid4(),
            delivery_key=str(uuid4()),
            surface="slash",
            command="ask",
            text="heat pumps",
            team_id="T1",
            channel_id="C1",
            user_id="U1",
        )
        await questions.insert(question)
        row = await claim(questions, question.id)
        assert row is not None
        yield ClaimedQuestion(questions, StageStore(pool), row)


async def test_a_saved_result_can_be_read(claimed: ClaimedQuestion) -> None:
    assert (await claimed.store.get("pulse"), await claimed.store.get_run("pulse")) == (None, None)
    await claimed.store.put_run("pulse", RUN)
    assert await claimed.store.get("pulse") is None
    await claimed.store.put("pulse", {"text": "ü"}, seconds=1.5, cost_usd=None)

    run = await claimed.store.get_run("pulse")
    assert run is not None
    assert await claimed.store.get("pulse") == {"text": "ü"}
    assert run.id == "resp_1"
    assert run.age == pytest.approx(100, abs=5)


async def test_a_run_is_under_way_until_its_stage_is_finished(claimed: ClaimedQuestion) -> None:
    await claimed.store.put_run("situation", RUN)
    before = await claimed.stages.runs(claimed.row.id)
    await claimed.store.put("situation", {"text": "x"}, seconds=1.0, cost_usd=0.5)

    assert (before, await claimed.stages.runs(claimed.row.id)) == (["resp_1"], [])


async def test_a_worker_that_lost_the_question_keeps_nothing(claimed: ClaimedQuestion) -> None:
    await claim(claimed.questions, claimed.row.id)

    with pytest.raises(RequestCancelled):
        await claimed.store.put("pulse", {"text": "x"}, seconds=1.0, cost_usd=None)
    with pytest.raises(RequestCancelled):
        await claimed.store.put_run("pulse", RUN)
    assert await claimed.store.get("pulse") is None


async def test_a_run_that_began_while_its_question_was_stopped_is_left_to_the_clear_up(
    claimed: ClaimedQuestion,
) -> None:
    await claimed.questions.stop(claimed.row.id, user_id="U1")
    stopped = await claimed.questions.left_over(claimed.row.id)
    assert stopped is not None
    await claimed.questions.cleared(stopped)

    with pytest.raises(RequestCancelled):
        await claimed.store.put_run("situation", RUN)

    assert await claimed.questions.left_over(claimed.row.id) is not None
    assert await claimed.stages.runs(claimed.row.id) == ["resp_1"]


@pytest.mark.parametrize(("user", "stops"), [("U1", True), ("U2", False)])
async def test_only_its_asker_can_stop_a_question(claimed: ClaimedQuestion, user: str, stops: bool) -> None:
    stopped = await claimed.questions.stop(claimed.row.id, user_id=user)

    row = await claimed.questions.get(claimed.row.id)
    assert row is not None
    assert (stopped, row.state) == (stops, "stopped" if stops else "working")
    assert await claimed.questions.stop(claimed.row.id, user_id="U1") is not stops


async def test_a_stopped_question_is_not_worked_on_again(claimed: ClaimedQuestion) -> None:
    await claimed.questions.stop(claimed.row.id, user_id="U1")

    assert await claim(claimed.questions, claimed.row.id) is None
    with pytest.raises(RequestCancelled):
        await claimed.store.put("pulse", {"text": "x"}, seconds=1.0, cost_usd=None)
