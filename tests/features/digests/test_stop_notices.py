"""A digest that stops, and the notice of that: both or neither, and one however often it is found out."""

from __future__ import annotations

from dataclasses import replace
from typing import cast
from uuid import uuid4

import pytest
from psycopg.errors import CheckViolation

from bot.delivery.delivery import DIGEST_SURFACE
from bot.features.digests.model import State
from bot.features.digests.service import COMMAND, FOREIGN_DIRECT_MESSAGE, StopNotice
from bot.model.question import QuestionRow
from bot.slack.users import AUTH_ERRORS
from bot.storage.questions import Pool
from tests.fakes.databases import FlakyPool
from tests.fakes.rows import row
from tests.features.digests.examples import read_notices
from tests.features.digests.harness import DigestHarness


async def begin_run(testbed: DigestHarness) -> QuestionRow:
    """Return a run as the worker holds it that posts it."""
    question_id = await testbed.begin()
    async with testbed.pool.connection() as connection:
        found = await (await connection.execute("SELECT text FROM questions WHERE id = %s", [question_id])).fetchone()
    assert found is not None
    return replace(row(surface=DIGEST_SURFACE), id=question_id, command=COMMAND, text=found["text"])


async def digest_state(testbed: DigestHarness) -> State:
    digest = await testbed.digests.get(testbed.digest.id, now=testbed.clock.now)
    assert digest is not None
    return digest.state


async def test_a_run_of_many_parts_has_one_notice(testbed: DigestHarness) -> None:
    run = await begin_run(testbed)
    for _ in range(3):
        await testbed.notices().on_channel_closed(run, "is_archived")

    assert await digest_state(testbed) is State.STOPPED
    assert await read_notices(testbed.pool) == [StopNotice(digest_id=testbed.digest.id, reason_code="is_archived")]


@pytest.mark.parametrize("late", [False, True])
async def test_a_short_database_outage_loses_no_notice(testbed: DigestHarness, late: bool) -> None:
    run, pool = await begin_run(testbed), testbed.pool
    testbed.pool = cast("Pool", FlakyPool(pool, at=1, late=late))
    await testbed.notices().on_channel_closed(run, "is_archived")

    assert await digest_state(testbed) is State.STOPPED
    assert len(await read_notices(pool)) == 1


async def test_a_digest_stops_only_if_a_notice_can_be_posted(testbed: DigestHarness) -> None:
    run = await begin_run(testbed)

    async with testbed.pool.connection() as connection:
        await connection.execute("ALTER TABLE procrastinate_jobs ADD CHECK (task_name IS NULL) NOT VALID")

    with pytest.raises(CheckViolation):
        await testbed.notices().on_channel_closed(run, "is_archived")

    assert await digest_state(testbed) is State.ACTIVE
    assert await read_notices(testbed.pool) == []


@pytest.mark.parametrize("error", sorted(AUTH_ERRORS))
async def test_an_uninstalled_app_stops_no_other_process(testbed: DigestHarness, error: str) -> None:
    await testbed.notices().on_channel_closed(await begin_run(testbed), error)

    assert (await digest_state(testbed), await read_notices(testbed.pool)) == (State.ACTIVE, [])


async def test_only_a_run_stops_its_digest(testbed: DigestHarness) -> None:
    assert testbed.runner().command().on_closed is not None
    assert testbed.notices().command().on_closed is None


def test_a_direct_message_asks_for_no_invitation_of_the_app() -> None:
    notice = StopNotice(digest_id=uuid4(), reason_code="channel_not_found")

    assert "/invite" in notice.reason("C1")
    assert notice.reason("D1") == FOREIGN_DIRECT_MESSAGE
