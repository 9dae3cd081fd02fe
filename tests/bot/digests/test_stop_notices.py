"""A digest that stops, and the notice of that: both or neither, and one however often it is found out."""

from __future__ import annotations

from dataclasses import replace
from typing import cast
from uuid import uuid4

import pytest
from psycopg.errors import CheckViolation

from bot.digests.jobs import COMMAND, FOREIGN_DIRECT_MESSAGE, SURFACE, DigestStopper, StopNotice
from bot.model.digest import State
from bot.model.question import QuestionRow
from bot.slack.users import AUTH_ERRORS
from bot.storage.database import DatabaseRetry
from bot.storage.questions import Pool
from tests.fakes.digest_harness import DigestHarness
from tests.fakes.digests import FlakyPool, read_notices
from tests.fakes.rows import row


def stopper(harness: DigestHarness) -> DigestStopper:
    return DigestStopper(digests=harness.digests, database_retry=DatabaseRetry(seconds=10))


async def begin_run(harness: DigestHarness) -> QuestionRow:
    """Return a run as the worker holds it that posts it."""
    question_id = await harness.begin()
    async with harness.pool.connection() as connection:
        found = await (await connection.execute("SELECT text FROM questions WHERE id = %s", [question_id])).fetchone()
    assert found is not None
    return replace(row(surface=SURFACE), id=question_id, command=COMMAND, text=found["text"])


async def digest_state(harness: DigestHarness) -> State:
    digest = await harness.digests.get(harness.digest.id, now=harness.clock.now)
    assert digest is not None
    return digest.state


async def test_a_run_of_many_parts_has_one_notice(harness: DigestHarness) -> None:
    run = await begin_run(harness)
    for _ in range(3):
        await stopper(harness).on_channel_closed(run, "is_archived")

    assert await digest_state(harness) is State.STOPPED
    assert await read_notices(harness.pool) == [StopNotice(digest_id=harness.digest.id, reason_code="is_archived")]


@pytest.mark.parametrize("late", [False, True])
async def test_a_short_database_outage_loses_no_notice(harness: DigestHarness, late: bool) -> None:
    run, pool = await begin_run(harness), harness.pool
    harness.pool = cast("Pool", FlakyPool(pool, at=1, late=late))
    await stopper(harness).on_channel_closed(run, "is_archived")

    assert await digest_state(harness) is State.STOPPED
    assert len(await read_notices(pool)) == 1


async def test_a_digest_stops_only_if_a_notice_can_be_posted(harness: DigestHarness) -> None:
    run = await begin_run(harness)

    async with harness.pool.connection() as connection:
        await connection.execute("ALTER TABLE procrastinate_jobs ADD CHECK (task_name IS NULL) NOT VALID")

    with pytest.raises(CheckViolation):
        await stopper(harness).on_channel_closed(run, "is_archived")

    assert await digest_state(harness) is State.ACTIVE
    assert await read_notices(harness.pool) == []


@pytest.mark.parametrize("error", sorted(AUTH_ERRORS))
async def test_an_uninstalled_app_stops_no_other_process(harness: DigestHarness, error: str) -> None:
    await stopper(harness).on_channel_closed(await begin_run(harness), error)

    assert (await digest_state(harness), await read_notices(harness.pool)) == (State.ACTIVE, [])


async def test_an_unknown_run_stops_nothing(harness: DigestHarness) -> None:
    notice = replace(row(surface=SURFACE), command="digest_notice", text=f"{harness.digest.id} is_archived")
    await stopper(harness).on_channel_closed(notice, "is_archived")

    assert (await digest_state(harness), await read_notices(harness.pool)) == (State.ACTIVE, [])


def test_a_direct_message_asks_for_no_invitation_of_the_app() -> None:
    notice = StopNotice(digest_id=uuid4(), reason_code="channel_not_found")

    assert "/invite" in notice.reason("C1")
    assert notice.reason("D1") == FOREIGN_DIRECT_MESSAGE
