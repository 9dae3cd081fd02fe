"""Runs of which nothing is posted: the digest is paused or deleted, or its owner or the app is not there any more."""

from __future__ import annotations

from datetime import timedelta
from uuid import uuid4

import pytest

from bot.blocks.digests import digest_messages
from bot.digests.jobs import OWNER_LEFT, OWNER_LEFT_CHANNEL, OWNER_NOT_FOUND, StopNotice
from bot.model.digest import DigestLimits, DigestReport, State, Trigger
from bot.slack.users import Membership
from tests.fakes.digest_harness import DigestHarness
from tests.fakes.digests import OTHER_OWNER, SATURDAY, make_spec, read_notices
from tests.fakes.news_answers import BUDGET, VOLCANO


def suppressed_cost(report: DigestReport | None) -> float | None:
    """Return what a run cost of which nothing is posted."""
    assert report is not None
    assert digest_messages(report) == ()
    return report.cost_usd


async def test_a_run_that_a_pause_holds_back_has_not_looked(harness: DigestHarness) -> None:
    await harness.new_headlines(BUDGET)
    harness.clock.now += timedelta(days=2)
    question_id, looked = await harness.begin(), harness.clock.now.replace(second=0) - timedelta(days=2)
    harness.news_provider.meanwhile = lambda: harness.digests.set_state(harness.digest.id, State.PAUSED, next_at=None)
    assert suppressed_cost(await harness.report(question_id, VOLCANO)) == 0.01

    harness.clock.now += timedelta(hours=20)
    assert await harness.new_headlines(VOLCANO, why=Trigger.MANUAL) == [VOLCANO]
    assert harness.searched_since == looked


async def test_a_deleted_or_paused_digest_posts_nothing_and_calls_no_provider__unless_run_manually(
    harness: DigestHarness,
) -> None:
    await harness.digests.set_state(harness.digest.id, State.PAUSED, next_at=None)
    assert suppressed_cost(await harness.report(await harness.begin(), BUDGET)) == 0
    assert harness.news_provider.questions == []
    assert await harness.new_headlines(BUDGET, why=Trigger.MANUAL) == [BUDGET]

    question_id = await harness.begin()
    await harness.digests.delete(harness.digest.id)
    assert await harness.report(question_id, BUDGET, why=Trigger.MANUAL) is None
    assert len(harness.news_provider.questions) == 1


@pytest.mark.parametrize("why", [Trigger.SCHEDULED, Trigger.MANUAL])
async def test_a_digest_that_is_deleted_while_it_is_made_says_nothing(harness: DigestHarness, why: Trigger) -> None:
    question_id = await harness.begin(why=why)
    harness.news_provider.meanwhile = lambda: harness.digests.delete(harness.digest.id)

    assert suppressed_cost(await harness.report(question_id, BUDGET, why=why)) == 0.01


async def test_a_digest_that_is_paused_while_it_is_made_says_it_when_it_goes_on(harness: DigestHarness) -> None:
    question_id = await harness.begin()
    await harness.report(question_id, BUDGET)  # a worker that was interrupted after this
    harness.news_provider.meanwhile = lambda: harness.digests.set_state(harness.digest.id, State.PAUSED, next_at=None)
    assert suppressed_cost(await harness.report(question_id, BUDGET)) == 0.01

    assert await harness.new_headlines(BUDGET, why=Trigger.MANUAL) == [BUDGET]


@pytest.mark.parametrize("why", Trigger)
async def test_a_digest_of_a_closed_account_is_deleted_without_a_call_and_with_one_notice(
    harness: DigestHarness, why: Trigger
) -> None:
    harness.presence = Membership.DEACTIVATED
    question_id = await harness.begin(why=why)
    assert suppressed_cost(await harness.report(question_id, BUDGET, why=why)) == 0
    assert await harness.report(question_id, BUDGET, why=why) is None  # a worker that was interrupted after this

    assert harness.news_provider.questions == []
    assert await read_notices(harness.pool) == [
        StopNotice(digest_id=harness.digest.id, reason_code=OWNER_LEFT, title="Technology: databases")
    ]
    full = await harness.digests.create(
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
    harness: DigestHarness, why: Trigger, presence: Membership, reason: str
) -> None:
    harness.presence = presence
    question_id = await harness.begin(why=why)
    assert suppressed_cost(await harness.report(question_id, BUDGET, why=why)) == 0
    assert (
        suppressed_cost(await harness.report(question_id, BUDGET, why=why)) == 0
    )  # a worker that was interrupted after this

    digest = await harness.digests.get(harness.digest.id, now=harness.clock.now)
    assert digest is not None
    assert (digest.state, digest.next_at) == (State.STOPPED, None)
    assert harness.news_provider.questions == []
    assert await read_notices(harness.pool) == [StopNotice(digest_id=digest.id, reason_code=reason)]


async def test_a_digest_that_its_owner_has_left_goes_on_where_it_ended_when_they_are_back(
    harness: DigestHarness,
) -> None:
    await harness.new_headlines(BUDGET)
    harness.presence = Membership.NOT_IN_CHANNEL
    harness.clock.now += timedelta(days=3)
    assert suppressed_cost(await harness.report(await harness.begin(), VOLCANO)) == 0

    harness.presence = Membership.MEMBER
    await harness.digests.set_state(harness.digest.id, State.ACTIVE, next_at=harness.clock.now)
    assert await harness.new_headlines(BUDGET, VOLCANO) == [VOLCANO]
    assert harness.searched_since == harness.clock.now.replace(second=0) - timedelta(days=3)


async def test_an_uninstalled_app_calls_no_provider_and_continues_when_reinstalled(harness: DigestHarness) -> None:
    await harness.new_headlines(BUDGET)
    harness.presence = Membership.APP_REMOVED
    harness.clock.now += timedelta(days=3)
    assert suppressed_cost(await harness.report(await harness.begin(), VOLCANO)) == 0
    assert len(harness.news_provider.questions) == 1

    harness.presence = Membership.MEMBER
    assert await harness.new_headlines(VOLCANO) == [VOLCANO]
    assert harness.searched_since == harness.clock.now.replace(second=0) - timedelta(days=3)
