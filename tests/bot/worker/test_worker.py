"""One question in a worker's hands, on a real Postgres: what it comes to, whatever breaks."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, cast
from uuid import UUID, uuid4

import pytest
from psycopg import AsyncConnection, OperationalError

from bot.chain import Chain
from bot.delivery.delivery import ClaimLost, Delivery, FirstPost
from bot.delivery.status_message import StatusMessages
from bot.errors import NotOurs
from bot.features import COMMANDS
from bot.model.membership import Identity
from bot.model.message import Audience, OutgoingMessage
from bot.model.question import NO_THREAD, NewQuestion, QuestionRow
from bot.slack.messages import Chat
from bot.slack.streams import Streams
from bot.storage.installation import WorkspaceStore
from bot.storage.questions import DatabaseRetry, QuestionStore, connection_pool
from bot.storage.streams import StreamLog
from bot.streaming.live import LiveAnswers
from bot.web.metrics import Metrics
from bot.worker.runner import CommandRunner, StopWatcher
from bot.worker.worker import MAX_REDELIVERIES, MAX_REDELIVERIES_IN_DELIVERY, QuestionWorker
from perplexity.errors import NothingFound, PerplexityError, RunFailed, TimedOut
from perplexity.fallback import Fallback
from perplexity.types import Answer, Question
from tests.fakes.commands import NO_ADMINS, NO_FILES, NO_PROGRESS, services
from tests.fakes.listeners import returning
from tests.fakes.provider import FakeProvider
from tests.fakes.rows import claim
from tests.rare import one_in


class AdmitEveryone:
    """Answers everyone."""

    installed = None

    async def refused(self, row: QuestionRow, *, user_team: str) -> None:
        return None


@dataclass
class ScriptedDelivery:
    """Remembers what it was to deliver; fails, or says that no way was left, when told to."""

    delivered: list[tuple[str, Audience]] = field(default_factory=list)
    announced: list[str] = field(default_factory=list)
    tidied: int = 0
    error: Exception | None = None
    way_left: bool = True

    def first_post(self, row: QuestionRow, *, audience: Audience) -> None:
        return None

    async def deliver(self, row: QuestionRow, *, audience: Audience, first: FirstPost | None) -> bool:
        if self.error is not None:
            raise self.error
        self.delivered.append((" ".join(message.text for message in row.messages or ()), audience))
        return self.way_left

    async def post_pending(self, row: QuestionRow, message: OutgoingMessage) -> QuestionRow:
        if row.redeliveries == 0:
            self.announced.append(message.text)
        return row

    async def delete_pending(self, row: QuestionRow) -> None:
        self.tidied += 1


class Breaking:
    """Passes on what is called, but for the first call of one step, which fails."""

    def __init__(self, passes_to: object, step: str, error: type[Exception]) -> None:
        self._passes_to, self._step, self._error, self._broken = passes_to, step, error, False

    def __getattr__(self, name: str) -> Any:
        if name != self._step or self._broken:
            return getattr(self._passes_to, name)
        self._broken = True
        return self._fail

    def _fail(self, *_: object, **__: object) -> None:
        raise self._error("a mistake of ours")


RECORDED_AT = datetime(2026, 11, 21, 10, tzinfo=UTC).timestamp()
"""When the services' answers were recorded, in seconds since 1970: news are of the last day or week."""


@dataclass
class WorkerHarness:
    """A worker with its table; everything else is scripted."""

    questions: QuestionStore
    provider: FakeProvider = field(default_factory=lambda: FakeProvider("P"))
    delivery: ScriptedDelivery = field(default_factory=ScriptedDelivery)
    database_retry: DatabaseRetry = field(default_factory=lambda: DatabaseRetry(seconds=1))
    ended: list[UUID] = field(default_factory=list)

    async def receive(self, text: str = "why", *, surface: str = "slash", command: str = "ask") -> UUID:
        question = NewQuestion(
            id=uuid4(),
            delivery_key=str(uuid4()),
            surface=surface,
            command=command,
            text=text,
            team_id="T1",
            channel_id="C1",
            user_id="U1",
            response_url="https://hooks.slack.com/1",
        )
        assert await self.questions.insert(question)
        return question.id

    @property
    def live(self) -> LiveAnswers:
        """What shows no text, since nothing here is in a thread."""
        return LiveAnswers(
            questions=self.questions,
            streams=cast("Streams", None),
            chat=cast("Chat", None),
            calls=cast("StreamLog", None),
            stop=returning(None),
            replace_original=returning(None),
        )

    async def run(self, question: UUID, *, breaks: str = "", error: type[Exception] = RuntimeError) -> str:
        """Work on a question and return the state it is in afterwards; one step of the work may break, once."""
        working = CommandRunner(
            questions=self.questions,
            chain=Chain(services(self.provider)),
            admins=NO_ADMINS,
            commands={command.name: command for command in COMMANDS},
            database_retry=self.database_retry,
            stops=StopWatcher(questions=self.questions),
            language=returning("en"),
            thread_history=returning(NO_THREAD),
            files=NO_FILES,
            cancel_runs=self.ended.append,
            now=lambda: RECORDED_AT,
        )
        answering = QuestionWorker(
            questions=self.questions,
            runner=working,
            delivery=cast("Delivery", self.delivery),
            status_messages=cast("StatusMessages", self.delivery),
            database_retry=self.database_retry,
            metrics=Metrics(),
            admission=AdmitEveryone(),
            progress_of=lambda row, take_edit: NO_PROGRESS,
            take_edit=returning(None),
            live=self.live,
            clear_up=returning(None),
            home_changed=lambda team_id, user_id: None,
        )
        part, _, step = breaks.partition(".")
        if part:
            broken: Any = Breaking(getattr(answering, part), step, error)
            changes: dict[str, Any] = {part: broken if step else getattr(broken, step)}
            answering = replace(answering, **changes)
        await answering.process(question)
        row = await self.questions.get(question)
        assert row is not None
        return row.state


@pytest.fixture
async def harness(database: str) -> AsyncIterator[WorkerHarness]:
    async with connection_pool(database) as pool:
        yield WorkerHarness(questions=QuestionStore(pool))


async def test_an_answer_is_delivered_to_the_asker(harness: WorkerHarness) -> None:
    assert await harness.run(await harness.receive()) == "answered"
    ((text, audience),) = harness.delivery.delivered
    assert ("It is so [1]" in text, audience) == (True, Audience.ASKER)


async def test_a_public_answer_goes_to_the_channel(harness: WorkerHarness) -> None:
    assert await harness.run(await harness.receive("--public why")) == "answered"
    assert harness.delivery.delivered[0][1] is Audience.CHANNEL


@pytest.mark.parametrize("error", [TimedOut("x"), PerplexityError("x"), ValueError("secret words"), KeyError("x")])
async def test_whatever_breaks__the_asker_gets_one_sentence_privately(harness: WorkerHarness, error: Exception) -> None:
    harness.provider = FakeProvider("P", error=error)

    assert await harness.run(await harness.receive("--public why")) == "failed"
    ((text, audience),) = harness.delivery.delivered
    assert ("Sorry, " in text, "secret words" in text, audience) == (True, False, Audience.ASKER)


@pytest.mark.parametrize("kind", [NothingFound, RunFailed])
async def test_what_it_cost_to_come_to_nothing_is_kept(
    harness: WorkerHarness, database: str, kind: type[PerplexityError]
) -> None:
    harness.provider = FakeProvider("P", error=kind("x", cost_usd=0.25))

    assert await harness.run(await harness.receive()) == "failed"
    async with await AsyncConnection.connect(database) as connection:
        assert await (await connection.execute("SELECT cost_usd FROM questions")).fetchall() == [(0.25,)]


async def test_a_settled_question_is_not_worked_on_again(harness: WorkerHarness) -> None:
    question = await harness.receive()
    await harness.run(question)

    assert await harness.run(question) == "answered"
    assert len(harness.provider.questions) == 1


async def test_after_a_crash_in_delivery_no_provider_is_called_again(harness: WorkerHarness) -> None:
    question = await harness.receive()
    harness.delivery.error = OperationalError("away")
    with pytest.raises(OperationalError):
        await harness.run(question)
    harness.delivery.error = None

    assert await harness.run(question) == "answered"
    assert len(harness.provider.questions) == 1


async def test_a_cancelled_question_is_left_to_come_back(harness: WorkerHarness) -> None:
    question = await harness.receive()
    harness.provider = FakeProvider("P", hangs=True)
    working = asyncio.create_task(harness.run(question))
    await harness.provider.called.wait()
    working.cancel()
    with pytest.raises(asyncio.CancelledError):
        await working
    harness.provider = FakeProvider("P")

    assert await harness.run(question) == "answered"


async def test_a_run_that_costs_money_already_is_resumed(harness: WorkerHarness) -> None:
    question = await harness.receive("--model high why")
    row = await claim(harness.questions, question)
    assert row is not None
    await harness.questions.record_run(row, "resp_7")

    await harness.run(question)

    assert [asked.run_id for asked in harness.provider.questions] == ["resp_7"]


async def test_a_run_started_by_a_superseded_worker_is_cancelled(harness: WorkerHarness) -> None:
    question = await harness.receive("--model high why")

    class OvertakenProvider(FakeProvider):
        async def answer(self, asked: Question) -> Answer:
            await claim(harness.questions, question)
            assert asked.on_run is not None
            await asked.on_run("resp_8")
            return await super().answer(asked)

    harness.provider = OvertakenProvider("P")

    assert await harness.run(question) == "working"
    row = await harness.questions.get(question)
    assert row is not None
    assert (row.run_id, harness.delivery.delivered) == (None, [])


async def test_a_failure_after_a_run_began_ends_the_run(harness: WorkerHarness) -> None:
    question = await harness.receive("--model high why")
    row = await claim(harness.questions, question)
    assert row is not None
    await harness.questions.record_run(row, "resp_7")
    harness.provider = FakeProvider("P", error=TimedOut("x"))

    assert await harness.run(question) == "failed"
    assert harness.ended == [question]


async def test_a_failure_of_a_superseded_worker_leaves_the_run_to_the_current_one(harness: WorkerHarness) -> None:
    question = await harness.receive("--model high why")

    class OvertakenProvider(FakeProvider):
        async def answer(self, asked: Question) -> Answer:
            await claim(harness.questions, question)
            raise TimedOut("x")

    harness.provider = OvertakenProvider("P")

    assert await harness.run(question) == "working"
    assert harness.ended == []


@pytest.mark.parametrize("wanted", [True, False])
async def test_no_stand_in_is_paid_for_a_question_that_was_stopped(harness: WorkerHarness, wanted: bool) -> None:
    question = await harness.receive("--model high why")

    class StoppedProvider(FakeProvider):
        async def answer(self, asked: Question) -> Answer:
            if not wanted:
                await harness.questions.stop(question, user_id="U1")
            raise RunFailed("cancelled")

    stand_in = FakeProvider("Two")
    harness.provider = Fallback([StoppedProvider("One"), stand_in])  # type: ignore[assignment]

    assert await harness.run(question) == ("answered" if wanted else "stopped")
    assert len(stand_in.questions) == wanted


class ForgetfulQuestions(QuestionStore):
    """Finds the database away whenever a run's id is to be kept."""

    async def record_run(self, row: QuestionRow, run_id: str, *, sent: str | None = None) -> bool:
        raise OperationalError("away")


async def test_a_run_that_cannot_be_recorded_goes_on(database: str) -> None:
    class RunningProvider(FakeProvider):
        async def answer(self, asked: Question) -> Answer:
            assert asked.on_run is not None
            await asked.on_run("resp_9")
            return await super().answer(asked)

    async with connection_pool(database) as pool:
        harness = WorkerHarness(
            questions=ForgetfulQuestions(pool), provider=RunningProvider("P"), database_retry=DatabaseRetry(seconds=0)
        )
        state = await harness.run(await harness.receive("--model high why"))

    assert (state, len(harness.provider.questions)) == ("answered", 1)


async def return_to_queue(harness: WorkerHarness, question: UUID, times: int) -> None:
    for _ in range(times):
        assert await claim(harness.questions, question) is not None


async def test_a_question_that_is_requeued_too_often_fails_with_a_notice(harness: WorkerHarness) -> None:
    question = await harness.receive()
    await return_to_queue(harness, question, MAX_REDELIVERIES + 1)

    assert await harness.run(question) == "failed"
    assert "interrupted" in harness.delivery.delivered[0][0]
    assert (harness.provider.questions, harness.ended) == ([], [question])


async def test_runs_of_a_failed_question_are_cancelled_at_the_services(harness: WorkerHarness) -> None:
    class Broken(FakeProvider):
        async def answer(self, asked: Question) -> Answer:
            raise RuntimeError("a mistake of ours")

    harness.provider = Broken("P")
    question = await harness.receive()

    assert (await harness.run(question), harness.ended) == ("failed", [question])


async def test_the_fifth_return_is_still_answered(harness: WorkerHarness) -> None:
    question = await harness.receive()
    await return_to_queue(harness, question, MAX_REDELIVERIES)

    assert await harness.run(question) == "answered"


async def test_messages_that_bring_workers_down_are_given_up(harness: WorkerHarness) -> None:
    question = await harness.receive()
    harness.delivery.error = OperationalError("away")
    with pytest.raises(OperationalError):
        await harness.run(question)
    await return_to_queue(harness, question, MAX_REDELIVERIES_IN_DELIVERY)

    assert await harness.run(question) == "expired"


STEPS = [
    "enter",
    "admission.refused",
    "runner.refused",
    "runner.usage_reply",
    "runner.late_reply",
    "runner.placeholder",
    "status_messages.post_pending",
    "progress_of",
    "runner.run",
    "runner.audience",
    "delivery.first_post",
    "questions.save_messages",
    "delivery.deliver",
]
"""What is done between the claim of a question and its end."""


@pytest.mark.parametrize("step", one_in(2, STEPS))
async def test_whatever_step_breaks_the_asker_is_told_and_the_question_ends(harness: WorkerHarness, step: str) -> None:
    question = await harness.receive("--public why", surface="click")

    assert await harness.run(question, breaks=step) == "failed"
    ((text, audience),) = harness.delivery.delivered
    assert ("Sorry, " in text, "mistake" in text, audience) == (True, False, Audience.ASKER)
    assert harness.ended == [question]


async def test_a_step_that_always_fails_as_an_absent_database_does_ends_the_question(harness: WorkerHarness) -> None:
    question = await harness.receive(surface="click")
    for _ in range(MAX_REDELIVERIES + 1):
        with pytest.raises(ConnectionError):
            await harness.run(question, breaks="runner.placeholder", error=ConnectionError)

    assert await harness.run(question, breaks="runner.placeholder", error=ConnectionError) == "failed"
    assert "interrupted" in harness.delivery.delivered[0][0]


async def test_what_breaks_after_the_answer_is_posted_leaves_it(harness: WorkerHarness) -> None:
    question = await harness.receive("--public why", surface="click")

    assert await harness.run(question, breaks="status_messages.delete_pending") == "answered"
    assert len(harness.delivery.delivered) == 1


async def test_no_way_left__expired(harness: WorkerHarness) -> None:
    harness.delivery.way_left = False

    assert await harness.run(await harness.receive()) == "expired"


async def test_superseded__nothing_more_is_posted(harness: WorkerHarness) -> None:
    harness.delivery.error = ClaimLost()

    assert await harness.run(await harness.receive()) == "delivering"


async def test_a_click_is_announced_once_and_its_message_tidied_after_a_public_answer(harness: WorkerHarness) -> None:
    question = await harness.receive("--public why", surface="click")

    assert await harness.run(question) == "answered"
    assert len(harness.delivery.announced) == 1
    assert harness.delivery.tidied == 1


async def test_a_click_that_comes_back_is_not_announced_again(harness: WorkerHarness) -> None:
    question: Any = await harness.receive(surface="click")
    await return_to_queue(harness, question, 1)

    await harness.run(question)

    assert harness.delivery.announced == []


async def test_a_question_of_another_installation_is_left_unclaimed_in_the_queue(
    harness: WorkerHarness, database: str
) -> None:
    question = await harness.receive()
    async with connection_pool(database) as pool:
        await WorkspaceStore(pool).save(Identity(team_id="T0PROD"), token_hash="x")

    with pytest.raises(NotOurs):
        await harness.run(question)

    row = await harness.questions.get(question)
    assert row is not None
    assert (row.state, row.claim, row.redeliveries, harness.delivery.delivered) == ("received", 0, 0, [])


async def test_a_command_of_a_newer_version_is_left_unclaimed_in_the_queue(harness: WorkerHarness) -> None:
    question = await harness.receive(command="later")

    with pytest.raises(NotOurs):
        await harness.run(question)

    row = await harness.questions.get(question)
    assert row is not None
    assert (row.state, row.claim, row.redeliveries, harness.delivery.delivered) == ("received", 0, 0, [])
