"""Answers of runs in the background that take eleven minutes, by a virtual clock: their progress, and a stop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast
from uuid import UUID

import pytest

from bot.chain import Chain
from bot.commands.ask import ASK
from bot.delivery.delivery import ClaimLost
from bot.model.question import NO_THREAD, QuestionRow
from bot.slack.messages import Chat
from bot.storage.questions import DatabaseRetry
from bot.worker.background import BackgroundTasks, RunCanceller
from bot.worker.runner import CommandRunner, StopWatcher
from perplexity.client import PerplexityClient
from perplexity.models import Timeouts
from perplexity.providers.perplexity import PerplexityProvider
from tests.fakes.answers import RUN, completed, searched
from tests.fakes.commands import NO_ADMINS, NO_FILES, services
from tests.fakes.listeners import returning
from tests.fakes.live_answers import EditedStatus, LiveWorkspace
from tests.fakes.perplexity import KEY, FakePerplexity
from tests.fakes.service import json_reply
from tests.fakes.slack import Post
from tests.fakes.time import run_in_virtual_time

if TYPE_CHECKING:
    from bot.storage.stages import StageStore

TEXT = "Yes, in most buildings.[1] The price of electricity decides the rest.[2]"
SHOWN = (
    "Yes, in most buildings.[[1]](https://a.example/1) "
    "The price of electricity decides the rest.[[2]](https://b.example/2)"
)

ELEVEN_MINUTES = 660.0
LIMITS = Timeouts(deep=900.0)
POLLS = 133
"""How often a run is asked for in that time: after 1, 2, 3 and 4 seconds, then every 5."""

IN_PROGRESS: dict[str, Any] = {"id": RUN, "status": "in_progress"}
STATES = [
    *[IN_PROGRESS | {"output": []}] * 3,
    *[IN_PROGRESS | {"output": [searched("a.example")]}] * (POLLS - 3),
    completed(TEXT),
]


class NoStages:
    """A store of the stages of questions that have none."""

    async def runs(self, question_id: UUID) -> Sequence[str]:
        """Return no runs."""
        return ()


@dataclass(kw_only=True)
class LongRun:
    """A question that a run in the background answers after eleven minutes."""

    workspace: LiveWorkspace
    perplexity: FakePerplexity
    runner: CommandRunner
    question: QuestionRow

    async def work(self) -> None:
        """Do what a worker does with the question."""
        answers = self.workspace.live
        live = answers.answer(self.question, EditedStatus(Chat(self.workspace.client), self.question))
        try:
            async with live:
                outcome = await self.runner.run(self.question, live.progress, live=live)
        except ClaimLost:
            await self.workspace.leave(live)
        else:
            assert outcome.state == "answered"
            assert not await live.finish(outcome.ending)  # nothing was streamed
            (message,) = outcome.messages
            await self.workspace.deliver(live, message)

    async def stop(self) -> None:
        """Do what a click on Stop does."""
        await self.workspace.questions.stop(self.question.id, user_id=self.question.user_id)

    @property
    def thread(self) -> list[Post]:
        """What the app shows."""
        return self.workspace.slack.thread(self.question.channel_id, self.question.thread_ts or "")

    @property
    def updates(self) -> list[str]:
        """The text of each update so far."""
        calls = self.workspace.slack.answered
        return [call.arguments["text"] for call in calls if call.method == "chat.update" and not call.error]


@asynccontextmanager
async def open_run(surface: str) -> AsyncIterator[LongRun]:
    """Ask a question in a workspace of its own."""
    clock = asyncio.get_running_loop().time
    workspace = LiveWorkspace()
    async with (
        FakePerplexity() as perplexity,
        PerplexityProvider(PerplexityClient(KEY, base_url=perplexity.base_url, limits=LIMITS, clock=clock)) as provider,
        BackgroundTasks() as background,
    ):
        questions = workspace.questions.as_store
        canceller = RunCanceller(
            questions=questions, stages=cast("StageStore", NoStages()), providers=[provider], background=background
        )
        runner = CommandRunner(
            questions=questions,
            chain=Chain(services(provider)),
            admins=NO_ADMINS,
            commands={ASK.name: ASK},
            database_retry=DatabaseRetry(seconds=1),
            stops=StopWatcher(questions=questions),
            language=returning("en"),
            thread_history=returning(NO_THREAD),
            files=NO_FILES,
            cancel_runs=canceller.start,
            clock=clock,
        )
        perplexity.script("/v1/agent", json_reply({"id": RUN, "status": "queued", "output": []}))
        perplexity.runs[RUN] = list(STATES)
        workspace.cancel_runs = canceller.cancel
        question = await workspace.ask("--model high do heat pumps pay off?", surface=surface)
        yield LongRun(workspace=workspace, perplexity=perplexity, runner=runner, question=question)


@pytest.mark.parametrize("surface", ["im", "mention"])
def test_a_run_of_eleven_minutes_shows_how_long_it_takes_and_then_its_answer(surface: str) -> None:
    async def answer() -> tuple[float, list[str], list[Post]]:
        async with open_run(surface) as run:
            began = asyncio.get_running_loop().time()
            await run.work()
            assert not run.perplexity.cancelled
            assert len(run.perplexity.requests) == 1 + len(STATES)
            return asyncio.get_running_loop().time() - began, run.updates, run.thread

    seconds, updates, thread = run_in_virtual_time(answer())

    assert ELEVEN_MINUTES <= seconds < ELEVEN_MINUTES + 10
    progress = [text.rpartition(" · ")[2] for text in updates[:-1]]
    assert (progress[0], progress[-1].startswith("10 min")) == ("3 s", True)
    assert len(progress) == len(set(progress)) > 60
    assert updates[-2].startswith("Working · 10 min 58 s\nSearched “q1”\nReading 1 page: ")
    assert [post.markdown for post in thread] == [SHOWN]
    assert not any(word in thread[0].shown_text for word in ("Searching", "Working ·", '"stop"'))


@pytest.mark.parametrize("surface", ["im", "mention"])
def test_a_run_that_is_stopped_in_its_middle_is_cancelled_at_the_service(surface: str) -> None:
    async def stop() -> tuple[float, list[str], list[Post]]:
        async with open_run(surface) as run:
            work = asyncio.create_task(run.work())
            await asyncio.sleep(ELEVEN_MINUTES / 2)
            await run.stop()
            stopped_at = asyncio.get_running_loop().time()
            await work
            return asyncio.get_running_loop().time() - stopped_at, run.perplexity.cancelled, run.thread

    seconds, cancelled, thread = run_in_virtual_time(stop())

    assert seconds < 1.0
    assert cancelled == [RUN]
    assert ["*Stopped" in post.shown_text for post in thread] == [True]
    assert "Start again" in thread[0].shown_text
    assert not any(word in thread[0].shown_text for word in ("Searching", "Working ·", '"stop"'))
