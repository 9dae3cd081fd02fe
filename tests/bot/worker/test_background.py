"""The watcher of stops: the work on a question ends when the question is closed or another worker's."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, cast
from uuid import UUID

import pytest
from psycopg import OperationalError

from bot.worker.runner import StopWatcher
from perplexity.errors import RequestCancelled
from tests.fakes.rows import row

if TYPE_CHECKING:
    from bot.storage.questions import QuestionStore

OURS, OTHER = row(claim=2), row(id=UUID(int=8), claim=1)


class Claims:
    """A store that returns claims by question; with `failures` the first calls fail."""

    def __init__(self, claims: dict[UUID, int], *, failures: int = 0) -> None:
        self.held, self.failures = claims, failures
        self.calls = 0

    async def claims(self, question_ids: object) -> dict[UUID, int]:
        self.calls += 1
        if self.calls <= self.failures:
            raise OperationalError("down")
        return self.held


def watcher(claims: Claims) -> StopWatcher:
    return StopWatcher(questions=cast("QuestionStore", claims), seconds=0.001)


async def forever() -> None:
    await asyncio.Event().wait()


@pytest.mark.parametrize("claims_now", [{OURS.id: 3}, {OURS.id: -1}, {}], ids=["another", "closed", "deleted"])
@pytest.mark.parametrize("failures", [0, 3])
async def test_the_work_is_cancelled_once_the_question_is_no_longer_ours(
    claims_now: dict[UUID, int], failures: int
) -> None:
    claims = Claims(claims_now, failures=failures)

    with pytest.raises(RequestCancelled):
        await watcher(claims).guard(OURS, forever())

    assert claims.calls == failures + 1


async def test_other_work_goes_on_and_its_result_is_returned() -> None:
    claims, done = Claims({OURS.id: 3, OTHER.id: 1}), asyncio.Event()
    watched = watcher(claims)

    async def work() -> str:
        await done.wait()
        return "answer"

    other = asyncio.create_task(watched.guard(OTHER, work()))
    with pytest.raises(RequestCancelled):
        await watched.guard(OURS, forever())
    done.set()

    assert await other == "answer"


async def test_a_shutdown_cancels_the_work_and_is_no_stop() -> None:
    watched = watcher(Claims({OURS.id: 2}))
    began, ended = asyncio.Event(), asyncio.Event()

    async def work() -> None:
        began.set()
        try:
            await forever()
        finally:
            ended.set()

    guarded = asyncio.create_task(watched.guard(OURS, work()))
    await began.wait()
    guarded.cancel()

    with pytest.raises(asyncio.CancelledError):
        await guarded
    assert ended.is_set()


async def test_no_one_is_asked_once_all_work_is_done() -> None:
    claims = Claims({})
    watched = watcher(claims)

    async def work() -> int:
        return 1

    assert await watched.guard(OURS, work()) == 1
    assert [task for task in asyncio.all_tasks() if task is not asyncio.current_task() and not task.cancelling()] == []


async def test_what_the_work_raises_is_raised() -> None:
    async def work() -> None:
        raise ValueError("wrong")

    with pytest.raises(ValueError, match="wrong"):
        await watcher(Claims({})).guard(OURS, work())
