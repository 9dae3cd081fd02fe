"""What is asked of Slack about people."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

import pytest
from slack_sdk.web.async_client import AsyncWebClient

from bot.people import People
from tests.fakes.digests import WallClock
from tests.fakes.slack import BOT_TOKEN, FakeSlack, Fault


@pytest.fixture
async def slack() -> AsyncIterator[FakeSlack]:
    async with FakeSlack() as fake:
        yield fake


@pytest.fixture
def people(slack: FakeSlack) -> People:
    return People(AsyncWebClient(token=BOT_TOKEN, base_url=slack.api_url, retry_handlers=[]), sleep=WallClock().sleep)


def refusal(error: str) -> Fault:
    return Fault(status=200, body=json.dumps({"ok": False, "error": error}))


async def test_a_zone_is_the_profile_s__or_unknown(slack: FakeSlack, people: People) -> None:
    slack.zones["U1"] = "Asia/Kolkata"

    assert await people.zone("U1") == "Asia/Kolkata"
    assert await people.zone("U2") is None
    slack.fail("users.info", refusal("missing_scope"))
    assert await people.zone("U1") is None


@pytest.mark.parametrize("fault", [Fault(status=500, body="oops"), refusal("ratelimited"), refusal("internal_error")])
async def test_a_failure_that_passes_hides_no_zone(slack: FakeSlack, people: People, fault: Fault) -> None:
    slack.zones["U1"] = "Asia/Kolkata"
    slack.fail("users.info", fault, fault)
    assert await people.zone("U1") == "Asia/Kolkata"

    slack.fail("users.info", fault, fault, fault)
    assert await people.zone("U1") is None


async def test_whose_account_is_closed_or_unknown_has_left(slack: FakeSlack, people: People) -> None:
    slack.left.add("U1")
    slack.fail("users.info", refusal("user_not_found"))

    assert await people.has_left("U3")
    assert await people.has_left("U1")
    assert not await people.has_left("U2")


@pytest.mark.parametrize("fault", [refusal("missing_scope"), refusal("ratelimited"), Fault(status=503)])
async def test_nobody_is_taken_to_have_left_where_slack_cannot_tell(
    slack: FakeSlack, people: People, fault: Fault
) -> None:
    slack.fail("users.info", fault)

    assert not await people.has_left("U1")
