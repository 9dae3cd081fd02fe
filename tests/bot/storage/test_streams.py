"""The calls of a workspace's streams, on a real Postgres: two processes share what Slack allows in a minute."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from datetime import timedelta
from uuid import uuid4

import pytest
from psycopg import AsyncConnection

from bot.model.question import NewQuestion, QuestionRow
from bot.storage import streams
from bot.storage.questions import QuestionStore, connection_pool
from bot.storage.streams import CallPermit, StreamLog
from tests.fakes.rows import claim

AGE = """
    UPDATE slack_calls SET
        starts = ARRAY(SELECT at - %(by)s FROM unnest(starts) at),
        appends = ARRAY(SELECT at - %(by)s FROM unnest(appends) at),
        stops = ARRAY(SELECT at - %(by)s FROM unnest(stops) at),
        edits = ARRAY(SELECT at - %(by)s FROM unnest(edits) at),
        no_streams_until = no_streams_until - %(by)s
"""


@dataclass(frozen=True, kw_only=True)
class Workers:
    """Two processes with a question each, and their database."""

    logs: tuple[StreamLog, StreamLog]
    questions: QuestionStore
    database: str

    async def question(self, *, team: str = "T1") -> QuestionRow:
        """Return a question that was claimed, one person's only."""
        number = uuid4()
        new = NewQuestion(
            id=number,
            delivery_key=f"{team}:D1:{number}",
            surface="im",
            command="ask",
            text="why",
            team_id=team,
            channel_id="D1",
            user_id=f"U{number.hex}",
            thread_ts=f"1795255200.{number.int % 10**6:06}",
            message_ts="1795255200.000200",
        )
        await self.questions.insert(new)
        row = await claim(self.questions, number)
        assert row is not None
        return row

    async def wait(self, seconds: float) -> None:
        """Have the recorded times be so much longer ago."""
        async with await AsyncConnection.connect(self.database, autocommit=True) as connection:
            await connection.execute(AGE, {"by": timedelta(seconds=seconds)})

    async def take(self, kind: str, row: QuestionRow, times: int) -> int:
        """Try a call so many times, in both processes by turns; return how many were granted."""
        granted = 0
        for number in range(times):
            log = self.logs[number % 2]
            match kind:
                case "append":
                    permit, _ = await log.append(row, shown=0)
                case "edit":
                    permit, _ = await log.edit(row, shown=0)
                case "status":
                    permit, _ = await log.edit_status(row, shown=0)
                case _:
                    permit, _ = await log.start(row, shown=0)
            granted += permit is CallPermit.GRANTED
        return granted


@pytest.fixture
async def workers(database: str) -> AsyncIterator[Workers]:
    async with connection_pool(database) as one, connection_pool(database) as another:
        yield Workers(logs=(StreamLog(one), StreamLog(another)), questions=QuestionStore(one), database=database)


@pytest.mark.parametrize(
    ("kind", "limit"),
    [
        ("append", streams.APPENDS_PER_MINUTE),
        ("edit", streams.EDITS_PER_MINUTE - 1),
        ("status", streams.STATUS_EDITS_PER_MINUTE),
        ("start", streams.STARTS_PER_MINUTE),
    ],
)
async def test_two_processes_get_no_more_than_slack_allows_and_more_after_a_minute(
    workers: Workers, kind: str, limit: int
) -> None:
    row, other = await workers.question(), await workers.question(team="T2")

    assert await workers.take(kind, row, limit + 6) == limit
    assert await workers.take(kind, other, 1) == 1
    await workers.wait(streams.WINDOW_SECONDS - 5)
    assert await workers.take(kind, row, 2) == 0
    await workers.wait(6 if kind != "start" else streams.RESERVED_SECONDS + 6)
    assert await workers.take(kind, row, limit + 6) == limit


async def test_progress_leaves_edits_to_text(workers: Workers) -> None:
    row = await workers.question()

    assert await workers.take("status", row, streams.EDITS_PER_MINUTE) == streams.STATUS_EDITS_PER_MINUTE
    assert (
        await workers.take("edit", row, streams.EDITS_PER_MINUTE)
        == streams.EDITS_PER_MINUTE - 1 - streams.STATUS_EDITS_PER_MINUTE
    )


async def test_each_answer_keeps_an_edit_for_its_end(workers: Workers) -> None:
    rows = [await workers.question() for _ in range(30)]

    assert await workers.take("status", rows[0], 30) == (streams.EDITS_PER_MINUTE - 30) // 2
    assert await workers.take("edit", rows[0], 30) == (streams.EDITS_PER_MINUTE - 30) // 2
    for row in rows[:10]:
        await workers.logs[0].final_edit(row)
        assert await workers.questions.settle(row, "answered", job=None)
    assert await workers.take("edit", rows[10], 2) == 0
    await workers.wait(streams.WINDOW_SECONDS + 1)
    assert await workers.take("edit", rows[10], 40) == streams.EDITS_PER_MINUTE - 20


async def test_a_start_keeps_the_place_of_its_stop_until_no_stream_lives_so_long(workers: Workers) -> None:
    row, (log, another) = await workers.question(), workers.logs
    await log.start(row, shown=0)
    assert await workers.take("start", row, streams.STARTS_PER_MINUTE - 1) == streams.STARTS_PER_MINUTE - 1

    await workers.wait(streams.WINDOW_SECONDS + 1)
    assert await another.start(row, shown=0) == (CallPermit.USED_UP, None)

    await workers.wait(streams.RESERVED_SECONDS)
    assert await workers.take("start", row, 2) == 2


async def test_a_stop_takes_its_place_and_frees_it_after_a_minute(workers: Workers) -> None:
    row, (log, another) = await workers.question(), workers.logs
    _, reserved = await log.start(row, shown=0)
    await workers.take("start", row, streams.STARTS_PER_MINUTE - 1)
    await log.ended(row, ["1.1"], shown=5, reserved=reserved)

    assert await workers.take("start", row, 1) == 0
    await workers.wait(streams.WINDOW_SECONDS + 1)
    assert await another.start(row, shown=0) != (CallPermit.USED_UP, None)
    assert await workers.take("start", row, 1) == 0


async def test_a_workspace_without_streams_gets_none_for_a_day(workers: Workers) -> None:
    row, other = await workers.question(), await workers.question(team="T2")
    await workers.logs[0].unsupported("T1")

    assert await workers.take("start", row, 2) == 0
    assert await workers.take("start", other, 1) == 1
    assert await workers.take("edit", row, 1) == 1
    await workers.wait(24 * 3600 + 1)
    assert await workers.take("start", row, 1) == 1


async def test_a_question_that_another_worker_took_gets_no_call(workers: Workers) -> None:
    row, log = await workers.question(), workers.logs[0]
    lost = replace(row, claim=row.claim - 1)

    assert (await log.start(lost, shown=0))[0] is CallPermit.LOST
    assert (await log.append(lost, shown=0))[0] is CallPermit.LOST
    assert (await log.edit(lost, shown=0))[0] is CallPermit.LOST
    assert (await log.edit_status(lost, shown=0))[0] is CallPermit.LOST
    assert not await log.started(lost, ["1.1"])
    await workers.questions.stop(row.id, user_id=row.user_id)
    assert (await log.append(row, shown=0))[0] is CallPermit.LOST


async def test_the_more_answers_share_the_calls_the_longer_is_the_pause_of_each(workers: Workers) -> None:
    first, log = await workers.question(), workers.logs[0]
    _, alone = await log.edit(first, shown=0)
    rows = [await workers.question() for _ in range(9)]
    _, shared = await log.edit(first, shown=0)
    for row in (first, *rows):
        await log.start(row, shown=0)
    _, append = await log.append(first, shown=0)

    assert alone <= 1.0
    assert 9 * alone < shared < 15 * alone
    assert append == pytest.approx(10 * streams.WINDOW_SECONDS / streams.APPENDS_PER_MINUTE * 0.51)
