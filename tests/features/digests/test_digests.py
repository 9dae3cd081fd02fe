"""Digests through the whole app: set up, made, posted, changed by their buttons, stopped."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest

from bot.features.digests.service import DigestScheduler
from bot.features.digests.store import DigestStore
from bot.storage.questions import connection_pool
from tests.driver import Driver, execute, rows
from tests.fakes.news_answers import BUDGET, PLANT, VOLCANO, news_answer
from tests.fakes.perplexity import FakePerplexity
from tests.fakes.slack import Post
from tests.fakes.time import WallClock
from tests.features.digests.examples import create_digest, make_spec

WATCH = '/pplx watch world "europe" weekdays 9:00'


def channel_posts(harness: Driver) -> list[Post]:
    return [post for post in harness.slack.posts if post.payload.get("channel") == "C1"]


def directly(harness: Driver) -> list[Post]:
    return [post for post in harness.slack.posts if post.payload.get("channel") == "DU1"]


def reply_text(harness: Driver, trigger: str) -> str:
    (words,) = [post.shown_text for post in harness.slack.posts if post.payload.get("token") == trigger]
    return words


async def create_watch(harness: Driver, text: str = WATCH) -> None:
    """Set up the digest 1."""
    harness.slack.workspace.zones["U1"] = "Europe/Berlin"
    await harness.ask(text, trigger="set-up")
    await harness.wait_until_settled(1)


async def run(harness: Driver, *stories: str, settled: int, trigger: str, **news: Any) -> None:
    """Have the digest 1 made with these stories; `settled` counts the questions that have come to their end by then."""
    harness.perplexity.script("/v1/agent", news_answer(*stories, **news))
    await harness.ask("/pplx watch run 1", trigger=trigger)
    await harness.wait_until_settled(settled)


async def clicks(harness: Driver, verb: str, *, user: str = "U1", token: str = "click") -> None:
    """Click a button of the latest post."""
    (row,) = [block for block in channel_posts(harness)[-1].payload["blocks"] if block["type"] == "actions"]
    (value,) = {element["value"] for element in row["elements"] if element["type"] == "button"}
    person = replace(harness.person, user=user)
    async with await person.click(f"digest_{verb}", value, token=token) as response:
        assert response.status == 200


@pytest.fixture
async def missed(database: str, perplexity: FakePerplexity) -> None:
    """Leave a digest that came due two days ago, and no one was there; the news since then are known."""
    began = datetime.now(UTC) - timedelta(days=2)
    at = (began + timedelta(minutes=30)).strftime("%H:%M")
    async with connection_pool(database) as pool:
        await create_digest(DigestStore(pool), uuid4(), make_spec(at, zone="UTC"), now=began)
    perplexity.script("/v1/agent", news_answer(BUDGET))


@pytest.mark.usefixtures("missed")
async def test_what_was_missed_is_posted_once_and_late_as_soon_as_the_app_is_back(
    harness: Driver, database: str
) -> None:
    await harness.wait_until_settled(1)

    (post,) = channel_posts(harness)
    assert BUDGET in post.shown_text
    assert "This is late: it was due on " in post.shown_text
    assert await rows(database, "SELECT count(*), min(next_at) > now() FROM digests, digest_runs") == [(1, True)]


async def test_the_confirmation_is_private_and_names_the_schedule_the_zone_and_the_next_time(
    harness: Driver,
) -> None:
    await create_watch(harness)

    (post,) = harness.slack.posts
    assert post.payload["response_type"] == "ephemeral"
    assert "Digest 1 (World: europe) is set up." in post.shown_text
    assert "weekdays at 9:00 (Europe/Berlin), only when something is new: next on " in post.shown_text
    assert "`/pplx watch list`" in post.shown_text


async def test_a_digest_posts_what_is_new_and_then_only_what_is_newer(harness: Driver) -> None:
    await create_watch(harness)
    await run(harness, BUDGET, VOLCANO, settled=3, trigger="t2")
    await run(harness, BUDGET, PLANT, VOLCANO, settled=5, trigger="t3", site="copy.example")
    await run(harness, VOLCANO, settled=7, trigger="t4")

    first, second, third = channel_posts(harness)
    assert (first.method, first.payload.get("thread_ts")) == ("chat.postMessage", None)
    assert (BUDGET in first.shown_text, VOLCANO in first.shown_text, "2 new stories" in first.shown_text) == (
        True,
        True,
        True,
    )
    assert (PLANT in second.shown_text, BUDGET in second.shown_text, VOLCANO in second.shown_text) == (
        True,
        False,
        False,
    )
    assert "1 new story since" in second.shown_text
    assert "Nothing new since" in third.shown_text
    assert "$" not in first.shown_text
    assert harness.slack.refusals == []


async def test_a_topic_without_a_category_is_looked_for_in_all_news(harness: Driver) -> None:
    await create_watch(harness, '/pplx watch "wind power" weekdays 9:00')
    await run(harness, BUDGET, settled=3, trigger="t2")

    (post,) = channel_posts(harness)
    assert (BUDGET in post.shown_text, "*wind power* · 1 new story" in post.shown_text) == (True, True)
    assert "most important news about wind power" in str(harness.perplexity.requests[-1])


@pytest.mark.parametrize("stories", [(BUDGET,), ()], ids=["news", "none"])
async def test_what_a_run_costs_is_recorded_and_listed(
    harness: Driver, database: str, stories: tuple[str, ...]
) -> None:
    await create_watch(harness)
    await run(harness, *stories, settled=3, trigger="t2", cost=0.25)
    await harness.ask("/pplx watch list", trigger="t4")
    await harness.wait_until_settled(4)

    assert await rows(database, "SELECT cost_usd, state FROM questions WHERE surface = 'digest'") == [
        (0.25, "answered")
    ]
    assert "weekdays at 9:00 (Europe/Berlin)" in reply_text(harness, "t4")
    assert "posted here · 1 run in 30 days · $0.25" in reply_text(harness, "t4")


async def test_an_unknown_cost_is_not_listed_as_zero(harness: Driver, database: str) -> None:
    await create_watch(harness)
    await run(harness, BUDGET, settled=3, trigger="t2")
    assert await rows(database, "UPDATE questions SET cost_usd = NULL WHERE surface = 'digest' RETURNING 1") == [(1,)]
    await harness.ask("/pplx watch list", trigger="t4")
    await harness.wait_until_settled(4)

    assert "posted here · 1 run in 30 days · cost unknown" in reply_text(harness, "t4")


async def test_a_slot_that_comes_is_worked_on_by_the_app_and_only_news_is_posted(
    harness: Driver, database: str
) -> None:
    await create_watch(harness, "/pplx watch world 9:00")
    harness.perplexity.script("/v1/agent", news_answer(BUDGET), news_answer(BUDGET))
    async with connection_pool(database) as pool:
        # The app's own sweep finds the question, as it finds those of a process that died before it made the job.
        clock = WallClock(datetime.now(UTC) + timedelta(days=1, hours=1))
        ticker = DigestScheduler(digests=DigestStore(pool), now=clock, installed=lambda: "T1")
        assert await ticker.run_once() == 1
        await make_questions_older(pool_of=database)
        await harness.wait_until_settled(2)
        clock.now += timedelta(days=1)
        assert await ticker.run_once() == 1
        await make_questions_older(pool_of=database)
        await harness.wait_until_settled(3)

    (post,) = channel_posts(harness)
    assert BUDGET in post.shown_text


async def make_questions_older(*, pool_of: str) -> None:
    """Make every question older than the sweep leaves alone."""
    await execute(pool_of, "UPDATE questions SET received_at = received_at - interval '10 seconds'")


async def test_the_owner_s_clicks_pause_and_delete__anyone_else_s_do_not(harness: Driver, database: str) -> None:
    await create_watch(harness)
    await run(harness, BUDGET, settled=3, trigger="t2")

    await clicks(harness, "delete", user="U2", token="stranger")
    assert "Only the person who set up this digest" in reply_text(harness, "stranger")
    await clicks(harness, "pause", token="pause")
    assert "is paused" in reply_text(harness, "pause")
    assert await rows(database, "SELECT state, next_at FROM digests") == [("paused", None)]
    await clicks(harness, "delete", token="delete")
    assert "is deleted" in reply_text(harness, "delete")
    assert await rows(database, "SELECT id FROM digests") == []
    await clicks(harness, "run", token="run")
    assert "This digest was deleted." in reply_text(harness, "run")


async def test_a_click_makes_a_digest_now__and_a_second_click_not_one_more(harness: Driver) -> None:
    await create_watch(harness)
    await run(harness, BUDGET, settled=3, trigger="t2")
    harness.perplexity.hold()
    harness.perplexity.script("/v1/agent", news_answer(PLANT))
    await clicks(harness, "run", token="one")
    await clicks(harness, "run", token="two")
    harness.perplexity.release()
    await harness.wait_until_settled(4)

    assert "is running now" in reply_text(harness, "one")
    assert "is already running" in reply_text(harness, "two")
    assert [PLANT in post.shown_text for post in channel_posts(harness)] == [False, True]


async def test_a_failure_is_shown_to_the_owner_only__and_the_next_run_posts_the_stories(
    harness: Driver,
) -> None:
    await create_watch(harness)
    harness.perplexity.fail("/v1/agent", status=401, body={"error": {"message": "no", "type": "invalid_api_key"}})
    await harness.ask("/pplx watch run 1", trigger="t2")
    await harness.wait_until_settled(3)
    (post,) = directly(harness)
    assert "The digest “World: europe” failed this time." in post.shown_text
    assert "digest_run" in post.shown_text
    assert channel_posts(harness) == []

    await run(harness, BUDGET, settled=5, trigger="t3")
    assert BUDGET in channel_posts(harness)[0].shown_text


async def test_a_digest_that_is_due_while_spending_is_paused_is_told_to_its_owner_and_made_by_the_next(
    harness: Driver, database: str
) -> None:
    await create_watch(harness, "/pplx watch world 9:00")
    async with connection_pool(database) as pool:
        clock = WallClock(datetime.now(UTC) + timedelta(days=1, hours=1))
        ticker = DigestScheduler(digests=DigestStore(pool), now=clock, installed=lambda: "T1")

        async def come_due(settled: int) -> None:
            assert await ticker.run_once() == 1
            await make_questions_older(pool_of=database)
            await harness.wait_until_settled(settled)
            clock.now += timedelta(days=1)

        await rows(database, "INSERT INTO spending_pauses (team_id, user_id) VALUES ('T1', 'U0') RETURNING 1")
        await come_due(2)
        (post,) = directly(harness)
        assert "failed this time" in post.shown_text
        assert "An admin has paused all paid searches" in post.shown_text
        assert "digest_run" in post.shown_text
        assert harness.perplexity.requests == []

        await rows(database, "DELETE FROM spending_pauses RETURNING 1")
        harness.perplexity.script("/v1/agent", news_answer(BUDGET), news_answer(BUDGET))
        await come_due(3)
        await come_due(4)

    # The first one did not look for news, so the second asks for all since the one before it.
    assert await rows(database, "SELECT looked FROM digest_runs ORDER BY slot") == [(False,), (True,), (True,)]
    (made,) = channel_posts(harness)
    assert BUDGET in made.shown_text
    assert len(directly(harness)) == 1
