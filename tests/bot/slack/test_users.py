"""Users' time zones and memberships."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
from slack_sdk.web.async_client import AsyncWebClient

from bot.model.membership import ActiveWorkspace, Identity, act_for
from bot.slack.users import (
    AUTH_ERRORS,
    GROUP_AGAIN_SECONDS,
    GROUP_SECONDS,
    LIST_AGAIN_SECONDS,
    LIST_SECONDS,
    MAX_ADMINS,
    MAX_PAGES,
    PAGE_SIZE,
    AdminList,
    Membership,
    Profiles,
    SlackUsers,
    UserGroups,
)
from tests.fakes.slack import BOT_TOKEN, FakeSlack, Fault, refusal
from tests.fakes.time import Time, WallClock


@pytest.fixture
async def slack() -> AsyncIterator[FakeSlack]:
    async with FakeSlack() as fake:
        yield fake


@pytest.fixture
def users(slack: FakeSlack) -> SlackUsers:
    client = AsyncWebClient(token=BOT_TOKEN, base_url=slack.api_url, retry_handlers=[])
    return SlackUsers(client, profiles=Profiles(client), sleep=WallClock().sleep)


FIRST_PAGE = Fault(status=200, body='{"ok": true, "members": ["U2"], "response_metadata": {"next_cursor": "999"}}')


async def test_a_time_zone_is_the_profile_s__or_unknown(slack: FakeSlack, users: SlackUsers) -> None:
    slack.workspace.zones["U1"] = "Asia/Kolkata"

    assert await users.timezone("U1") == "Asia/Kolkata"
    assert await users.timezone("U2") is None
    slack.fail("users.info", refusal("missing_scope"))
    assert await users.timezone("U1") is None


@pytest.mark.parametrize("fault", [Fault(status=500, body="oops"), refusal("ratelimited"), refusal("internal_error")])
async def test_a_transient_error_hides_no_time_zone(slack: FakeSlack, users: SlackUsers, fault: Fault) -> None:
    slack.workspace.zones["U1"] = "Asia/Kolkata"
    slack.fail("users.info", fault, fault)
    assert await users.timezone("U1") == "Asia/Kolkata"

    slack.fail("users.info", fault, fault, fault)
    assert await users.timezone("U1") is None


async def test_a_closed_account_is_told_from_one_that_was_not_found(slack: FakeSlack, users: SlackUsers) -> None:
    slack.workspace.left.add("U1")
    slack.fail("users.info", refusal("user_not_found"))

    assert [await users.membership(user, "D1") for user in ("U3", "U1", "U2")] == [
        Membership.NOT_FOUND,
        Membership.DEACTIVATED,
        Membership.MEMBER,
    ]


@pytest.mark.parametrize("error", sorted(AUTH_ERRORS))
async def test_a_removed_app_is_reported(slack: FakeSlack, users: SlackUsers, error: str) -> None:
    slack.workspace.left.add("U1")
    slack.fail("users.info", refusal(error))

    assert await users.membership("U1", "C1") is Membership.APP_REMOVED


@pytest.mark.parametrize("fault", [refusal("missing_scope"), refusal("ratelimited"), Fault(status=503)])
async def test_if_slack_fails_a_user_counts_as_a_member(slack: FakeSlack, users: SlackUsers, fault: Fault) -> None:
    slack.fail("users.info", fault)

    assert await users.membership("U1", "C1") is Membership.MEMBER


def others(count: int) -> list[str]:
    return [f"U1{n:05}" for n in range(count)]


def pages_read(slack: FakeSlack) -> int:
    return [method for method, _ in slack.calls].count("conversations.members")


@pytest.mark.parametrize(
    ("members", "expected"),
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
        pytest.param([], (Membership.MEMBER, 1), id="no members returned"),
    ],
)
@pytest.mark.parametrize("channel", ["C1", "G1"])
async def test_a_user_who_is_not_among_the_members_is_not_in_the_channel(
    slack: FakeSlack, users: SlackUsers, channel: str, members: list[str], expected: tuple[Membership, int]
) -> None:
    slack.workspace.members_of[channel] = members

    assert (await users.membership("U1", channel), pages_read(slack)) == expected


@pytest.mark.parametrize(
    ("scopes", "seen"),
    [
        (["channels:read", "groups:read"], {"C1", "G1"}),
        (["channels:read"], {"C1"}),
        (["groups:read"], {"G1"}),
        ([], set[str]()),
    ],
)
async def test_without_the_scope_of_a_channel_every_user_counts_as_a_member(
    slack: FakeSlack, users: SlackUsers, scopes: list[str], seen: set[str]
) -> None:
    slack.workspace.scopes = ["users:read", *scopes]
    slack.workspace.members_of |= {"C1": ["U2"], "G1": ["U2"]}

    assert {
        channel
        for channel in slack.workspace.members_of
        if await users.membership("U1", channel) is not Membership.MEMBER
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
async def test_if_slack_fails_a_user_counts_as_in_the_channel(
    slack: FakeSlack, users: SlackUsers, fault: Fault, page: int
) -> None:
    slack.workspace.members_of["C1"] = others(2 * PAGE_SIZE)
    slack.fail("conversations.members", *[FIRST_PAGE] * (page - 1), fault)

    assert (await users.membership("U1", "C1"), pages_read(slack)) == (Membership.MEMBER, page)


async def test_members_are_not_read_in_a_direct_message_or_without_an_account(
    slack: FakeSlack, users: SlackUsers
) -> None:
    slack.workspace.scopes.append("im:read")
    slack.workspace.members_of |= {"D1": ["U2"], "C1": ["U2"]}
    slack.workspace.left.add("U3")

    assert await users.membership("U1", "D1") is Membership.MEMBER
    assert await users.membership("U3", "C1") is Membership.DEACTIVATED
    assert pages_read(slack) == 0


def admin_list(slack: FakeSlack, time: Time) -> AdminList:
    return AdminList(AsyncWebClient(token=BOT_TOKEN, base_url=slack.api_url, retry_handlers=[]), clock=time.clock)


def lists_read(slack: FakeSlack) -> int:
    return sum(method == "users.list" for method, _ in slack.calls)


async def test_admins_and_owners_are_listed_but_no_guests_bots_or_people_who_left(slack: FakeSlack) -> None:
    slack.workspace.admins |= {"UADMIN", "UGUEST", "UBOT", "UGONE"}
    slack.workspace.profiles |= {
        "UOWNER": {"is_owner": True},
        "UGUEST": {"is_restricted": True},
        "UBOT": {"is_bot": True},
        "USTRANGER": {"is_admin": True, "is_stranger": True},
        **{f"U{number:05}": {} for number in range(PAGE_SIZE)},
    }
    slack.workspace.left.add("UGONE")
    time = Time()
    admins = admin_list(slack, time)

    assert [await admins.read("T1") for _ in range(2)] == [["UADMIN", "UOWNER"]] * 2
    assert lists_read(slack) == 2
    time.now += LIST_SECONDS
    await admins.read("T1")
    assert lists_read(slack) == 4


async def test_each_workspace_of_an_organization_has_its_own_admins(slack: FakeSlack) -> None:
    """One installation is for all of them, with one token."""
    act_for(ActiveWorkspace(identity=Identity(team_id="E1", enterprise_id="E1", is_enterprise_install=True)))
    admins = admin_list(slack, Time())

    slack.workspace.admins = {"UFIRST"}
    assert await admins.read("T1") == ["UFIRST"]
    slack.workspace.admins = {"USECOND"}
    assert [await admins.read(team) for team in ("T2", "T1")] == [["USECOND"], ["UFIRST"]]
    assert [arguments.get("team_id") for method, arguments in slack.calls if method == "users.list"] == ["T1", "T2"]


async def test_so_many_admins_are_enough(slack: FakeSlack) -> None:
    slack.workspace.admins |= {f"U{number:05}" for number in range(2 * PAGE_SIZE)}

    assert len(await admin_list(slack, Time()).read("T1") or ()) == MAX_ADMINS
    assert lists_read(slack) == 1


@pytest.mark.parametrize(
    ("fault", "listed"),
    [
        (Fault(status=503), None),
        (refusal("ratelimited"), None),
        (Fault(status=200, body='{"ok": true}'), None),
        (refusal("missing_scope"), []),
        (refusal("token_revoked"), []),
    ],
)
async def test_slack_is_asked_again_for_admins_after_a_minute(
    slack: FakeSlack, fault: Fault, listed: list[str] | None
) -> None:
    time = Time()
    admins = admin_list(slack, time)
    slack.workspace.admins.add("UADMIN")
    slack.fail("users.list", fault)

    assert [await admins.read("T1") for _ in range(2)] == [listed] * 2
    assert lists_read(slack) == 1
    time.now += LIST_AGAIN_SECONDS
    assert await admins.read("T1") == ["UADMIN"]


async def test_a_group_is_read_every_five_minutes__and_the_last_list_holds(slack: FakeSlack) -> None:
    clock = Time()
    client = AsyncWebClient(token=BOT_TOKEN, base_url=slack.api_url, retry_handlers=[])
    groups = UserGroups(client, clock=clock.clock)
    slack.workspace.groups = {"S1": ["U1"]}
    found = await asyncio.gather(*(groups.contain(["S1"], user) for user in ("U1", "U2", "U1")))
    assert (found, len(slack.calls)) == (
        [True, False, True],
        1,
    )

    slack.workspace.groups = {"S1": ["U2"]}
    assert await groups.contain(["S1"], "U1") is True
    clock.now += GROUP_SECONDS
    slack.fail("usergroups.users.list", refusal("internal_error"))
    assert await groups.contain(["S1"], "U1") is True
    assert await groups.contain(["S1"], "U2") is False
    clock.now += GROUP_AGAIN_SECONDS
    assert await groups.contain(["U1", "S1"], "U1") is False
    assert await groups.contain(["S1"], "U2") is True

    slack.workspace.groups = {}
    clock.now += GROUP_SECONDS
    assert await groups.contain(["S1"], "U2") is False
    slack.fail("usergroups.users.list", refusal("missing_scope"))
    assert await groups.contain(["S2"], "U2") is None
