"""What is asked of Slack about people."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

import pytest
from slack_sdk.web.async_client import AsyncWebClient

from bot.slack.users import AUTH_ERRORS, MAX_PAGES, PAGE_SIZE, Membership, SlackUsers
from tests.fakes.digests import WallClock
from tests.fakes.slack import BOT_TOKEN, FakeSlack, Fault


@pytest.fixture
async def slack() -> AsyncIterator[FakeSlack]:
    async with FakeSlack() as fake:
        yield fake


@pytest.fixture
def people(slack: FakeSlack) -> SlackUsers:
    return SlackUsers(
        AsyncWebClient(token=BOT_TOKEN, base_url=slack.api_url, retry_handlers=[]), sleep=WallClock().sleep
    )


def refusal(error: str) -> Fault:
    return Fault(status=200, body=json.dumps({"ok": False, "error": error}))


FIRST_PAGE = Fault(status=200, body='{"ok": true, "members": ["U2"], "response_metadata": {"next_cursor": "999"}}')


async def test_a_zone_is_the_profile_s__or_unknown(slack: FakeSlack, people: SlackUsers) -> None:
    slack.zones["U1"] = "Asia/Kolkata"

    assert await people.timezone("U1") == "Asia/Kolkata"
    assert await people.timezone("U2") is None
    slack.fail("users.info", refusal("missing_scope"))
    assert await people.timezone("U1") is None


@pytest.mark.parametrize("fault", [Fault(status=500, body="oops"), refusal("ratelimited"), refusal("internal_error")])
async def test_a_failure_that_passes_hides_no_zone(slack: FakeSlack, people: SlackUsers, fault: Fault) -> None:
    slack.zones["U1"] = "Asia/Kolkata"
    slack.fail("users.info", fault, fault)
    assert await people.timezone("U1") == "Asia/Kolkata"

    slack.fail("users.info", fault, fault, fault)
    assert await people.timezone("U1") is None


async def test_whose_account_is_closed_or_unknown_has_left(slack: FakeSlack, people: SlackUsers) -> None:
    slack.left.add("U1")
    slack.fail("users.info", refusal("user_not_found"))

    assert [await people.membership(user, "D1") for user in ("U3", "U1", "U2")] == [
        Membership.DEACTIVATED,
        Membership.DEACTIVATED,
        Membership.MEMBER,
    ]


@pytest.mark.parametrize("error", sorted(AUTH_ERRORS))
async def test_an_app_that_is_let_in_no_more_reaches_nobody(slack: FakeSlack, people: SlackUsers, error: str) -> None:
    slack.left.add("U1")
    slack.fail("users.info", refusal(error))

    assert await people.membership("U1", "C1") is Membership.APP_REMOVED


@pytest.mark.parametrize("fault", [refusal("missing_scope"), refusal("ratelimited"), Fault(status=503)])
async def test_nobody_is_taken_to_have_left_where_slack_cannot_tell(
    slack: FakeSlack, people: SlackUsers, fault: Fault
) -> None:
    slack.fail("users.info", fault)

    assert await people.membership("U1", "C1") is Membership.MEMBER


def others(count: int) -> list[str]:
    return [f"U1{n:05}" for n in range(count)]


def pages_read(slack: FakeSlack) -> int:
    return [method for method, _ in slack.calls].count("conversations.members")


@pytest.mark.parametrize(
    ("members", "came_to"),
    [
        pytest.param(["U0APP", "U1"], (Membership.MEMBER, 1), id="among few"),
        pytest.param(["U0APP", "U2"], (Membership.NOT_IN_CHANNEL, 1), id="not among few"),
        pytest.param(["U1", *others(3 * PAGE_SIZE)], (Membership.MEMBER, 1), id="first of many"),
        pytest.param([*others(2 * PAGE_SIZE), "U1"], (Membership.MEMBER, 3), id="last of many"),
        pytest.param(others(3 * PAGE_SIZE), (Membership.NOT_IN_CHANNEL, 3), id="not among many"),
        pytest.param(
            others(MAX_PAGES * PAGE_SIZE), (Membership.NOT_IN_CHANNEL, MAX_PAGES), id="not among as many as are read"
        ),
        pytest.param(
            others(MAX_PAGES * PAGE_SIZE + 1), (Membership.MEMBER, MAX_PAGES), id="maybe among more than are read"
        ),
        pytest.param([], (Membership.MEMBER, 1), id="nobody is named"),
    ],
)
@pytest.mark.parametrize("channel", ["C1", "G1"])
async def test_whoever_is_not_among_the_members_has_left_the_channel(
    slack: FakeSlack, people: SlackUsers, channel: str, members: list[str], came_to: tuple[Membership, int]
) -> None:
    slack.members[channel] = members

    assert (await people.membership("U1", channel), pages_read(slack)) == came_to


@pytest.mark.parametrize(
    ("scopes", "seen"),
    [
        (["channels:read", "groups:read"], {"C1", "G1"}),
        (["channels:read"], {"C1"}),
        (["groups:read"], {"G1"}),
        ([], set[str]()),
    ],
)
async def test_nobody_is_missed_in_channels_that_the_token_has_no_scope_for(
    slack: FakeSlack, people: SlackUsers, scopes: list[str], seen: set[str]
) -> None:
    slack.scopes = ["users:read", *scopes]
    slack.members |= {"C1": ["U2"], "G1": ["U2"]}

    assert {
        channel for channel in slack.members if await people.membership("U1", channel) is not Membership.MEMBER
    } == seen


@pytest.mark.parametrize(
    "fault",
    [
        refusal("missing_scope"),
        refusal("channel_not_found"),
        refusal("fetch_members_failed"),
        refusal("method_not_supported_for_channel_type"),
        refusal("team_access_not_granted"),
        refusal("ratelimited"),
        Fault(status=429, headers={"Retry-After": "30"}),
        Fault(status=503),
        Fault(status=200, body="oops"),
        Fault(status=200, body="<html>Log in</html>"),
        Fault(status=200, body='{"ok": true}'),
        Fault(status=200, body='{"ok": true, "members": null}'),
        Fault(status=200, body='{"ok": true, "members": ["U2"], "response_metadata": ["x"]}'),
    ],
    ids=lambda fault: f"{fault.status} {fault.body}",
)
@pytest.mark.parametrize("page", [1, 2])
async def test_nobody_is_taken_to_have_left_a_channel_where_slack_cannot_tell(
    slack: FakeSlack, people: SlackUsers, fault: Fault, page: int
) -> None:
    slack.members["C1"] = others(2 * PAGE_SIZE)
    slack.fail("conversations.members", *[FIRST_PAGE] * (page - 1), fault)

    assert (await people.membership("U1", "C1"), pages_read(slack)) == (Membership.MEMBER, page)


async def test_nobody_is_looked_for_in_a_direct_message_or_without_an_account(
    slack: FakeSlack, people: SlackUsers
) -> None:
    slack.scopes.append("im:read")
    slack.members |= {"D1": ["U2"], "C1": ["U2"]}
    slack.left.add("U3")

    assert await people.membership("U1", "D1") is Membership.MEMBER
    assert await people.membership("U3", "C1") is Membership.DEACTIVATED
    assert pages_read(slack) == 0
