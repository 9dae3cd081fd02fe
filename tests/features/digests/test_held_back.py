"""Runs of which nothing is posted: the digest is paused or deleted, or its owner or the app is not there any more."""

from __future__ import annotations

from datetime import timedelta
from uuid import uuid4

import pytest

from bot.features.digests.model import DigestLimits, DigestReport, State, Trigger
from bot.features.digests.rendering import digest_messages
from bot.features.digests.service import OWNER_LEFT, OWNER_LEFT_CHANNEL, OWNER_NOT_FOUND, StopNotice
from bot.slack.users import Membership
from tests.fakes.news_answers import BUDGET, VOLCANO
from tests.fakes.time import SATURDAY
from tests.features.digests.examples import OTHER_OWNER, make_spec, read_notices
from tests.features.digests.harness import DigestHarness


def suppressed_cost(report: DigestReport | None) -> float | None:
    """Return what a run cost of which nothing is posted."""
    assert report is not None
    assert digest_messages(report) == ()
    return report.cost_usd


async def test_a_run_that_a_pause_holds_back_has_not_looked(testbed: DigestHarness) -> None:
    await testbed.new_headlines(BUDGET)
    testbed.clock.now += timedelta(days=2)
    question_id, looked = await testbed.begin(), testbed.clock.now.replace(second=0) - timedelta(days=2)
    testbed.news_provider.meanwhile = lambda: testbed.digests.set_state(testbed.digest.id, State.PAUSED, next_at=None)
    assert suppressed_cost(await testbed.report(question_id, VOLCANO)) == 0.01

    testbed.clock.now += timedelta(hours=20)
    assert await testbed.new_headlines(VOLCANO, why=Trigger.MANUAL) == [VOLCANO]
    assert testbed.searched_since == looked


async def test_a_deleted_or_paused_digest_posts_nothing_and_calls_no_provider__unless_run_manually(
    testbed: DigestHarness,
) -> None:
    await testbed.digests.set_state(testbed.digest.id, State.PAUSED, next_at=None)
    assert suppressed_cost(await testbed.report(await testbed.begin(), BUDGET)) == 0
    assert testbed.news_provider.questions == []
    assert await testbed.new_headlines(BUDGET, why=Trigger.MANUAL) == [BUDGET]

    question_id = await testbed.begin()
    await testbed.digests.delete(testbed.digest.id)
    assert await testbed.report(question_id, BUDGET, why=Trigger.MANUAL) is None
    assert len(testbed.news_provider.questions) == 1


@pytest.mark.parametrize("why", [Trigger.SCHEDULED, Trigger.MANUAL])
async def test_a_digest_that_is_deleted_while_it_is_made_says_nothing(testbed: DigestHarness, why: Trigger) -> None:
    question_id = await testbed.begin(why=why)
    testbed.news_provider.meanwhile = lambda: testbed.digests.delete(testbed.digest.id)

    assert suppressed_cost(await testbed.report(question_id, BUDGET, why=why)) == 0.01


async def test_a_digest_that_is_paused_while_it_is_made_says_it_when_it_goes_on(testbed: DigestHarness) -> None:
    question_id = await testbed.begin()
    await testbed.report(question_id, BUDGET)  # a worker that was interrupted after this
    testbed.news_provider.meanwhile = lambda: testbed.digests.set_state(testbed.digest.id, State.PAUSED, next_at=None)
    assert suppressed_cost(await testbed.report(question_id, BUDGET)) == 0.01

    assert await testbed.new_headlines(BUDGET, why=Trigger.MANUAL) == [BUDGET]


@pytest.mark.parametrize("why", Trigger)
async def test_a_digest_of_a_closed_account_is_deleted_without_a_call_and_with_one_notice(
    testbed: DigestHarness, why: Trigger
) -> None:
    testbed.presence = Membership.DEACTIVATED
    question_id = await testbed.begin(why=why)
    assert suppressed_cost(await testbed.report(question_id, BUDGET, why=why)) == 0
    assert await testbed.report(question_id, BUDGET, why=why) is None  # a worker that was interrupted after this

    assert testbed.news_provider.questions == []
    assert await read_notices(testbed.pool) == [
        StopNotice(digest_id=testbed.digest.id, reason_code=OWNER_LEFT, title="Technology: databases")
    ]
    full = await testbed.digests.create(
        make_spec(),
        id=uuid4(),
        owner=OTHER_OWNER,
        channel_id="C1",
        next_at=SATURDAY,
        limits=DigestLimits(per_user=1, per_channel=1),
    )
    assert full is None


@pytest.mark.parametrize(
    ("presence", "reason"),
    [(Membership.NOT_IN_CHANNEL, OWNER_LEFT_CHANNEL), (Membership.NOT_FOUND, OWNER_NOT_FOUND)],
)
@pytest.mark.parametrize("why", Trigger)
async def test_a_digest_whose_owner_is_not_there_stops_without_a_call_and_with_one_notice(
    testbed: DigestHarness, why: Trigger, presence: Membership, reason: str
) -> None:
    testbed.presence = presence
    question_id = await testbed.begin(why=why)
    assert suppressed_cost(await testbed.report(question_id, BUDGET, why=why)) == 0
    assert (
        suppressed_cost(await testbed.report(question_id, BUDGET, why=why)) == 0
    )  # a worker that was interrupted after this

    digest = await testbed.digests.get(testbed.digest.id, now=testbed.clock.now)
    assert digest is not None
    assert (digest.state, digest.next_at) == (State.STOPPED, None)
    assert testbed.news_provider.questions == []
    assert await read_notices(testbed.pool) == [StopNotice(digest_id=digest.id, reason_code=reason)]


async def test_a_digest_that_its_owner_has_left_goes_on_where_it_ended_when_they_are_back(
    testbed: DigestHarness,
) -> None:
    await testbed.new_headlines(BUDGET)
    testbed.presence = Membership.NOT_IN_CHANNEL
    testbed.clock.now += timedelta(days=3)
    assert suppressed_cost(await testbed.report(await testbed.begin(), VOLCANO)) == 0

    testbed.presence = Membership.MEMBER
    await testbed.digests.set_state(testbed.digest.id, State.ACTIVE, next_at=testbed.clock.now)
    assert await testbed.new_headlines(BUDGET, VOLCANO) == [VOLCANO]
    assert testbed.searched_since == testbed.clock.now.replace(second=0) - timedelta(days=3)


async def test_an_uninstalled_app_calls_no_provider_and_continues_when_reinstalled(
    testbed: DigestHarness,
) -> None:
    await testbed.new_headlines(BUDGET)
    testbed.presence = Membership.APP_REMOVED
    testbed.clock.now += timedelta(days=3)
    assert suppressed_cost(await testbed.report(await testbed.begin(), VOLCANO)) == 0
    assert len(testbed.news_provider.questions) == 1

    testbed.presence = Membership.MEMBER
    assert await testbed.new_headlines(VOLCANO) == [VOLCANO]
    assert testbed.searched_since == testbed.clock.now.replace(second=0) - timedelta(days=3)
