"""What is asked of Slack about people."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

import pytest
from slack_sdk.web.async_client import AsyncWebClient

from bot.people import SHUT_OUT, People, Presence
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

    assert [await people.presence(user) for user in ("U3", "U1", "U2")] == [Presence.LEFT, Presence.LEFT, Presence.HERE]


@pytest.mark.parametrize("error", sorted(SHUT_OUT))
async def test_an_app_that_is_let_in_no_more_reaches_nobody(slack: FakeSlack, people: People, error: str) -> None:
    slack.left.add("U1")
    slack.fail("users.info", refusal(error))

    assert await people.presence("U1") is Presence.UNREACHABLE


@pytest.mark.parametrize("fault", [refusal("missing_scope"), refusal("ratelimited"), Fault(status=503)])
async def test_nobody_is_taken_to_have_left_where_slack_cannot_tell(
    slack: FakeSlack, people: People, fault: Fault
) -> None:
    slack.fail("users.info", fault)

    assert await people.presence("U1") is Presence.HERE
