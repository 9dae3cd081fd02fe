"""Profiles: one call for each person at a time, remembered for a while, and not without end."""

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


async def test_many_who_ask_at_once_are_one_call(slack: FakeSlack) -> None:
    asked = profiles(slack)
    found = await asyncio.gather(*(asked.get("U1") for _ in range(20)))

    assert len(slack.calls) == 1
    assert {one.team_id for one in found} == {"T1"}


async def test_one_who_gives_up_takes_the_answer_from_nobody_else(slack: FakeSlack) -> None:
    asked = profiles(slack)
    slack.fail("users.info", Fault(status=200, body='{"ok": true, "user": {"team_id": "T1"}}', seconds=0.2))
    first, second = asyncio.create_task(asked.get("U1")), asyncio.create_task(asked.get("U1"))
    await asyncio.sleep(0.05)
    first.cancel()

    assert (await second).team_id == "T1"


async def test_a_profile_is_remembered_and_a_failure_is_not(slack: FakeSlack) -> None:
    time = Time(0.0)
    asked = profiles(slack, time)
    slack.fail("users.info", Fault(status=500, body='{"ok": false, "error": "internal_error"}'))
    with pytest.raises(SlackApiError):
        await asked.get("U1")
    await asked.get("U1")
    await time.sleep(PROFILE_CACHE_SECONDS - 1)
    await asked.get("U1")
    calls = len(slack.calls)
    await time.sleep(2)

    assert (calls, asked.cached("U1")) == (2, None)


async def test_who_was_asked_for_longest_ago_is_forgotten_first(slack: FakeSlack) -> None:
    asked = profiles(slack, most=3)
    for user in ("U1", "U2", "U3", "U1", "U4"):
        await asked.get(user, seconds=0)

    assert [asked.cached(user) is not None for user in ("U1", "U2", "U3", "U4")] == [True, False, True, True]
