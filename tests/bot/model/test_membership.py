"""Whose a request is, and who is a member: pure, whatever Slack sends."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.listeners.installation import closed_state
from bot.model.membership import (
    OUTSIDE_FLAGS,
    Affiliation,
    Identity,
    Profile,
    RequestOrigin,
    affiliation_of,
    click_team_ids,
    is_foreign,
    user_team_of,
)

WORKSPACE = Identity(team_id="T1")
IN_GRID = Identity(team_id="T1", enterprise_id="E1")
ORGANIZATION = Identity(team_id="T1", enterprise_id="E1", is_enterprise_install=True)


@pytest.mark.parametrize(
    ("body", "ours", "foreign"),
    [
        ({}, WORKSPACE, False),
        ({"team_id": "T1", "api_app_id": "A1"}, WORKSPACE, False),
        ({"team_id": "T2"}, WORKSPACE, True),
        ({"team_id": "T1", "api_app_id": "A2"}, WORKSPACE, True),
        ({"team_id": "T1", "enterprise_id": "E1"}, WORKSPACE, True),
        ({"team_id": "T1", "enterprise_id": "E1"}, IN_GRID, False),
        ({"team_id": "T2", "enterprise_id": "E1"}, IN_GRID, True),
        ({"team_id": "T2", "enterprise_id": "E1"}, ORGANIZATION, False),
        ({"team_id": "T2", "enterprise_id": "E2"}, ORGANIZATION, True),
        ({"team": None, "enterprise": {"id": "E1"}}, ORGANIZATION, False),
        ({"team": {"id": "T1", "enterprise_id": "E2"}}, IN_GRID, True),
        ({"authorizations": [{"team_id": "T2"}]}, WORKSPACE, True),
        ({"team_id": "T1", "authorizations": [{"team_id": "T2"}]}, WORKSPACE, False),
        ({"team_id": "T2", "authorizations": [{"team_id": "T1"}]}, WORKSPACE, True),
        ({"team_id": "T2", "authorizations": [{"team_id": "T1"}], "is_ext_shared_channel": True}, WORKSPACE, False),
        ({"team_id": "T1", "authorizations": [{"team_id": "T2"}], "is_ext_shared_channel": True}, WORKSPACE, True),
        ({"team": {"id": "T2"}, "view": {"app_installed_team_id": "T1"}}, WORKSPACE, False),
        ({"team": {"id": "T2"}, "enterprise": {"id": "E2"}, "view": {"app_installed_team_id": "T1"}}, IN_GRID, False),
        ({"team": {"id": "T2"}, "view": {"app_installed_team_id": "E1"}}, ORGANIZATION, False),
        ({"team": {"id": "T1"}, "view": {"app_installed_team_id": "T2"}}, WORKSPACE, True),
        ({"team": None, "enterprise": {"id": "E1"}, "view": {"app_installed_team_id": "T1"}}, ORGANIZATION, False),
    ],
)
def test_a_request_is_the_app_s_own_or_foreign(body: dict[str, Any], ours: Identity, foreign: bool) -> None:
    assert is_foreign(RequestOrigin.from_body(body), ours=ours, app_id="A1") is foreign


SHARED = {
    "team_id": "T2",
    "enterprise_id": None,
    "is_ext_shared_channel": True,
    "authorizations": [{"enterprise_id": "E1", "team_id": None, "is_enterprise_install": True}],
}
"""An event of an organization's app from a shared channel, in which someone of T2 wrote."""


@pytest.mark.parametrize(
    ("context", "team"),
    [
        ({"context_team_id": "T1", "context_enterprise_id": "E1"}, "T1"),
        ({"context_team_id": "T1", "context_enterprise_id": "E2"}, "E1"),
        ({"context_team_id": "T1"}, "E1"),
        ({}, "E1"),
        ({"team_id": "T1", "enterprise_id": "E1", "context_team_id": "T2"}, "T1"),
        ({"team_id": None, "enterprise_id": "E1", "context_team_id": "T2"}, "E1"),
    ],
    ids=str,
)
def test_what_an_organization_s_app_hears_of_other_workspaces_is_not_theirs(context: dict[str, str], team: str) -> None:
    named = RequestOrigin.from_body(SHARED | context)

    assert (named.team_id, named.enterprise_id) == (team, "E1")


@pytest.mark.parametrize("flag", OUTSIDE_FLAGS)
@pytest.mark.parametrize("value", [True, "true", 1])
def test_guests_strangers_and_bots_are_not_members(flag: str, value: object) -> None:
    profile = Profile.from_user({"team_id": "T1", flag: value})

    assert affiliation_of(profile, user_team="T1", ours=WORKSPACE) is Affiliation.EXTERNAL


@pytest.mark.parametrize(
    ("user", "user_team", "ours", "member"),
    [
        ({"team_id": "T1"}, "", WORKSPACE, True),
        ({"team_id": "T1", **dict.fromkeys(OUTSIDE_FLAGS, False)}, "T1", WORKSPACE, True),
        ({"team_id": "T1", "is_restricted": None}, "", WORKSPACE, True),
        ({"team_id": "T2"}, "", WORKSPACE, False),
        ({"team_id": "T1"}, "T2", WORKSPACE, False),
        ({"team_id": "T2", "enterprise_user": {"enterprise_id": "E1"}}, "T2", IN_GRID, True),
        ({"team_id": "T2", "enterprise_id": "E1"}, "", ORGANIZATION, True),
        ({"team_id": "T2", "enterprise_user": {"enterprise_id": "E2"}}, "", IN_GRID, False),
        ({}, "", WORKSPACE, False),
        ({}, "T2", WORKSPACE, False),
    ],
)
def test_a_member_is_of_the_workspace_or_its_organization(
    user: dict[str, Any], user_team: str, ours: Identity, member: bool
) -> None:
    expected = Affiliation.INTERNAL if member else Affiliation.EXTERNAL

    assert affiliation_of(Profile.from_user(user), user_team=user_team, ours=ours) is expected


def test_a_click_without_a_workspace_is_the_organization_s() -> None:
    body = {"team": None, "user": {"id": "U1", "team_id": "T3"}, "enterprise": {"id": "E1"}}

    assert click_team_ids(body) == {"T3", "E1"}
    assert click_team_ids(body | {"team": {"id": "T1"}}) == {"T1"}


IDS = st.text("TE12\x00\ud800", max_size=3)
VALUES = st.recursive(st.none() | st.booleans() | st.integers() | IDS, st.lists, max_leaves=5)
NAMES = st.sampled_from([
    "team_id", "enterprise_id", "api_app_id", "team", "enterprise", "user", "event", "authorizations", "id",
    "is_ext_shared_channel", "user_team", "tokens", "type", "context_team_id", "team_ids",
    "context_enterprise_id",
])  # fmt: skip
BODIES = st.dictionaries(NAMES, VALUES | st.dictionaries(NAMES, VALUES))


@given(BODIES)
def test_whatever_a_body_holds_is_read(body: dict[str, Any]) -> None:
    assert is_foreign(RequestOrigin.from_body(body), ours=WORKSPACE, app_id="A1") in {True, False}
    assert all(click_team_ids(body))
    assert isinstance(user_team_of(body), str)
    assert closed_state(body) in {None, "uninstalled", "revoked"}
    assert isinstance(Profile.from_user(body), Profile)
