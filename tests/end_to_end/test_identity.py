"""Whose request it is: the app's own workspace and app, its members, and whose click it is."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from bot.listeners.intake import MEMBER_FORBIDDEN, MEMBERS_ONLY
from tests.driver import Driver, rows
from tests.fakes.slack import Fault, refusal


async def status_of(harness: Driver, surface: str, **sent: Any) -> int:
    person = replace(harness.person, sent=sent)
    match surface:
        case "slash":
            response = await person.type_command("/ask why", trigger="x1")
        case "mention":
            response = await person.mention("why", ts="1795255200.000200")
        case _:
            response = await person.click("retry", "00000000-0000-4000-8000-000000000000")
    async with response:
        return response.status


@pytest.mark.parametrize(
    ("surface", "sent"),
    [
        ("slash", {"team_id": "T2"}),
        ("slash", {"enterprise_id": "E2"}),
        ("slash", {"api_app_id": "A2"}),
        ("mention", {"team_id": "T2"}),
        ("mention", {"enterprise_id": "E2"}),
        ("mention", {"api_app_id": "A2"}),
        ("click", {"team": {"id": "T2"}}),
        ("click", {"enterprise": {"id": "E2"}}),
        ("click", {"api_app_id": "A2"}),
    ],
)
async def test_a_request_of_another_workspace_or_app_is_refused(
    harness: Driver, surface: str, sent: dict[str, Any]
) -> None:
    await harness.ask("/ask why")
    await harness.wait_until_settled(1)
    asked = len(harness.perplexity.requests)

    assert await status_of(harness, surface, **sent) == 403
    assert await status_of(harness, surface) == 200
    assert asked == 1


async def test_an_event_of_a_shared_channel_that_its_sender_s_workspace_is_named_for_is_taken(
    harness: Driver,
) -> None:
    assert await status_of(harness, "mention", team_id="T2", is_ext_shared_channel=True, context_team_id="T1") == 200
    await harness.wait_until_settled(1)
    assert len(harness.perplexity.requests) == 1


OUTSIDERS = [
    {"team_id": "T2"},
    {"team_id": "T2", "enterprise_user": {"enterprise_id": "E9"}},
    {"is_restricted": True},
    {"is_ultra_restricted": True},
    {"is_stranger": True},
    {"is_bot": True},
]


@pytest.mark.parametrize("profile", OUTSIDERS, ids=str)
async def test_a_guest_gets_a_notice_and_no_provider_is_called(
    harness: Driver, database: str, profile: dict[str, Any]
) -> None:
    harness.slack.workspace.profiles["U1"] = profile
    await harness.ask("/ask why")
    await harness.mention("why")
    await harness.send_direct_message("why", ts="1795255200.000300")
    await harness.wait_until_settled(3)

    by_way = {post.method: post for post in harness.slack.posts}
    assert set(by_way) == {"response_url", "chat.postEphemeral", "chat.postMessage"}
    assert all(MEMBERS_ONLY in post.shown_text for post in by_way.values())
    assert by_way["response_url"].payload["response_type"] == "ephemeral"
    assert by_way["chat.postEphemeral"].payload["user"] == "U1"
    assert by_way["chat.postMessage"].payload["channel"] == "DU1"
    assert not any("retry" in post.shown_text for post in harness.slack.posts)
    assert harness.perplexity.requests == []
    assert await rows(database, "SELECT DISTINCT state, error FROM questions") == [("failed", "OutsideAsker")]

    shown = await harness.ask("/ask why not", trigger="t2")
    assert shown["text"] == MEMBERS_ONLY
    assert await rows(database, "SELECT count(*) FROM questions") == [(3,)]


async def test_a_notice_for_an_outsider_that_slack_refuses_is_posted_nowhere_else(
    harness: Driver,
) -> None:
    harness.slack.workspace.profiles["U1"] = {"is_restricted": True}
    harness.slack.fail("chat.postEphemeral", refusal("user_not_in_channel"))
    await harness.mention("why", thread_ts="1795255100.000100")
    await harness.wait_until_settled(1)

    assert harness.slack.posts == []
    told = [payload for method, payload in harness.slack.calls if method == "chat.postEphemeral"]
    assert [one["thread_ts"] for one in told] == ["1795255100.000100"]


async def test_a_sender_whom_the_event_names_as_of_elsewhere_is_refused_although_the_profile_says_nothing(
    harness: Driver,
) -> None:
    person = replace(harness.person, team="T2")
    async with await person.mention("why"):
        await harness.wait_until_settled(1)

    assert MEMBERS_ONLY in harness.slack.posts[-1].shown_text
    assert harness.perplexity.requests == []


@pytest.mark.parametrize(("team", "said"), [("T1", MEMBER_FORBIDDEN), ("T2", MEMBERS_ONLY)], ids=["ours", "elsewhere"])
async def test_without_the_scope_no_one_is_answered(harness: Driver, team: str, said: str) -> None:
    """The event does not say whether someone is a guest."""
    harness.slack.workspace.scopes.remove("users:read")
    async with await replace(harness.person, team=team).mention("why"):
        await harness.wait_until_settled(1)

    assert harness.perplexity.requests == []
    assert said in harness.slack.posts[-1].shown_text
    harness.slack.workspace.scopes.append("users:read")
    if team == "T1":
        await harness.mention("why", ts="1795255201.000100", id="Ev2")
        await harness.wait_until_settled(2)
        assert harness.perplexity.requests


@pytest.mark.parametrize("fault", [Fault(status=500, body="oops"), refusal("ratelimited"), Fault(status=0)], ids=str)
@pytest.mark.parametrize("member", [True, False])
async def test_while_slack_cannot_be_asked_a_question_waits_and_is_not_refused(
    harness: Driver, fault: Fault, member: bool
) -> None:
    harness.slack.workspace.profiles["U1"] = {"is_restricted": not member}
    harness.slack.fail("users.info", fault, fault, fault)
    await harness.ask("/ask why")
    await harness.wait_until_settled(1)

    assert (MEMBERS_ONLY in harness.slack.posts[-1].shown_text) is not member
    assert bool(harness.perplexity.requests) is member


async def test_a_member_is_asked_about_once_in_ten_minutes(harness: Driver) -> None:
    await asyncio.gather(*(harness.ask(f"/search why {n}", trigger=f"t{n}") for n in range(5)))
    await harness.wait_until_settled(5)

    assert [method for method, _ in harness.slack.calls].count("users.info") == 1


@pytest.mark.settings(allow_external_users=True)
async def test_people_from_elsewhere_are_answered_where_the_settings_allow_it(harness: Driver) -> None:
    harness.slack.workspace.profiles["U1"] = {"team_id": "T2", "is_stranger": True}
    async with await replace(harness.person, team="T2").mention("why"):
        await harness.wait_until_settled(1)

    # Once, for the language.
    assert [method for method, _ in harness.slack.calls].count("users.info") == 1
    assert len(harness.perplexity.requests) == 1


@pytest.mark.parametrize("action", ["retry", "stop"])
async def test_a_click_counts_in_the_workspace_that_was_asked_in(harness: Driver, database: str, action: str) -> None:
    await harness.ask("/ask why")
    await harness.wait_until_settled(1)
    await harness.execute("UPDATE questions SET team_id = 'T9'")
    ((question,),) = await rows(database, "SELECT id FROM questions")
    await harness.click_button(action, str(question), token="elsewhere")
    (told,) = [post for post in harness.slack.posts if post.payload.get("token") == "elsewhere"]

    assert "Only the person who asked" in told.shown_text
    assert await rows(database, "SELECT count(*) FROM questions") == [(1,)]
