"""What admins see of the limit of a service: in the status, in Home, in doctor, and in one message when it is full."""

from __future__ import annotations

from typing import LiteralString

import psycopg
import pytest

from tests.driver import Driver
from tests.end_to_end.test_status import status
from tests.fakes.perplexity import RateWindow

ADMIN = "U1"

FULL: LiteralString = """
    INSERT INTO provider_turns (lane, at, left_at)
    SELECT lane, left_at, left_at FROM provider_limits, generate_series(1, 50), LATERAL (
        SELECT now() - minute * interval '60 seconds' + interval '20 seconds' AS left_at
        FROM generate_series(1, 12) AS minute) AS minutes
"""
"""Let the limit have been full in each of the last minutes."""


pytestmark = pytest.mark.settings(provider_limits="", admin_user_ids=ADMIN)


async def test_the_status_says_how_full_the_limit_is_and_what_brings_more(harness: Driver) -> None:
    await harness.ask("/ask why", trigger="q1")
    await harness.wait_until_settled(1)

    shown = await status(harness, trigger="s1")

    (line,) = [one["text"]["text"] for one in shown["blocks"] if "a minute" in str(one)]
    assert line == (
        "Perplexity answers: 50 a minute (what a new key has, until a reply says more). "
        "Busiest minute of the last hour: 2 % full. Enough for about 1,000 people. "
        "Once you have spent $50 there: 150 a minute, for 3,000."
    )


async def test_a_reply_names_the_limit(harness: Driver) -> None:
    harness.perplexity.rate = RateWindow(per_second=10, per_minute=2_000)
    await harness.ask("/ask why", trigger="q1")
    await harness.wait_until_settled(1)

    shown = await status(harness, trigger="s1")

    (line,) = [one["text"]["text"] for one in shown["blocks"] if "a minute" in str(one)]
    assert line == (
        "Perplexity answers: 2,000 a minute (as it says). Busiest minute of the last hour: 0 % full. "
        "Enough for about 40,000 people."
    )


async def test_an_admin_gets_one_message_when_it_was_full_for_ten_minutes(harness: Driver) -> None:
    await harness.ask("/ask why", trigger="q1")
    await harness.wait_until_settled(1)
    with psycopg.connect(harness.database) as connection:
        connection.execute(FULL)

    told = await harness.slack.wait_for_text("For ten minutes people have waited")
    with psycopg.connect(harness.database) as connection:
        connection.execute("DELETE FROM provider_turns")
    await harness.ask("/ask how", trigger="q2")
    await harness.wait_until_settled(2)

    assert told.payload["channel"] == f"D{ADMIN}"
    assert "Busiest minute of the last hour: 100 % full." in told.shown_text
    assert sum("For ten minutes" in post.shown_text for post in harness.slack.posts) == 1
