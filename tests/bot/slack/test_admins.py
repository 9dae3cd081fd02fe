"""Who is an admin."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from slack_sdk.web.async_client import AsyncWebClient

from bot.slack.users import ADMIN_CACHE_SECONDS, Admins
from tests.fakes.slack import BOT_TOKEN, FakeSlack, Fault
from tests.fakes.time import Time


@pytest.fixture
async def slack() -> AsyncIterator[FakeSlack]:
    async with FakeSlack() as fake:
        yield fake


def admins(slack: FakeSlack, *named: str, time: Time | None = None) -> Admins:
    client = AsyncWebClient(token=BOT_TOKEN, base_url=slack.api_url, retry_handlers=[])
    return Admins(client, named=named, clock=(time or Time(0.0)).clock)


async def test_slack_tells_who_is_one(slack: FakeSlack) -> None:
    slack.admins.add("U1")
    who = admins(slack)

    assert [await who.is_admin(user) for user in ("U1", "U2")] == [True, False]


async def test_those_whom_the_settings_name_are_ones_without_asking(slack: FakeSlack) -> None:
    assert await admins(slack, "U7").is_admin("U7")
    assert slack.calls == []


async def test_what_slack_says_is_remembered_for_a_while(slack: FakeSlack) -> None:
    time = Time(0.0)
    who = admins(slack, time=time)
    first = await who.is_admin("U1")
    slack.admins.add("U1")
    remembered = await who.is_admin("U1")
    await time.sleep(ADMIN_CACHE_SECONDS + 1)

    assert (first, remembered, await who.is_admin("U1")) == (False, False, True)


async def test_where_slack_does_not_tell__not_one_and_asked_again(slack: FakeSlack) -> None:
    slack.admins.add("U1")
    slack.fail("users.info", Fault(status=200, body='{"ok": false, "error": "missing_scope"}'))
    who = admins(slack)

    assert [await who.is_admin("U1"), await who.is_admin("U1")] == [False, True]
