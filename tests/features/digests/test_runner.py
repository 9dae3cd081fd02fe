"""One run of a digest in a worker's hands, on a real Postgres: what it finds, keeps and says."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import cast

import pytest

from bot.errors import Refused
from bot.features.digests.model import DigestRun, Trigger
from bot.features.digests.service import OWNER_CHECK_PAUSES
from bot.features.digests.store import HISTORY_DAYS
from bot.model.question import ADMINS, ChannelSettings, Preferences
from bot.preferences import may_ask
from bot.slack.users import Admins
from perplexity.errors import AllProvidersFailed, Attempt, NothingFound, PerplexityError, TimedOut
from perplexity.news.summary import MAX_STORIES
from tests.fakes.news_answers import BUDGET, PLANT, TEN, VOLCANO
from tests.features.digests.harness import DigestHarness


async def test_only_what_no_run_has_posted_is_new(testbed: DigestHarness) -> None:
    assert await testbed.new_headlines(BUDGET, VOLCANO) == [BUDGET, VOLCANO]
    assert await testbed.new_headlines(VOLCANO, BUDGET, PLANT) == [PLANT]
    assert await testbed.new_headlines(VOLCANO, BUDGET, PLANT) == []


async def test_a_run_that_was_interrupted_finds_the_same_news_new_again(testbed: DigestHarness) -> None:
    question_id = await testbed.begin()
    first = await testbed.report(question_id, BUDGET)
    again = await testbed.report(question_id, BUDGET)

    assert first is not None
    assert again is not None
    assert [story.headline for story in again.stories] == [story.headline for story in first.stories] == [BUDGET]


@pytest.mark.parametrize("state", ["failed", "expired", "stopped", "withdrawn"])
async def test_stories_that_were_not_posted_are_still_new(testbed: DigestHarness, state: str) -> None:
    assert await testbed.new_headlines(BUDGET) == [BUDGET]
    await testbed.close_open_questions(state)

    assert await testbed.new_headlines(BUDGET) == [BUDGET]


async def test_stories_are_known_of_a_run_that_was_stopped_between_its_messages(testbed: DigestHarness) -> None:
    assert await testbed.new_headlines(BUDGET) == [BUDGET]
    async with testbed.pool.connection() as connection:
        await connection.execute("UPDATE questions SET state = 'delivering', outcome = 'answered', part = 1")
    await testbed.close_open_questions("stopped")

    assert await testbed.new_headlines(BUDGET, VOLCANO) == [VOLCANO]


async def test_what_was_posted_is_forgotten_after_a_month(testbed: DigestHarness) -> None:
    assert await testbed.new_headlines(BUDGET) == [BUDGET]
    testbed.clock.now += timedelta(days=HISTORY_DAYS - 1)
    assert await testbed.new_headlines(BUDGET) == []
    testbed.clock.now += timedelta(days=1)
    assert await testbed.new_headlines(BUDGET) == [BUDGET]

    async with testbed.pool.connection() as connection:
        row = await (await connection.execute("SELECT count(*) AS kept FROM digest_seen")).fetchone()
    assert row == {"kept": 1}


async def test_the_post_before_is_what_news_are_counted_from(testbed: DigestHarness) -> None:
    await testbed.new_headlines(BUDGET)
    first_at = testbed.clock.now
    testbed.clock.now += timedelta(days=1)
    await testbed.new_headlines(BUDGET)
    testbed.clock.now += timedelta(days=1)
    report = await testbed.report(await testbed.begin(), VOLCANO)

    assert report is not None
    assert report.since == first_at


@pytest.mark.parametrize(
    ("hours", "back"), [(1, 24), (24, 24), (25, 25), (26, 26), (72, 72), (30 * 24, 30 * 24), (40 * 24, 30 * 24)]
)
async def test_a_run_looks_back_to_the_one_before__a_day_at_least_and_a_month_at_most(
    testbed: DigestHarness, hours: int, back: int
) -> None:
    await testbed.new_headlines(BUDGET)
    assert testbed.searched_since == testbed.clock.now.replace(second=0) - timedelta(days=1)
    testbed.clock.now += timedelta(hours=hours)
    await testbed.new_headlines(VOLCANO)

    assert testbed.searched_since == testbed.clock.now.replace(second=0) - timedelta(hours=back)
    assert testbed.news_provider.questions[-1].filters.after == testbed.searched_since.date() - timedelta(days=1)
    assert "technology" in testbed.news_provider.questions[0].text.casefold()
    assert "databases" in testbed.news_provider.questions[0].text


async def test_what_is_new_is_chosen_among_all_that_is_found_and_then_eight_are_told(
    testbed: DigestHarness,
) -> None:
    found = (*TEN, "Ferry service to the island resumes", "Beekeepers warn of mites")
    assert await testbed.new_headlines(*found) == list(found[:MAX_STORIES])
    assert await testbed.new_headlines(*found) == list(found[MAX_STORIES:])


async def test_the_cost_of_finding_nothing_is_reported(testbed: DigestHarness) -> None:
    found_nothing = await testbed.report(await testbed.begin())
    found = await testbed.report(await testbed.begin(), BUDGET)

    assert [report and report.cost_usd for report in (found_nothing, found)] == [0.01, 0.01]
    assert found_nothing is not None
    assert found_nothing.summary is None


NOTHING = Attempt(provider="P", seconds=1, error_class="NothingFound")
LATE = Attempt(provider="P", seconds=1, error_class="TimedOut")
RESTS = Attempt(provider="Q", seconds=0, error_class="Resting")


@pytest.mark.parametrize("error", [NothingFound("x"), AllProvidersFailed((NOTHING,))])
async def test_no_news_at_all_is_nothing_new(testbed: DigestHarness, error: PerplexityError) -> None:
    testbed.news_provider.error = error
    report = await testbed.report(await testbed.begin())

    assert report is not None
    assert (report.summary, report.stories, report.should_post) == (None, (), False)


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
    testbed: DigestHarness, error: PerplexityError
) -> None:
    await testbed.new_headlines(BUDGET)
    testbed.clock.now += timedelta(days=1)
    testbed.news_provider.error = error
    with pytest.raises(type(error)):
        await testbed.report(await testbed.begin())
    await testbed.close_open_questions("failed")

    testbed.news_provider.error = None
    testbed.clock.now += timedelta(days=1)
    await testbed.new_headlines(BUDGET)
    assert testbed.searched_since == testbed.clock.now.replace(second=0) - timedelta(days=2)


@pytest.mark.parametrize(
    ("why", "minutes", "told"),
    [
        (Trigger.SCHEDULED, 15, Trigger.SCHEDULED),
        (Trigger.SCHEDULED, 16, Trigger.LATE),
        (Trigger.MANUAL, 16, Trigger.MANUAL),
    ],
)
async def test_a_run_that_a_worker_takes_up_late_says_so(
    testbed: DigestHarness, why: Trigger, minutes: int, told: Trigger
) -> None:
    question_id, slot = await testbed.begin(why=why), testbed.clock.now
    testbed.clock.now += timedelta(minutes=minutes)
    report = await testbed.report(question_id, BUDGET, why=why, slot=slot)

    assert report is not None
    assert (report.trigger, report.slot) == (told, slot)


async def test_a_story_keeps_its_day(testbed: DigestHarness) -> None:
    report = await testbed.report(await testbed.begin(), BUDGET)

    assert report is not None
    assert [story.date for story in report.stories] == [date(2026, 11, 21)]


@dataclass
class ForgetfulAdmins:
    """Admins whom Slack names after a while."""

    said: list[bool | None]

    async def is_admin(self, user_id: str) -> bool:
        return await self.check_admin(user_id) is True

    async def may_ask(self, channel: ChannelSettings, user_id: str) -> bool | None:
        return may_ask(channel, user_id, is_admin=False) or await self.check_admin(user_id)

    async def check_admin(self, user_id: str) -> bool | None:
        return self.said.pop(0)


@pytest.mark.parametrize("times", [1, 3, 4])
async def test_slack_is_asked_again_whether_the_owner_is_an_admin(testbed: DigestHarness, times: int) -> None:
    pauses: list[float] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    testbed.news_provider.headlines = (BUDGET,)
    context = testbed.work(await testbed.begin())
    preferences = Preferences(channel=ChannelSettings(askers=ADMINS))
    context = replace(context, row=replace(context.row, preferences=preferences))
    testbed.admins = cast("Admins", ForgetfulAdmins([None] * times + [True]))
    now = testbed.clock.now
    run = DigestRun(digest_id=testbed.digest.id, trigger=Trigger.SCHEDULED, earliest_slot=now, slot=now, title="x")
    runner = replace(testbed.runner(), sleep=sleep)

    if times > len(OWNER_CHECK_PAUSES):
        with pytest.raises(Refused, match="The next digest covers what this one missed"):
            await runner.run(run, context)
    else:
        report = await runner.run(run, context)
        assert [story.headline for story in report.stories] == [BUDGET] if report else False
    assert pauses == list(OWNER_CHECK_PAUSES[:times])
