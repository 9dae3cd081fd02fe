"""Profiles: one call at a time for each user, cached for a while, up to a limit."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from bot.slack.users import MAX_PROFILES, PROFILE_CACHE_SECONDS, Profiles
from tests.fakes.slack import BOT_TOKEN, FakeSlack, Fault
from tests.fakes.time import Time


@pytest.fixture
async def slack() -> AsyncIterator[FakeSlack]:
    async with FakeSlack() as fake:
        yield fake


def profiles(slack: FakeSlack, time: Time | None = None, *, most: int = MAX_PROFILES) -> Profiles:
    client = AsyncWebClient(token=BOT_TOKEN, base_url=slack.api_url, retry_handlers=[])
    return Profiles(client, clock=(time or Time(0.0)).clock, most=most)


async def test_concurrent_requests_are_one_call(slack: FakeSlack) -> None:
    cache = profiles(slack)
    found = await asyncio.gather(*(cache.get("U1") for _ in range(20)))

    assert len(slack.calls) == 1
    assert {one.team_id for one in found} == {"T1"}


async def test_a_cancelled_request_does_not_cancel_the_others(slack: FakeSlack) -> None:
    cache = profiles(slack)
    slack.fail("users.info", Fault(status=200, body='{"ok": true, "user": {"team_id": "T1"}}', seconds=0.2))
    first, second = asyncio.create_task(cache.get("U1")), asyncio.create_task(cache.get("U1"))
    await asyncio.sleep(0.05)
    first.cancel()

    assert (await second).team_id == "T1"


async def test_a_profile_is_cached_and_an_error_is_not(slack: FakeSlack) -> None:
    time = Time(0.0)
    cache = profiles(slack, time)
    slack.fail("users.info", Fault(status=500, body='{"ok": false, "error": "internal_error"}'))
    with pytest.raises(SlackApiError):
        await cache.get("U1")
    await cache.get("U1")
    await time.sleep(PROFILE_CACHE_SECONDS - 1)
    await cache.get("U1")
    calls = len(slack.calls)
    await time.sleep(2)

    assert (calls, cache.cached("U1")) == (2, None)


async def test_the_oldest_profile_is_dropped_first(slack: FakeSlack) -> None:
    cache = profiles(slack, most=3)
    for user in ("U1", "U2", "U3", "U1", "U4"):
        await cache.get(user, seconds=0)

    assert [cache.cached(user) is not None for user in ("U1", "U2", "U3", "U4")] == [True, False, True, True]
