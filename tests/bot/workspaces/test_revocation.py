"""After an uninstallation, tokens, jobs, schedules and texts are gone, and late events are refused."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from itertools import product
from time import monotonic
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from bot.workspaces.registry import CACHE_SECONDS, CLEAN_UP_SECONDS, Workspaces
from tests.driver import serving
from tests.fakes.person import BOT_USER, Person
from tests.fakes.ports import free_port
from tests.fakes.slack import Fault
from tests.fakes.workspaces import Installations, many_workspaces
from tests.rare import one_in

pytestmark = pytest.mark.trust(7)

UNINSTALLED = {"type": "app_uninstalled"}
REVOKED = {"type": "tokens_revoked", "tokens": {"oauth": [], "bot": [BOT_USER]}}


@pytest.fixture
async def app(database: str) -> AsyncIterator[Installations]:
    async with many_workspaces(database) as running:
        yield running


SET_UP = """
    WITH asked AS (
        SELECT * FROM questions q WHERE NOT EXISTS (SELECT FROM person_settings p WHERE p.team_id = q.team_id)),
    chosen AS (
        INSERT INTO person_settings (team_id, user_id, settings)
        SELECT team_id, user_id, '{"language": "de"}' FROM asked)
    INSERT INTO digests (id, team_id, user_id, number, channel_id, category, topic, days, at, zone, silence, next_at)
    SELECT id, team_id, user_id, 1, channel_id, 'technology', 'zebrafish', '{0}', '9:00', 'UTC', '{}',
        now() + interval '1 day'
    FROM asked
"""
"""Settings and a digest for who asked in a workspace, as the features for them write these."""


async def use(app: Installations, person: Person, name: str) -> None:
    """Ask a question, and have something set and a digest made, as far as the tables know."""
    async with await person.type_command("/ask why", trigger=name) as response:
        assert response.status == 200
    await app.wait_for_rows("SELECT DISTINCT state FROM questions", [("answered",)])
    await app.execute(SET_UP)


async def send(person: Person, event: dict[str, Any], **sent: Any) -> int:
    changed = Person(**vars(person) | {"sent": person.sent | {"event_time": 4_000_000_000} | sent})
    async with await changed.event(event, id=str(monotonic())) as response:
        return response.status


@pytest.mark.parametrize(
    "events", [[UNINSTALLED], [REVOKED, UNINSTALLED], [UNINSTALLED, REVOKED], [UNINSTALLED, UNINSTALLED]], ids=str
)
async def test_an_uninstalled_workspace_is_gone_and_the_others_stay(
    app: Installations, events: list[dict[str, Any]]
) -> None:
    for team in ("T1", "T2"):
        await app.install(team)
        await use(app, app.person(team), f"u{team}")
    assert [await send(app.person("T1"), event) for event in events] == [200] * len(events)

    await app.wait_for_rows("SELECT DISTINCT team_id FROM questions", [("T2",)])
    kept = "SELECT team_id FROM digests UNION SELECT team_id FROM person_settings UNION SELECT id FROM installations"
    await app.wait_for_rows(kept, [("T2",)])
    assert await app.rows("SELECT id, state FROM workspaces ORDER BY 1") == [("T1", "uninstalled"), ("T2", "open")]
    async with await app.person("T1").mention("late", ts="1795255201.000100") as late:
        assert late.status == 403
    async with await app.person("T2").type_command("/ask more", trigger="more") as response:
        assert response.status == 200


async def test_a_text_that_is_locked_while_the_others_are_deleted_is_deleted_soon(app: Installations) -> None:
    await app.install("T1")
    for number in (1, 2):
        await use(app, app.person("T1"), f"l{number}")
    async with await psycopg.AsyncConnection.connect(app.database) as other:
        await other.execute("SELECT FROM questions ORDER BY received_at LIMIT 1 FOR UPDATE")
        assert await send(app.person("T1"), UNINSTALLED) == 200
        await app.wait_for_rows("SELECT count(*) FROM questions", [(1,)])

    await app.wait_for_rows("SELECT count(*) FROM questions", [(0,)], seconds=20)


async def test_a_revoked_token_is_deleted_and_its_digests_wait(app: Installations) -> None:
    await app.install("T1")
    await use(app, app.person("T1"), "r")
    assert await send(app.person("T1"), REVOKED) == 200
    assert await app.rows("SELECT id FROM installations") == []  # before Slack has its answer
    await app.wait_for_rows("SELECT state FROM digests", [("paused",)])
    assert await app.rows("SELECT count(*) FROM questions") == [(1,)]

    await app.install("T1")
    assert await app.rows("SELECT state FROM workspaces") == [("open",)]
    assert await app.rows("SELECT state FROM digests") == [("active",)]
    async with await app.person("T1").type_command("/ask again", trigger="again") as response:
        assert response.status == 200


async def test_an_event_of_before_the_installation_changes_nothing(app: Installations) -> None:
    await app.install("T1")
    assert await send(app.person("T1"), UNINSTALLED, event_time=1_000_000_000) == 200

    assert await app.rows("SELECT state FROM workspaces") == [("open",)]
    assert await app.rows("SELECT id FROM installations") == [("T1",)]


@pytest.mark.parametrize(
    ("ends_first", "answer", "status", "kept"),
    [
        pytest.param(True, None, 200, True, id="uninstalled, then installed again"),
        pytest.param(False, None, 200, False, id="installed, then uninstalled"),
        pytest.param(True, Fault(status=500), 503, True, id="Slack does not say"),
    ],
)
async def test_of_an_end_in_the_second_of_the_installation_slack_is_asked(
    app: Installations, ends_first: bool, answer: Fault | None, status: int, kept: bool
) -> None:
    """`event_time` has whole seconds, so the event alone does not say which of the two came first."""
    token = await app.install("T1")
    await use(app, app.person("T1"), "s")
    ((second,),) = await app.rows("SELECT floor(extract(epoch FROM installed_at))::bigint FROM installations")
    if not ends_first:
        app.slack.oauth.revoke(token)
    if answer is not None:
        app.slack.fail("auth.test", answer)
    assert await send(app.person("T1"), UNINSTALLED, event_time=second) == status
    assert await app.rows("SELECT id FROM installations") == ([("T1",)] if kept else [])
    if not kept:
        await app.wait_for_rows("SELECT text FROM questions", [])

    if status == 503:  # Slack sends it again
        app.slack.oauth.revoke(token)
        assert await send(app.person("T1"), UNINSTALLED, event_time=second) == 200
        assert await app.rows("SELECT id FROM installations") == []


async def test_an_event_of_a_workspace_does_not_end_its_organization(app: Installations) -> None:
    await app.install(None, enterprise="E1", organization=True)
    for team in ("T7", "T8"):
        await use(app, app.person(team, enterprise="E1", organization=True), f"o{team}")
    await app.install("T1")
    await use(app, app.person("T1"), "oT1")
    await app.install(None, enterprise="E2", organization=True)
    await use(app, app.person("T20", enterprise="E2", organization=True), "oT20")
    assert await send(app.person("T7", enterprise="E1"), UNINSTALLED) == 200
    assert await app.rows("SELECT id FROM installations ORDER BY 1") == [("E1",), ("E2",), ("T1",)]

    assert await send(app.person("T7", enterprise="E1", organization=True), UNINSTALLED) == 200
    await app.wait_for_rows("SELECT DISTINCT team_id FROM questions ORDER BY 1", [("T1",), ("T20",)])
    assert await app.rows("SELECT DISTINCT team_id FROM digests ORDER BY 1") == [("T1",), ("T20",)]
    assert await app.rows("SELECT id FROM installations ORDER BY 1") == [("E2",), ("T1",)]


ENDS = [
    # Of a whole organization, Slack names only the organization; or the authorization says so.
    {"team_id": None, "enterprise_id": "E1", "authorizations": []},
    {
        "team_id": None,
        "enterprise_id": "E1",
        "authorizations": [{"enterprise_id": "E1", "is_enterprise_install": True}],
    },
    {
        "team_id": "T7",
        "enterprise_id": "E1",
        "authorizations": [{"enterprise_id": "E1", "is_enterprise_install": True}],
    },
    {"team_id": "E1", "enterprise_id": "E1", "authorizations": []},
]


@pytest.mark.parametrize(
    ("events", "sent"),
    one_in(5, product([[UNINSTALLED], [REVOKED, UNINSTALLED], [UNINSTALLED, REVOKED]], ENDS)),
    ids=str,
)
async def test_an_organization_that_uninstalls_the_app_is_gone_however_slack_names_it(
    app: Installations, sent: dict[str, Any], events: list[dict[str, Any]]
) -> None:
    await app.install(None, enterprise="E1", organization=True)
    await app.install("T1")
    await use(app, app.person("T7", enterprise="E1", organization=True), "oT7")
    await use(app, app.person("T1"), "oT1")
    assert [await send(app.organization("E1"), event, **sent) for event in events] == [200] * len(events)

    assert await app.rows("SELECT id FROM installations") == [("T1",)]
    await app.wait_for_rows("SELECT DISTINCT team_id FROM questions", [("T1",)])
    await app.wait_for_rows("SELECT DISTINCT team_id FROM digests", [("T1",)])
    late = app.person("T7", enterprise="E1", organization=True)
    async with await late.mention("late", ts="1795255201.000100") as response:
        assert response.status == 403


def access(kind: str, *teams: str) -> dict[str, Any]:
    return {"type": f"team_access_{kind}", "team_ids": list(teams)}


async def status(person: Person, trigger: str) -> int:
    async with await person.type_command("/ask why", trigger=trigger) as response:
        return response.status


async def test_a_workspace_that_its_organization_takes_off_the_app_is_gone_and_the_others_stay(
    app: Installations,
) -> None:
    await app.install(None, enterprise="E1", organization=True)
    teams = {team: app.person(team, enterprise="E1", organization=True) for team in ("T7", "T8", "T9")}
    for team, person in teams.items():
        await use(app, person, f"u{team}")
    assert await send(app.organization("E1"), access("revoked", "T7", "T9")) == 200

    assert [await status(teams[team], f"at-once-{team}") for team in teams] == [403, 200, 403]
    kept = "SELECT team_id FROM {} UNION SELECT team_id FROM {} UNION SELECT team_id FROM {} ORDER BY 1"
    await app.wait_for_rows(kept.format("questions", "digests", "person_settings"), [("T8",)])
    assert await app.rows("SELECT id FROM installations") == [("E1",)]
    for number, late in enumerate((teams["T7"].mention, teams["T9"].send_direct_message)):
        async with await late("late", ts=f"179525520{number}.000100") as response:
            assert (response.status, response.headers["x-slack-no-retry"]) == (403, "1")
    closed = "SELECT team_id, after::text FROM audit WHERE what = 'workspace.close' ORDER BY 1"
    await app.wait_for_rows(closed, [("T7", '"uninstalled"'), ("T9", '"uninstalled"')])

    granted = access("granted", "T7")
    assert await send(app.organization("E1"), granted, event_time=4_000_000_001) == 200
    assert [await status(teams[team], f"granted-{team}") for team in teams] == [200, 200, 403]
    answered = "SELECT team_id, state FROM questions WHERE team_id <> 'T8'"
    await app.wait_for_rows(answered, [("T7", "answered")])
    # The work of a closed workspace is stopped again each minute; T7 is none any more.
    registry = app.app.installation
    assert isinstance(registry, Workspaces)
    at = monotonic() + CLEAN_UP_SECONDS
    registry.clock = lambda: at
    await registry.sweep()
    assert await app.rows(answered) == [("T7", "answered")]


async def test_what_slack_said_first_does_not_outlive_what_it_said_last(app: Installations) -> None:
    await app.install(None, enterprise="E1", organization=True)
    person = app.person("T7", enterprise="E1", organization=True)
    await use(app, person, "u")
    for kind, at in (("granted", 4_000_000_002), ("revoked", 4_000_000_001)):
        assert await send(app.organization("E1"), access(kind, "T7"), event_time=at) == 200
    assert await status(person, "after") == 200

    for kind, at in (("revoked", 4_000_000_004), ("granted", 4_000_000_003)):
        assert await send(app.organization("E1"), access(kind, "T7"), event_time=at) == 200
    assert await status(person, "again") == 403


async def test_an_organization_has_no_say_about_workspaces_of_others(app: Installations) -> None:
    for enterprise in ("E1", "E2"):
        await app.install(None, enterprise=enterprise, organization=True)
    await app.install("T1")
    theirs = app.person("T20", enterprise="E2", organization=True)
    await use(app, theirs, "e2")
    await use(app, app.person("T1"), "t1")
    count = await app.rows("SELECT count(*) FROM questions")
    assert await send(app.organization("E1"), access("revoked", "T1")) == 200
    assert await send(app.organization("E1"), access("revoked", "T20")) == 200
    assert await send(app.organization("E9"), access("revoked", "T1", "T20")) == 200
    odd: list[Any] = [None, "T1", [], [None, 1, {}], {"T1": 1}]
    for teams in odd:
        assert await send(app.organization("E1"), {"type": "team_access_revoked", "team_ids": teams}) == 200
    registry = app.app.installation
    assert isinstance(registry, Workspaces)
    await registry.sweep()

    assert await app.rows("SELECT count(*) FROM questions") == count
    # T1 has an installation of its own, whatever became of its organization's.
    assert await status(app.person("T1"), "own") == 200
    assert await status(theirs, "theirs") == 200


async def test_an_organization_that_installs_the_app_anew_has_it_for_all_its_workspaces(app: Installations) -> None:
    await app.install(None, enterprise="E1", organization=True)
    person = app.person("T7", enterprise="E1", organization=True)
    await use(app, person, "u")
    assert await send(app.organization("E1"), access("revoked", "T7")) == 200
    assert await send(app.organization("E1"), UNINSTALLED) == 200
    await app.install(None, enterprise="E1", organization=True)
    assert await status(person, "again") == 200

    # Late, from before the installation.
    assert await send(app.organization("E1"), access("revoked", "T7"), event_time=1_000_000_000) == 200
    assert await status(person, "more") == 200


async def test_a_person_of_a_workspace_that_was_taken_off_clicks_in_vain(app: Installations) -> None:
    """In the clicks of an app of a whole organization, Slack names only the person's workspace."""
    await app.install(None, enterprise="E1", organization=True)
    person = app.person("T7", enterprise="E1", organization=True)
    await use(app, person, "u")
    clicks = replace(person, team="T7", sent=person.sent | {"team": None, "team_id": None})
    async with await clicks.click("retry", str(uuid4())) as response:
        assert response.status == 200
    assert await send(app.organization("E1"), access("revoked", "T7")) == 200
    async with await clicks.click("retry", str(uuid4())) as response:
        assert response.status == 403


async def test_a_workspace_whose_organization_has_the_app_goes_on_without_its_own(app: Installations) -> None:
    """As when an organization takes over the app that one of its workspaces had installed."""
    registry = app.app.installation
    assert isinstance(registry, Workspaces)
    of_organization = app.person("T1", enterprise="E1", organization=True)
    await app.install(None, enterprise="E1", organization=True)
    await use(app, of_organization, "before")
    await app.install("T1", enterprise="E1")
    at = [monotonic() + CACHE_SECONDS]
    registry.clock = lambda: at[0]
    async with await of_organization.type_command("/ask more", trigger="both") as response:
        assert response.status == 200
    assert await send(app.person("T1", enterprise="E1"), UNINSTALLED) == 200
    assert await app.rows("SELECT id FROM installations") == [("E1",)]

    # The work of a closed workspace is stopped again each minute.
    for minute in range(1, 3):
        at.append(at.pop() + CLEAN_UP_SECONDS)
        await registry.sweep()
        async with await of_organization.type_command("/ask why", trigger=f"after{minute}") as response:
            assert response.status == 200
        await app.wait_for_rows(
            "SELECT state, count(*) FROM questions GROUP BY 1", [("answered", 2 + minute)], seconds=10
        )
    assert await app.rows("SELECT state FROM digests") == [("active",)]


@pytest.mark.parametrize("organization", [False, True])
async def test_other_processes_notice_within_a_minute(app: Installations, organization: bool) -> None:
    await app.install("T1", enterprise="E1", organization=organization)
    settings = app.settings.model_copy(update={"port": free_port()})
    async with serving(settings, app.database, work=False):
        person = app.person("T1", enterprise="E1" if organization else None, organization=organization)
        other = Person(**vars(person) | {"app_url": f"http://127.0.0.1:{settings.port}"})
        async with await other.type_command("/ask why", trigger="o1") as response:
            assert response.status == 200
        taken_off = await send(app.organization("E1"), access("revoked", "T1")) if organization else None
        assert (taken_off or await send(person, REVOKED)) == 200
        began, number = monotonic(), 0
        async with asyncio.timeout(60):
            while True:
                number += 1
                async with await other.type_command("/search why", trigger=f"o2-{number}") as response:
                    if response.status == 403:
                        break
                await asyncio.sleep(0.2)

    assert monotonic() - began < 10


async def test_a_question_that_waits_is_not_answered_after_the_end(database: str) -> None:
    async with many_workspaces(database, work=False) as web:
        await web.install("T1")
        async with await web.person("T1").type_command("/ask why", trigger="w1") as response:
            assert response.status == 200
        assert await send(web.person("T1"), REVOKED) == 200
        calls = len(web.slack.calls)
        settings = web.settings.model_copy(update={"port": free_port()})
        async with serving(settings, database):
            await web.wait_for_rows("SELECT state FROM questions", [("stopped",)])

        assert web.perplexity.requests == []
        assert web.slack.calls[calls:] == []
