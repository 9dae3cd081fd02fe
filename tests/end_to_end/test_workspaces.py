"""Two workspaces and an organization in one app: each gets its own token, its own people and its own rows."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from tests.fakes.person import Person
from tests.fakes.slack import Post
from tests.fakes.workspaces import Installations, many_workspaces

ORG_TEAM = "T7"


@pytest.fixture
async def app(database: str) -> AsyncIterator[Installations]:
    async with many_workspaces(database) as running:
        yield running


async def mention(person: Person, text: str, *, ts: str) -> int:
    async with await person.mention(text, ts=ts) as response:
        return response.status


def answers(posts: list[Post]) -> list[str]:
    return [post.workspace for post in posts if post.method == "chat.postMessage"]


async def wait_until_settled(app: Installations) -> None:
    await app.wait_for_rows(
        "SELECT count(*) FROM questions WHERE state IN ('received', 'working', 'delivering')", [(0,)]
    )


async def wait_until_answered(app: Installations, count: int) -> None:
    await app.wait_for_rows("SELECT count(*) FROM questions WHERE state = 'answered'", [(count,)])


async def test_each_workspace_is_answered_with_its_own_token(app: Installations) -> None:
    await app.install("T1")
    await app.install("T2")
    await app.install(None, enterprise="E1", organization=True)
    people = [
        app.person("T1"),
        app.person("T2"),
        app.person(ORG_TEAM, enterprise="E1", organization=True),
    ]
    # The same channel, person and moment everywhere: only the workspace differs.
    found = await asyncio.gather(*(mention(person, "why?", ts="1795255200.000100") for person in people))
    assert found == [200, 200, 200]
    await wait_until_answered(app, 3)

    called = {call.workspace for call in app.slack.answered if call.method in {"chat.postMessage", "users.info"}}
    assert called == {"T1", "T2", "E1"}
    assert sorted(answers(app.slack.posts)) == ["E1", "T1", "T2"]
    assert await app.rows("SELECT team_id FROM questions ORDER BY 1") == [("T1",), ("T2",), (ORG_TEAM,)]
    assert {call.error for call in app.slack.answered} == {""}


async def test_a_channel_of_one_workspace_is_never_tried_with_the_token_of_another(app: Installations) -> None:
    await app.install("T1")
    await app.install("T2")
    app.slack.installed["T1"].deleted = {"C2"}
    app.slack.installed["T2"].deleted = {"C1"}
    for round_ in range(5):
        ts = f"179525520{round_}.000100"
        async with await app.person("T1").mention("why?", ts=ts, channel="C1") as response:
            assert response.status == 200
        async with await app.person("T2").mention("why?", ts=ts, channel="C2") as response:
            assert response.status == 200
    await wait_until_answered(app, 10)

    tried = {(call.workspace, call.arguments.get("channel")) for call in app.slack.answered if call.arguments}
    assert ("T1", "C2") not in tried
    assert ("T2", "C1") not in tried
    assert {("T1", "C1"), ("T2", "C2")} <= tried


@pytest.mark.parametrize("context", [("T7", "E1"), ("E1", "E1"), (None, None), ("T1", None)])
async def test_who_writes_in_a_shared_channel_does_not_become_one_of_that_organization(
    app: Installations, context: tuple[str | None, str | None]
) -> None:
    """Slack may name the sender's workspace as the event's, here one that has the app for itself."""
    await app.install("T1")
    await app.install(None, enterprise="E1", organization=True)
    theirs = app.person(ORG_TEAM, enterprise="E1", organization=True)
    shared = {"team_id": "T1", "enterprise_id": None, "is_ext_shared_channel": True}
    shared |= dict(zip(("context_team_id", "context_enterprise_id"), context, strict=True))
    async with await replace(theirs, sent=theirs.sent | shared).mention(
        "why?", ts="1795255200.000100", user_team="T1"
    ) as response:
        assert response.status == 200
    assert await mention(app.person("T1"), "why?", ts="1795255300.000100") == 200
    await wait_until_settled(app)

    assert await app.rows("SELECT team_id, state FROM questions WHERE team_id = 'T1'") == [("T1", "answered")]
    assert answers(app.slack.posts).count("T1") == 1


async def test_a_person_who_is_an_admin_in_one_workspace_is_none_in_another(app: Installations) -> None:
    await app.install("T1")
    await app.install("T2")
    app.slack.installed["T1"].admins.add("U1")
    for team in ("T1", "T2"):
        async with await app.person(team).type_command("/pplx status", trigger=f"s-{team}") as response:
            assert response.status == 200
    await wait_until_answered(app, 2)

    said = {post.payload["token"]: post.shown_text for post in app.slack.posts if post.method == "response_url"}
    assert "admins" in said["s-T2"]
    assert said["s-T1"] != said["s-T2"]


async def test_a_guest_of_one_workspace_is_a_member_of_another(app: Installations) -> None:
    await app.install("T1")
    await app.install("T2")
    app.slack.installed["T1"].profiles["U1"] = {"is_restricted": True}
    for team in ("T1", "T2"):
        async with await app.person(team).type_command("/ask why", trigger=f"a-{team}") as response:
            assert response.status == 200
    await app.wait_for_rows("SELECT team_id, state FROM questions ORDER BY 1", [("T1", "failed"), ("T2", "answered")])


async def test_a_workspace_without_the_app_is_refused(app: Installations) -> None:
    await app.install("T1")
    async with await app.person("T2").type_command("/ask why", trigger="t1") as response:
        assert response.status == 403
    async with await app.person("T3", enterprise="E1", organization=True).mention("why") as response:
        assert (response.status, response.headers["x-slack-no-retry"]) == (403, "1")

    assert await app.rows("SELECT count(*) FROM questions") == [(0,)]


async def test_the_first_request_after_an_installation_is_answered(app: Installations) -> None:
    async with await app.person("T1").type_command("/ask why", trigger="t1") as response:
        assert response.status == 403
    await app.install("T1")
    async with await app.person("T1").type_command("/ask why", trigger="t2") as response:
        assert response.status == 200
    await wait_until_answered(app, 1)


async def test_a_workspace_that_is_taken_off_the_list_is_refused(app: Installations, database: str) -> None:
    await app.install("T1")
    await app.install("T2")
    from tests.driver import serving
    from tests.fakes.ports import free_port

    settings = app.settings.model_copy(update={"allowed_teams": "T2", "port": free_port()})
    async with serving(settings, database, work=False):
        for team, status in (("T1", 403), ("T2", 200)):
            person = Person(
                session=app.session,
                app_url=f"http://127.0.0.1:{settings.port}",
                response_url=app.slack.response_url,
                sent=app.person(team).sent,
            )
            async with await person.type_command("/ask why", trigger=f"o-{team}") as response:
                assert response.status == status


BUTTONS = ["retry", "stop", "go_deeper", "more_results", "sources"]


async def assert_does_nothing_elsewhere(app: Installations, action: str) -> None:
    """Use a button of one workspace in another."""
    await app.install("T1")
    await app.install("T2")
    async with await app.person("T1").type_command("/ask zebrafish", trigger="b1") as response:
        assert response.status == 200
    await wait_until_answered(app, 1)
    (question,) = (await app.rows("SELECT id::text FROM questions"))[0]
    asked, posted = len(app.perplexity.requests), len(app.slack.posts)
    # The same person, channel and id of a question, in another workspace.
    async with await app.person("T2").click(action, question) as response:
        assert response.status == 200
    async with await app.person("T2").type_command("/ask more", trigger="b2") as response:
        assert response.status == 200
    await wait_until_answered(app, 2)

    assert len(app.perplexity.requests) == asked + 1
    shown = [post.shown_text for post in app.slack.posts[posted:] if post.payload.get("token") != "b2"]
    assert all("zebrafish" not in text for text in shown)
    assert app.slack.views.stack("U1") == ()
    assert await app.rows("SELECT team_id, state FROM questions ORDER BY 1") == [("T1", "answered"), ("T2", "answered")]
    assert await app.rows("SELECT count(*) FROM feedback") == [(0,)]
    assert await app.rows("SELECT count(*) FROM shares") == [(0,)]
    if action in {"share", "sources"}:
        async with await app.person("T1").click(action, question, token="own") as response:
            assert response.status == 200
        await app.slack.wait_until(lambda: len(app.slack.views.stack("U1")) == 1)


@pytest.mark.parametrize("action", BUTTONS)
async def test_a_button_of_one_workspace_does_nothing_in_another(app: Installations, action: str) -> None:
    await assert_does_nothing_elsewhere(app, action)
