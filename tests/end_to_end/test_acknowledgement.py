"""Slack gets its acknowledgement within three seconds, however busy or broken everything behind it is."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from time import monotonic

import psycopg
import pytest
from psycopg.sql import SQL

from bot.storage.queries import enqueue
from tests.driver import Driver

pytestmark = pytest.mark.trust(5)

LIMIT_SECONDS = 3.0
TARGET_SECONDS = 0.5
QUEUED = 200


async def acknowledged(harness: Driver, number: int) -> tuple[float, str]:
    """Ask, and return the seconds that it took with the text that was shown."""
    began = monotonic()
    shown = await harness.ask(f"/ask question {number}", trigger=f"ack{number}")
    return monotonic() - began, json.dumps(shown)


async def fill_queue(database: str) -> None:
    """Add questions of other people, each with its job."""
    async with await psycopg.AsyncConnection.connect(database, autocommit=True) as connection:
        await connection.execute(
            "INSERT INTO questions (id, delivery_key, surface, command, text, team_id, channel_id, user_id)"
            " SELECT gen_random_uuid(), 'busy' || n, 'slash', 'ask', 'why', 'T1', 'C1', 'UB' || n"
            " FROM generate_series(1, %s) n",
            [QUEUED],
        )
        await connection.execute(SQL("SELECT {} FROM questions").format(SQL(enqueue("id", priority="0"))))


@asynccontextmanager
async def slow_inserts(database: str, seconds: float) -> AsyncIterator[None]:
    """Have every new question take some time in the database."""
    async with await psycopg.AsyncConnection.connect(database, autocommit=True) as connection:
        body = f"BEGIN PERFORM pg_sleep({seconds}); RETURN NEW; END"
        await connection.execute(f"CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$ {body} $$".encode())
        await connection.execute("CREATE TRIGGER slow BEFORE INSERT ON questions FOR EACH ROW EXECUTE FUNCTION slow()")
        yield
        await connection.execute("DROP TRIGGER slow ON questions")


async def test_with_200_questions_in_the_queue_and_a_provider_that_hangs(harness: Driver) -> None:
    harness.perplexity.hold()
    await fill_queue(harness.database)
    await harness.perplexity.wait_for(1)
    taken = [await acknowledged(harness, number) for number in range(5)]
    mentions = [
        await harness.mention("why", ts=f"1795255200.00010{n}", thread_ts=f"1.{n}", user="U5") for n in range(3)
    ]
    harness.perplexity.release()

    assert min(seconds for seconds, _ in taken) < TARGET_SECONDS
    assert max(seconds for seconds, _ in taken) < LIMIT_SECONDS
    assert all("Searching" in shown for _, shown in taken)
    assert mentions == [200] * 3


async def test_with_a_database_that_takes_two_seconds(harness: Driver) -> None:
    async with slow_inserts(harness.database, 2.0):
        taken = await asyncio.gather(*(acknowledged(harness, number) for number in range(2)))

    assert max(seconds for seconds, _ in taken) < LIMIT_SECONDS
    # Whether it was in time or not, the person is told something true.
    assert all("Searching" in shown or "may not have been saved" in shown for _, shown in taken)


async def test_with_a_database_that_takes_too_long__the_person_is_told(harness: Driver) -> None:
    async with slow_inserts(harness.database, 4.0):
        seconds, shown = await acknowledged(harness, 1)

    assert seconds < LIMIT_SECONDS
    assert "may not have been saved" in shown
