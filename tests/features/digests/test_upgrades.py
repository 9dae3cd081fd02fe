"""A digest of before an upgrade goes on."""

from __future__ import annotations

import psycopg
import pytest

from tests.driver import Driver
from tests.end_to_end.test_upgrades import database, rolling
from tests.fakes.news_answers import BUDGET, PLANT, news_answer
from tests.fakes.perplexity import FakePerplexity

__all__ = ["database", "rolling"]


@pytest.fixture
async def due(database: str, perplexity: FakePerplexity) -> None:
    """Have the digest come due before the upgraded app starts, with nothing else to do."""
    async with await psycopg.AsyncConnection.connect(database) as connection:
        await connection.execute("UPDATE digests SET next_at = now() - interval '1 minute'")
        await connection.execute("UPDATE questions SET state = 'stopped' WHERE user_id IN ('U3', 'U4', 'U5')")
    perplexity.script("/v1/agent", news_answer(BUDGET, PLANT))


@pytest.mark.usefixtures("due")
async def test_a_digest_that_comes_due_posts_what_it_has_not_posted_before(harness: Driver) -> None:
    await harness.slack.wait_until(lambda: any(PLANT in post.shown_text for post in harness.slack.posts))

    (post,) = [post for post in harness.slack.posts if PLANT in post.shown_text]
    assert BUDGET not in post.shown_text
    assert post.payload["channel"] == "C1"
    assert "1 new story since" in post.shown_text
