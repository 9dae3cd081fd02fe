"""Who is an admin."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from slack_sdk.web.async_client import AsyncWebClient

from bot.slack.users import ADMIN_CACHE_SECONDS, Admins, Profiles, UserGroups
from tests.fakes.slack import BOT_TOKEN, FakeSlack, Fault
from tests.fakes.time import Time


@pytest.fixture
async def slack() -> AsyncIterator[FakeSlack]:
    async with FakeSlack() as fake:
        yield fake


def admins(slack: FakeSlack, *named: str, time: Time | None = None) -> Admins:
    client = AsyncWebClient(token=BOT_TOKEN, base_url=slack.api_url, retry_handlers=[])
    clock = (time or Time(0.0)).clock
    return Admins(profiles=Profiles(client, clock=clock), groups=UserGroups(client, clock=clock), named=named)


async def test_slack_names_the_admins(slack: FakeSlack) -> None:
    slack.workspace.admins.add("U1")
    checked = admins(slack)

    assert [await checked.is_admin(user) for user in ("U1", "U2")] == [True, False]


async def test_admins_of_the_settings_need_no_call(slack: FakeSlack) -> None:
    assert await admins(slack, "U7").is_admin("U7")
    assert slack.calls == []


async def test_slack_s_reply_is_cached_for_a_while(slack: FakeSlack) -> None:
    time = Time(0.0)
    checked = admins(slack, time=time)
    first = await checked.is_admin("U1")
    slack.workspace.admins.add("U1")
    cached = await checked.is_admin("U1")
    await time.sleep(ADMIN_CACHE_SECONDS + 1)

    assert (first, cached, await checked.is_admin("U1")) == (False, False, True)


async def test_if_slack_fails__not_an_admin_and_called_again(slack: FakeSlack) -> None:
    slack.workspace.admins.add("U1")
    slack.fail("users.info", Fault(status=200, body='{"ok": false, "error": "missing_scope"}'))
    checked = admins(slack)

    assert [await checked.is_admin("U1"), await checked.is_admin("U1")] == [False, True]
