"""One run of a digest in a worker's hands, on a real Postgres: what it finds, keeps and says."""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta
from uuid import uuid4

import pytest

from bot.blocks.digests import digest_messages
from bot.digests.base import State, Why
from bot.digests.notices import OWNER_LEFT, OWNER_LEFT_CHANNEL, Notice
from bot.digests.report import Report
from bot.people import Presence
from bot.storage.digests import Limits
from bot.storage.seen_stories import SEEN_DAYS
from perplexity.errors import AllProvidersFailed, NothingFound, PerplexityError, TimedOut
from perplexity.news.summary import MOST
from perplexity.types import Attempt
from tests.fakes.digest_office import Office
from tests.fakes.digests import NOBODY, SATURDAY, notices, wish
from tests.fakes.newsroom import BUDGET, PLANT, TEN, VOLCANO


async def test_only_what_no_run_has_posted_is_new(office: Office) -> None:
    assert await office.told(BUDGET, VOLCANO) == [BUDGET, VOLCANO]
    assert await office.told(VOLCANO, BUDGET, PLANT) == [PLANT]
    assert await office.told(VOLCANO, BUDGET, PLANT) == []


async def test_a_run_that_was_interrupted_finds_the_same_news_new_again(office: Office) -> None:
    question_id = await office.begin()
    first = await office.report(question_id, BUDGET)
    again = await office.report(question_id, BUDGET)

    assert first is not None
    assert again is not None
    assert [story.headline for story in again.stories] == [story.headline for story in first.stories] == [BUDGET]


@pytest.mark.parametrize("state", ["failed", "expired"])
async def test_what_reached_nobody_is_still_new(office: Office, state: str) -> None:
    assert await office.told(BUDGET) == [BUDGET]
    await office.settle_all(state)

    assert await office.told(BUDGET) == [BUDGET]


async def test_what_was_posted_is_forgotten_after_a_month(office: Office) -> None:
    assert await office.told(BUDGET) == [BUDGET]
    office.clock.now += timedelta(days=SEEN_DAYS - 1)
    assert await office.told(BUDGET) == []
    office.clock.now += timedelta(days=1)
    assert await office.told(BUDGET) == [BUDGET]

    async with office.pool.connection() as connection:
        row = await (await connection.execute("SELECT count(*) AS kept FROM digest_seen")).fetchone()
    assert row == {"kept": 1}


async def test_the_post_before_is_what_news_are_counted_from(office: Office) -> None:
    await office.told(BUDGET)
    first_at = office.clock.now
    office.clock.now += timedelta(days=1)
    await office.told(BUDGET)
    office.clock.now += timedelta(days=1)
    report = await office.report(await office.begin(), VOLCANO)

    assert report is not None
    assert report.since == first_at


def held(report: Report | None) -> float | None:
    """Return what a run cost of which nothing is posted."""
    assert report is not None
    assert digest_messages(report) == ()
    return report.cost_usd


def looked_since(office: Office) -> datetime:
    """Return since when the last question asks for news."""
    found = re.search(r" since (\S+ \S+) and ", office.newsroom.questions[-1].messages[0].content)
    assert found is not None
    return datetime.strptime(f"{found[1]} +0000", "%Y-%m-%d %H:%M %z")


@pytest.mark.parametrize(
    ("hours", "back"), [(1, 24), (24, 24), (25, 25), (26, 26), (72, 72), (30 * 24, 30 * 24), (40 * 24, 30 * 24)]
)
async def test_a_run_looks_back_to_the_one_before__a_day_at_least_and_a_month_at_most(
    office: Office, hours: int, back: int
) -> None:
    await office.told(BUDGET)
    assert looked_since(office) == office.clock.now.replace(second=0) - timedelta(days=1)
    office.clock.now += timedelta(hours=hours)
    await office.told(VOLCANO)

    assert looked_since(office) == office.clock.now.replace(second=0) - timedelta(hours=back)
    assert office.newsroom.questions[-1].filters.after == looked_since(office).date() - timedelta(days=1)
    assert "technology" in office.newsroom.questions[0].text.casefold()
    assert "databases" in office.newsroom.questions[0].text


async def test_a_run_that_a_pause_holds_back_has_not_looked(office: Office) -> None:
    await office.told(BUDGET)
    office.clock.now += timedelta(days=2)
    question_id, looked = await office.begin(), office.clock.now.replace(second=0) - timedelta(days=2)
    office.newsroom.meanwhile = lambda: office.digests.set_state(office.digest.id, State.PAUSED, next_at=None)
    assert held(await office.report(question_id, VOLCANO)) == 0.01

    office.clock.now += timedelta(hours=20)
    assert await office.told(VOLCANO, why=Why.ASKED) == [VOLCANO]
    assert looked_since(office) == looked


async def test_what_is_new_is_chosen_among_all_that_is_found_and_then_eight_are_told(office: Office) -> None:
    found = (*TEN, "Ferry service to the island resumes", "Beekeepers warn of mites")
    assert await office.told(*found) == list(found[:MOST])
    assert await office.told(*found) == list(found[MOST:])


async def test_what_it_costs_to_find_nothing_is_told(office: Office) -> None:
    found_nothing = await office.report(await office.begin())
    found = await office.report(await office.begin(), BUDGET)

    assert [report and report.cost_usd for report in (found_nothing, found)] == [0.01, 0.01]
    assert found_nothing is not None
    assert found_nothing.summary is None


NOTHING = Attempt(provider="P", seconds=1, error_class="NothingFound")
LATE = Attempt(provider="P", seconds=1, error_class="TimedOut")
RESTS = Attempt(provider="Q", seconds=0, error_class="Resting")


@pytest.mark.parametrize("error", [NothingFound("x"), AllProvidersFailed((NOTHING,))])
async def test_no_news_at_all_is_nothing_new(office: Office, error: PerplexityError) -> None:
    office.newsroom.error = error
    report = await office.report(await office.begin())

    assert report is not None
    assert (report.summary, report.stories, report.speaks) == (None, (), False)


@pytest.mark.parametrize(
    "error",
    [
        TimedOut("x"),
        AllProvidersFailed((NOTHING, LATE)),
        AllProvidersFailed((RESTS, NOTHING)),
        AllProvidersFailed(()),
    ],
)
async def test_a_search_that_fails_is_a_failure_and_the_next_run_looks_back_beyond_it(
    office: Office, error: PerplexityError
) -> None:
    await office.told(BUDGET)
    office.clock.now += timedelta(days=1)
    office.newsroom.error = error
    with pytest.raises(type(error)):
        await office.report(await office.begin())
    await office.settle_all("failed")

    office.newsroom.error = None
    office.clock.now += timedelta(days=1)
    await office.told(BUDGET)
    assert looked_since(office) == office.clock.now.replace(second=0) - timedelta(days=2)


async def test_a_digest_that_is_gone_or_paused_says_nothing_and_asks_nobody__unless_it_is_wanted(
    office: Office,
) -> None:
    await office.digests.set_state(office.digest.id, State.PAUSED, next_at=None)
    assert held(await office.report(await office.begin(), BUDGET)) == 0
    assert office.newsroom.questions == []
    assert await office.told(BUDGET, why=Why.ASKED) == [BUDGET]

    question_id = await office.begin()
    await office.digests.delete(office.digest.id)
    assert await office.report(question_id, BUDGET, why=Why.ASKED) is None
    assert len(office.newsroom.questions) == 1


@pytest.mark.parametrize("why", [Why.DUE, Why.ASKED])
async def test_a_digest_that_is_deleted_while_it_is_made_says_nothing(office: Office, why: Why) -> None:
    question_id = await office.begin(why=why)
    office.newsroom.meanwhile = lambda: office.digests.delete(office.digest.id)

    assert held(await office.report(question_id, BUDGET, why=why)) == 0.01


async def test_a_digest_that_is_paused_while_it_is_made_says_it_when_it_goes_on(office: Office) -> None:
    question_id = await office.begin()
    await office.report(question_id, BUDGET)  # a worker that was interrupted after this
    office.newsroom.meanwhile = lambda: office.digests.set_state(office.digest.id, State.PAUSED, next_at=None)
    assert held(await office.report(question_id, BUDGET)) == 0.01

    assert await office.told(BUDGET, why=Why.ASKED) == [BUDGET]


@pytest.mark.parametrize("why", Why)
async def test_a_digest_whose_owner_s_account_is_closed_makes_room_asks_nobody_and_has_that_said_once(
    office: Office, why: Why
) -> None:
    office.presence = Presence.LEFT
    question_id = await office.begin(why=why)
    assert held(await office.report(question_id, BUDGET, why=why)) == 0
    assert await office.report(question_id, BUDGET, why=why) is None  # a worker that was interrupted after this

    assert office.newsroom.questions == []
    assert await notices(office.pool) == [
        Notice(digest_id=office.digest.id, word=OWNER_LEFT, title="Technology: databases")
    ]
    full = await office.digests.add(
        wish(), id=uuid4(), owner=NOBODY, channel_id="C1", next_at=SATURDAY, limits=Limits(per_user=1, per_channel=1)
    )
    assert full is None


@pytest.mark.parametrize("why", Why)
async def test_a_digest_whose_owner_left_the_channel_stops_asks_nobody_and_has_that_said_once(
    office: Office, why: Why
) -> None:
    office.presence = Presence.LEFT_CHANNEL
    question_id = await office.begin(why=why)
    assert held(await office.report(question_id, BUDGET, why=why)) == 0
    assert held(await office.report(question_id, BUDGET, why=why)) == 0  # a worker that was interrupted after this

    digest = await office.digests.get(office.digest.id, now=office.clock.now)
    assert digest is not None
    assert (digest.state, digest.next_at) == (State.STOPPED, None)
    assert office.newsroom.questions == []
    assert await notices(office.pool) == [Notice(digest_id=digest.id, word=OWNER_LEFT_CHANNEL)]


async def test_a_digest_that_its_owner_has_left_goes_on_where_it_ended_when_they_are_back(office: Office) -> None:
    await office.told(BUDGET)
    office.presence = Presence.LEFT_CHANNEL
    office.clock.now += timedelta(days=3)
    assert held(await office.report(await office.begin(), VOLCANO)) == 0

    office.presence = Presence.HERE
    await office.digests.set_state(office.digest.id, State.ACTIVE, next_at=office.clock.now)
    assert await office.told(BUDGET, VOLCANO) == [VOLCANO]
    assert looked_since(office) == office.clock.now.replace(second=0) - timedelta(days=3)


async def test_an_app_that_is_let_in_no_more_pays_nobody_and_goes_on_where_it_ended(office: Office) -> None:
    await office.told(BUDGET)
    office.presence = Presence.UNREACHABLE
    office.clock.now += timedelta(days=3)
    assert held(await office.report(await office.begin(), VOLCANO)) == 0
    assert len(office.newsroom.questions) == 1

    office.presence = Presence.HERE
    assert await office.told(VOLCANO) == [VOLCANO]
    assert looked_since(office) == office.clock.now.replace(second=0) - timedelta(days=3)


@pytest.mark.parametrize(
    ("why", "minutes", "told"),
    [(Why.DUE, 15, Why.DUE), (Why.DUE, 16, Why.LATE), (Why.ASKED, 16, Why.ASKED)],
)
async def test_a_run_that_a_worker_takes_up_late_says_so(office: Office, why: Why, minutes: int, told: Why) -> None:
    question_id, slot = await office.begin(why=why), office.clock.now
    office.clock.now += timedelta(minutes=minutes)
    report = await office.report(question_id, BUDGET, why=why, slot=slot)

    assert report is not None
    assert (report.why, report.slot) == (told, slot)


async def test_a_story_keeps_its_day(office: Office) -> None:
    report = await office.report(await office.begin(), BUDGET)

    assert report is not None
    assert [story.date for story in report.stories] == [date(2026, 11, 21)]
