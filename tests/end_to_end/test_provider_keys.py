"""A workspace with a key of its own for a search service: used for its questions alone, and kept encrypted."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from bot.settings import read_keys
from bot.workspaces.encryption import KeyRing
from bot.workspaces.provider_keys import NotKept, delete_key, list_keys, set_key
from bot.workspaces.registry import Workspaces
from bot.workspaces.rotation import rotate_keys
from tests.fakes.perplexity import FakePerplexity
from tests.fakes.workspaces import KEY, SECOND_KEY, Installations, many_workspaces

RING = KeyRing.of(read_keys(KEY))
APP_S, OWN = "pplx-test-key", "pplx-of-the-workspace"


@pytest.fixture
async def app(database: str) -> AsyncIterator[Installations]:
    async with many_workspaces(database, keys=None) as running:
        await running.install("T1")
        await running.install("T2")
        yield running


async def ask(app: Installations, team: str, trigger: str) -> None:
    found = app.app.installation
    assert isinstance(found, Workspaces)
    found.forget(team)  # as half a minute does
    async with await app.person(team).type_command("/ask why", trigger=trigger) as response:
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
        assert response.status == 403

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


@pytest.mark.parametrize(
    ("team", "key", "why"),
    [
        ("T9", OWN, "not installed in T9"),
        ("T1", "", "no key"),
        ("T1", "two words", "one word"),
        ("T1", "xoxb-1-2", "SLACK_BOT_TOKEN"),
    ],
)
async def test_what_is_no_key_is_refused_and_not_shown(app: Installations, team: str, key: str, why: str) -> None:
    with pytest.raises(NotKept, match=why) as refused:
        await set_key(app.database, team, "perplexity", key, keys=RING)

    assert not key or key not in str(refused.value)
    assert await app.rows("SELECT count(*) FROM provider_keys") == [(0,)]
