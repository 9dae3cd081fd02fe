"""A workspace with a key of its own for a search service: used for its questions alone, and kept encrypted."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from dataclasses import replace
from io import StringIO
from typing import Any

import pytest
from pydantic import SecretStr

from bot.features.data_requests.commands import People, Terminal, run_erase
from bot.features.provider_keys import NotKept, delete_key, list_keys, set_key
from bot.settings import read_keys
from bot.workspaces.encryption import KeyRing
from bot.workspaces.registry import Workspaces
from bot.workspaces.rotation import rotate_keys
from tests.fakes.model_server import KEY as MODEL_KEY
from tests.fakes.model_server import MODEL, FakeModelServer, Replies, Says, Turn, calls
from tests.fakes.openrouter import FakeOpenRouter
from tests.fakes.perplexity import FakePerplexity
from tests.fakes.workspaces import KEY, SECOND_KEY, Installations, many_workspaces

pytestmark = pytest.mark.features("checking", "data_requests", "deepdive", "provider_keys")

RING = KeyRing.of(read_keys(KEY))
APP_S, OWN = "pplx-test-key", "pplx-of-the-workspace"


@pytest.fixture
async def app(database: str) -> AsyncIterator[Installations]:
    async with many_workspaces(database, keys=None) as running:
        await running.install("T1")
        await running.install("T2")
        yield running


async def ask(app: Installations, team: str, trigger: str, line: str = "/ask why") -> None:
    found = app.app.installation
    assert isinstance(found, Workspaces)
    found.forget(team)  # as half a minute does
    async with await app.person(team).type_command(line, trigger=trigger) as response:
        assert response.status == 200
    await app.wait_for_rows(
        "SELECT count(*) FROM questions WHERE state IN ('received', 'working', 'delivering')", [(0,)]
    )


def used(perplexity: FakePerplexity) -> list[str]:
    return [request.headers["Authorization"].removeprefix("Bearer ") for request in perplexity.requests]


async def test_a_key_is_used_for_its_workspace_alone(app: Installations) -> None:
    await set_key(app.database, "T1", "perplexity", f" {OWN}\n", keys=RING)
    for number, team in enumerate(("T1", "T2", "T1")):
        await ask(app, team, f"k{number}")
    assert used(app.perplexity) == [OWN, APP_S, OWN]

    await delete_key(app.database, "T1", "perplexity")
    await ask(app, "T1", "k9")
    assert used(app.perplexity)[-1] == APP_S


LINES = (
    "/search about {team}",
    "/ask about {team}",
    "/ask --model high about {team}",
    "/deepdive about {team}",
    "/pplx check All is about {team}.",
    "/ask --agent about {team}",
)
"""Everything that asks a service, with a text that says whose question it is."""


async def test_at_once_each_question_leaves_with_the_key_of_its_own_workspace(database: str) -> None:
    """Workspaces that bring a key, one that does not, and one of an organization that does."""
    keys = {"T1": "pplx-own-1", "T2": "pplx-own-2", "T7": "pplx-own-7", "T8": APP_S}

    def turn(messages: list[dict[str, Any]]) -> Turn:
        team = re.search(r"about (T\d)", str(messages))
        assert team is not None
        found = any(message["role"] == "tool" for message in messages)
        return Says(text="So.") if found else calls("search_pages", query=f"about {team[1]}")

    async with FakeModelServer(turn) as model:
        agent: dict[str, Any] = {"agent_model": MODEL, "agent_base_url": model.base_url}
        async with many_workspaces(
            database,
            keys=None,
            providers="perplexity",
            allowed_teams="T1,T2,T8,E1",
            open_questions_per_user=0,
            agent_api_key=SecretStr(MODEL_KEY),
            **agent,
        ) as app:
            for team in ("T1", "T2", "T8"):
                await app.install(team)
            await app.install(None, enterprise="E1", organization=True)
            for owner, key in (("T1", keys["T1"]), ("T2", keys["T2"]), ("E1", keys["T7"])):
                await set_key(database, owner, "perplexity", key, keys=RING)
                await set_key(database, owner, "agent", f"model-{key}", keys=RING)
            people = {team: app.person(team) for team in ("T1", "T2", "T8")}
            people["T7"] = app.person("T7", enterprise="E1", organization=True)
            sent = [
                people[team].type_command(line.format(team=team), trigger=f"{team}-{number}-{round_}")
                for round_ in range(2)
                for number, line in enumerate(LINES)
                for team in people
            ]
            assert {response.status for response in await asyncio.gather(*sent)} == {200}
            done = "SELECT count(*) FROM questions WHERE state = 'answered'"
            await app.wait_for_rows(done, [(len(sent),)], seconds=60)
            begun = {
                (named[1], request.headers["Authorization"].removeprefix("Bearer "))
                for request in app.perplexity.requests
                if (named := re.search(r"about (T\d)", str(request.json)))
            }
        assert begun == set(keys.items())
        asked = {
            (named[1], str(key).removeprefix("Bearer "))
            for request, key in zip(model.requests, model.keys, strict=True)
            if (named := re.search(r"about (T\d)", str(request)))
        }
    assert asked == {(team, MODEL_KEY if team == "T8" else f"model-{key}") for team, key in keys.items()}


async def test_the_database_has_no_key_in_clear_and_the_ring_changes(app: Installations) -> None:
    await set_key(app.database, "T1", "perplexity", OWN, keys=RING)
    assert OWN not in str(await app.rows("SELECT * FROM provider_keys"))
    assert "pplx" not in str(await app.rows("SELECT secret FROM provider_keys"))
    both = KeyRing.of(read_keys(f"{SECOND_KEY},{KEY}"))
    assert (await rotate_keys(app.database, both)).changed == 3

    assert await list_keys(app.database) != "No workspace has a key of its own."


async def test_a_key_in_the_row_of_another_workspace_is_worthless(app: Installations) -> None:
    await set_key(app.database, "T1", "perplexity", OWN, keys=RING)
    await app.execute("UPDATE provider_keys SET id = 'T2'")
    found = app.app.installation
    assert isinstance(found, Workspaces)
    found.forget("T2")
    async with await app.person("T2").type_command("/ask why", trigger="r1") as response:
        assert response.status == 503  # another process may have the key to it

    assert used(app.perplexity) == []


async def test_the_failures_of_a_bad_key_are_its_workspace_s_own(database: str) -> None:
    async with many_workspaces(database, providers="perplexity") as app:
        for team in ("T1", "T2"):
            await app.install(team)
        await set_key(database, "T1", "perplexity", OWN, keys=RING)
        await ask(app, "T1", "bad")
        await ask(app, "T2", "good")

        assert used(app.perplexity)[-1] == APP_S
        assert await app.rows("SELECT DISTINCT team_id, state FROM questions ORDER BY 1") == [
            ("T1", "failed"),
            ("T2", "answered"),
        ]
        assert OWN not in "".join(post.shown_text for post in app.slack.posts)
    assert await app.rows("SELECT count(*) FROM attempts WHERE error_class IS NOT NULL") == [(0,)]


async def test_uninstalling_deletes_the_key(app: Installations) -> None:
    await set_key(app.database, "T1", "perplexity", OWN, keys=RING)
    await app.lifecycle(
        type(app.person("T1"))(**vars(app.person("T1")) | {"sent": app.person("T1").sent | {"event_time": 4e9}}),
        {"type": "app_uninstalled"},
    )
    await app.wait_for_rows("SELECT count(*) FROM provider_keys", [(0,)])


@pytest.mark.parametrize("service", ["agent", "openrouter"])
async def test_the_agent_s_model_is_asked_with_the_key_of_the_workspace(database: str, service: str) -> None:
    """At an address of its own it is a service of its own; at that of OpenRouter it takes the same key."""
    async with FakeModelServer([Says(text="So it is.")]) as model:
        at = {"openrouter_api_key": SecretStr(MODEL_KEY), "openrouter_base_url": model.base_url}
        agent: dict[str, Any] = {"agent_model": MODEL, "agent_base_url": model.base_url}
        changes = agent | {"agent_api_key": SecretStr(MODEL_KEY)} | (at if service == "openrouter" else {})
        async with many_workspaces(database, keys=None, **changes) as app:
            for team in ("T1", "T2"):
                await app.install(team)
            await set_key(database, "T1", service, f"sk-{OWN}", keys=RING)
            for number, team in enumerate(("T1", "T2", "T1")):
                await ask(app, team, f"agent{number}", "/ask --agent why")
    assert model.keys == [f"Bearer sk-{OWN}", f"Bearer {MODEL_KEY}", f"Bearer sk-{OWN}"]
    # Its searches are not the model's.
    assert OWN not in str(used(app.perplexity))


async def test_an_error_of_the_agent_s_model_does_not_show_the_key(
    database: str, caplog: pytest.LogCaptureFixture
) -> None:
    refused = Replies(status=401, body={"error": {"message": f"Incorrect API key provided: sk-{OWN}."}})
    async with FakeModelServer([refused]) as model:
        agent: dict[str, Any] = {"agent_model": MODEL, "agent_base_url": model.base_url}
        async with many_workspaces(
            database, keys=None, providers="perplexity", agent_api_key=SecretStr(MODEL_KEY), **agent
        ) as app:
            await app.install("T1")
            await set_key(database, "T1", "agent", f"sk-{OWN}", keys=RING)
            await ask(app, "T1", "agent", "/ask --agent why")
            shown = [post.shown_text for post in app.slack.posts]
            kept = await app.rows("SELECT q::text FROM questions q") + await app.rows("SELECT a::text FROM attempts a")
    assert model.keys
    assert set(model.keys) == {f"Bearer sk-{OWN}"}
    assert OWN not in f"{shown} {kept} {caplog.text}"


RUNNING = "UPDATE questions SET state = 'working', run_id = 'resp_1'"
"""What a worker that was killed leaves of a long question."""


@pytest.fixture(params=["before", "after"])
def begun(request: pytest.FixtureRequest) -> str:
    """Whether the workspace's run begins before or after it has a key of its own."""
    return str(request.param)


async def test_the_runs_of_a_workspace_that_leaves_are_cancelled_with_the_key_that_they_were_begun_with(
    database: str, begun: str
) -> None:
    key = APP_S if begun == "before" else OWN
    async with many_workspaces(database, work=False, keys=key) as web:
        await web.install("T1")
        if begun == "after":
            await set_key(database, "T1", "perplexity", OWN, keys=RING)
        async with await web.person("T1").type_command("/ask --model high why", trigger="run") as response:
            assert response.status == 200
        await web.execute(RUNNING)
        if begun == "before":
            await set_key(database, "T1", "perplexity", OWN, keys=RING)
        assert web.perplexity.cancelled == []

        sender = replace(web.person("T1"), sent=web.person("T1").sent | {"event_time": 4_000_000_000})
        assert await web.lifecycle(sender, {"type": "app_uninstalled"}) == 200
        async with asyncio.timeout(10):
            await web.perplexity.cancel_requested.wait()
        assert web.perplexity.cancelled == ["resp_1"]
        assert used(web.perplexity)[-1] == key
        await web.wait_for_rows("SELECT count(*) FROM provider_keys", [(0,)])


async def test_the_runs_of_a_workspace_that_its_organization_takes_off_are_cancelled_with_its_key(
    database: str,
) -> None:
    async with many_workspaces(database, work=False, keys=OWN) as web:
        await web.install(None, enterprise="E1", organization=True)
        await set_key(database, "E1", "perplexity", OWN, keys=RING)
        person = web.person("T7", enterprise="E1", organization=True)
        async with await person.type_command("/ask --model high why", trigger="run") as response:
            assert response.status == 200
        await web.execute(RUNNING)

        revoked = {"type": "team_access_revoked", "team_ids": ["T7"]}
        assert await web.lifecycle(web.organization("E1"), revoked) == 200
        async with asyncio.timeout(10):
            await web.perplexity.cancel_requested.wait()
        assert web.perplexity.cancelled == ["resp_1"]
    assert (await list_keys(database)).startswith("E1")


async def test_the_runs_of_a_person_who_is_erased_are_cancelled_with_the_keys_of_their_workspaces(
    database: str,
) -> None:
    async with many_workspaces(database, work=False, keys=None) as web:
        for team in ("T1", "T2"):
            await web.install(team)
            async with await web.person(team).type_command("/ask --model high why", trigger=team) as response:
                assert response.status == 200
        await set_key(database, "T1", "perplexity", OWN, keys=RING)
        await web.execute("UPDATE questions SET state = 'working', run_id = 'resp_' || team_id")

        terminal = Terminal(stdin=StringIO(), stdout=StringIO(), stderr=StringIO())
        people = People(users=("U1",))
        assert await run_erase(web.settings, people, confirmed=True, conninfo=database, terminal=terminal) == 0
        sent = {request.path: request.headers["Authorization"] for request in web.perplexity.requests}
    assert sent == {
        "/v1/agent/resp_T1/cancel": f"Bearer {OWN}",
        "/v1/agent/resp_T2/cancel": f"Bearer {APP_S}",
    }


async def test_a_key_does_not_outlive_its_installation_if_the_app_is_installed_again_at_once(
    app: Installations,
) -> None:
    await set_key(app.database, "T1", "perplexity", OWN, keys=RING)
    await app.execute("UPDATE workspaces SET state = 'uninstalled', closed_token_hash = token_hash WHERE id = 'T1'")
    await app.install("T1")

    assert await app.rows("SELECT count(*) FROM provider_keys") == [(0,)]


async def test_what_fails_with_the_app_s_key_is_the_admin_s_to_know_whoever_asked(database: str) -> None:
    async with (
        FakeOpenRouter() as other,
        many_workspaces(
            database,
            keys=None,
            providers="openrouter,perplexity",
            openrouter_api_key=SecretStr("sk-or-bad"),
            openrouter_base_url=other.base_url,
        ) as app,
    ):
        await app.install("T1")
        await set_key(database, "T1", "perplexity", OWN, keys=RING)
        await ask(app, "T1", "mixed")
        assert used(app.perplexity) == [OWN]
        failed = "SELECT provider, error_class FROM attempts WHERE error_class IS NOT NULL"
        await app.wait_for_rows(failed, [("OpenRouter", "AuthenticationError")])


REFUSED = {
    "not installed in T9": ("T9", "perplexity", OWN),
    "no key": ("T1", "perplexity", ""),
    "one word": ("T1", "perplexity", "two words"),
    "SLACK_BOT_TOKEN; a key starts with pplx-": ("T1", "perplexity", "xoxb-1-2"),
    "SLACK_BOT_TOKEN; use a key of the service": ("T1", "openrouter", "xoxb-1-2"),
    "user token": ("T1", "agent", "xoxp-1-2"),
}
"""Keys for workspaces and services, by what is said about them."""


@pytest.mark.parametrize("why", REFUSED)
async def test_what_is_no_key_is_refused_and_not_shown(app: Installations, why: str) -> None:
    team, provider, key = REFUSED[why]
    with pytest.raises(NotKept, match=why) as refused:
        await set_key(app.database, team, provider, key, keys=RING)

    assert not key or key not in str(refused.value)
    assert await app.rows("SELECT count(*) FROM provider_keys") == [(0,)]
