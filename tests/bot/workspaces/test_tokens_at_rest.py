"""Tokens are encrypted for their workspace, with a ring of keys that can be changed while the app serves."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import replace
from itertools import count

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st
from psycopg.rows import dict_row
from psycopg.sql import SQL, Identifier
from pydantic import SecretStr, ValidationError

from bot.errors import Undecryptable
from bot.settings import Settings, read_keys
from bot.workspaces.encryption import KeyRing, place_of
from bot.workspaces.registry import CACHE_SECONDS, Workspaces
from bot.workspaces.rotation import BATCH, rotate, rotate_keys, summary, unreadable
from tests.driver import execute, serving
from tests.fakes.ports import free_port
from tests.fakes.workspaces import KEY, SECOND_KEY, Installations, many_workspaces

pytestmark = pytest.mark.trust(6)

RING = KeyRing.of(read_keys(KEY))
BOTH = KeyRing.of(read_keys(f"{SECOND_KEY},{KEY}"))
NEW = KeyRing.of(read_keys(SECOND_KEY))


@pytest.fixture
async def app(database: str) -> AsyncIterator[Installations]:
    async with many_workspaces(database) as running:
        running.slack.oauth.rotates = True
        yield running


async def dump(database: str) -> str:
    """Return every value of every table."""
    tables = "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
    async with await psycopg.AsyncConnection.connect(database) as connection:
        found = []
        for (table,) in await (await connection.execute(tables)).fetchall():
            values = SQL("SELECT t::text FROM {} t").format(Identifier(table))
            found.append(await (await connection.execute(values)).fetchall())
    return str(found)


async def ask(app: Installations, team: str, trigger: str) -> int:
    async with await app.person(team).type_command("/ask why", trigger=trigger) as response:
        return response.status


async def test_a_dump_of_the_database_has_no_token(app: Installations, caplog: pytest.LogCaptureFixture) -> None:
    tokens = [await app.install("T1"), await app.install(None, enterprise="E1", organization=True)]
    assert await ask(app, "T1", "t1") == 200
    await app.wait_for_rows("SELECT state FROM questions", [("answered",)])

    kept = await dump(app.database)
    assert "T1" in kept
    for secret in ("xox", "pplx-", *tokens):
        assert secret not in kept
        assert secret not in caplog.text


async def test_a_token_in_the_row_of_another_workspace_is_worthless(app: Installations) -> None:
    await app.install("T1")
    await app.install("T2")
    await execute(
        app.database,
        "UPDATE installations i SET bot_token = o.bot_token, refresh_token = o.refresh_token"
        " FROM installations o WHERE o.id <> i.id",
    )
    calls = len(app.slack.calls)
    settings = app.settings.model_copy(update={"port": free_port()})
    async with serving(settings, app.database):
        for team in ("T1", "T2"):
            person = app.person(team)
            elsewhere = type(person)(**vars(person) | {"app_url": f"http://127.0.0.1:{settings.port}"})
            async with await elsewhere.type_command("/ask why", trigger=f"s-{team}") as response:
                assert response.status == 503

    assert app.slack.calls[calls:] == []
    async with await psycopg.AsyncConnection.connect(app.database, row_factory=dict_row) as reading:
        places = await unreadable(reading, RING)
    assert places == ["T1:bot_token", "T2:bot_token", "T1:refresh_token", "T2:refresh_token"]


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE installations SET bot_token = refresh_token",
        "UPDATE installations SET refresh_token = bot_token",
        "UPDATE installations SET bot_token = overlay(bot_token placing 'AAAA' from 20)",
        "UPDATE installations SET bot_token = 'xoxb-in-clear'",
    ],
)
async def test_a_secret_in_another_column_or_form_is_worthless(app: Installations, change: str) -> None:
    await app.install("T1")
    async with await psycopg.AsyncConnection.connect(app.database, row_factory=dict_row) as connection:
        await connection.execute(change.encode())
        assert len(await unreadable(connection, RING)) == 1


@given(st.text(), st.text(), st.data())
def test_only_the_same_place_and_the_same_text_decrypt(secret: str, place: str, data: st.DataObject) -> None:
    secret, place = (one.encode("utf-8", "ignore").decode() for one in (secret, place))
    kept = RING.encrypt(secret, place=place)
    assert RING.decrypt(kept, place=place) == secret
    assert kept != RING.encrypt(secret, place=place)
    with pytest.raises(Undecryptable):
        RING.decrypt(kept, place=f"{place}x")
    with pytest.raises(Undecryptable):
        NEW.decrypt(kept, place=place)
    at = data.draw(st.integers(0, len(kept) - 1))
    changed = f"{kept[:at]}{'A' if kept[at] != 'A' else 'B'}{kept[at + 1 :]}"
    with suppress(Undecryptable):  # the last sign of base64 may hold unused bits
        assert RING.decrypt(changed, place=place) == secret


@pytest.mark.parametrize(
    "value",
    ["short", KEY[:-4], KEY + "AAAA", f"{KEY},{KEY}", f"{KEY},nonsense", "é" * 44, "0" * 63, f"{KEY};{SECOND_KEY}"],
)
def test_a_ring_of_another_form_is_refused_without_its_value(value: str) -> None:
    with pytest.raises(ValidationError) as refused:
        Settings(encryption_keys=SecretStr(value))
    message = str(refused.value)

    assert value not in message
    assert KEY not in message
    assert "openssl rand -base64 32" in message or "two of the keys are the same" in message


async def fill(database: str, count: int) -> None:
    async with await psycopg.AsyncConnection.connect(database) as connection:
        for number in range(count):
            owner = f"T{number:05}"
            await connection.execute(
                "INSERT INTO installations (id, team_id, is_enterprise_install, bot_token) VALUES (%s, %s, false, %s)",
                (owner, owner, RING.encrypt(f"xoxb-{owner}", place=place_of(owner, "bot_token"))),
            )


QUESTIONS = 200


async def ask_many(app: Installations, count: int) -> set[int]:
    """Ask questions of two workspaces' people in turn; return the statuses of the acknowledgements."""
    statuses = set()
    for number in range(count):
        person = app.person(f"T{number % 2 + 1}", user=f"U{number}")
        async with await person.type_command("/ask why", trigger=f"l{number}") as response:
            statuses.add(response.status)
    return statuses


async def test_a_process_without_the_new_key_leaves_it_to_those_that_have_it(app: Installations) -> None:
    await app.install("T1")
    settings = app.settings.model_copy(
        update={"port": free_port(), "encryption_keys": SecretStr(f"{SECOND_KEY},{KEY}")}
    )
    await rotate_keys(app.database, BOTH)
    assert isinstance(app.app.installation, Workspaces)
    app.app.installation.forget("T1")

    async with await app.person("T1").mention("why") as refused:
        assert (refused.status, "x-slack-no-retry" in refused.headers) == (503, False)
    async with serving(settings, app.database):
        for number in range(3):
            person = replace(app.person("T1", user=f"U{number}"), app_url=f"http://127.0.0.1:{settings.port}")
            async with await person.type_command("/ask why", trigger=f"k{number}") as response:
                assert response.status == 200
        # Each is offered every five seconds, and chance decides which of the two processes sees it first.
        await app.wait_for_rows("SELECT state, count(*)::int FROM questions GROUP BY 1", [("answered", 3)], seconds=60)


async def test_keys_change_while_the_app_serves(app: Installations) -> None:
    await app.install("T1")
    await app.install("T2")
    await fill(app.database, 3 * BATCH)
    settings = app.settings.model_copy(
        update={"port": free_port(), "encryption_keys": SecretStr(f"{SECOND_KEY},{KEY}")}
    )
    # The processes get the new ring one by one; until all have it, some still encrypt with the old key.
    async with serving(settings, app.database):
        load = asyncio.create_task(ask_many(app, QUESTIONS))
        results = await asyncio.gather(rotate_keys(app.database, BOTH), rotate_keys(app.database, BOTH))
        await app.install("T2")  # by the process with the old ring
        assert not load.done()
        assert await load == {200}
        answered = "SELECT team_id, state, count(*)::int FROM questions GROUP BY 1, 2 ORDER BY 1"
        half = QUESTIONS // 2
        await app.wait_for_rows(answered, [("T1", "answered", half), ("T2", "answered", half)], seconds=60)
    assert sum(one.changed for one in results) == 3 * BATCH + 4
    assert [one.unreadable for one in results] == [[], []]

    again = await rotate_keys(app.database, BOTH)
    assert (again.changed, again.current) == (2, 3 * BATCH + 2)
    assert (await rotate_keys(app.database, BOTH)).changed == 0
    async with await psycopg.AsyncConnection.connect(app.database, row_factory=dict_row) as reading:
        assert await unreadable(reading, NEW) == []
        assert len(await unreadable(reading, RING)) == 3 * BATCH + 4


@pytest.mark.rare
async def test_keys_change_while_every_request_reads_its_token_and_its_keys(database: str) -> None:
    """As the guide says: every process has both keys before the rotation. No cache hides a row that cannot be read."""
    async with many_workspaces(
        database, keys=None, providers="perplexity", encryption_keys=SecretStr(f"{SECOND_KEY},{KEY}")
    ) as app:
        registry = app.app.installation
        assert isinstance(registry, Workspaces)
        for team in ("T1", "T2"):
            await app.install(team)
            own = RING.encrypt(f"pplx-own-{team}", place=place_of(team, "perplexity"))
            insert = "INSERT INTO provider_keys (id, provider, secret) VALUES (%s, 'perplexity', %s)"
            await execute(database, insert, team, own)
        await fill(database, 3 * BATCH)
        reads = count(step=CACHE_SECONDS)
        registry.clock = lambda: float(next(reads))
        load = asyncio.create_task(ask_many(app, QUESTIONS))
        await app.wait_for_rows("SELECT count(*) > 5 FROM questions", [(True,)])
        result = await rotate_keys(database, BOTH)
        assert not load.done()
        assert await load == {200}
        answered = "SELECT team_id, state, count(*)::int FROM questions GROUP BY 1, 2 ORDER BY 1"
        half = QUESTIONS // 2
        await app.wait_for_rows(answered, [("T1", "answered", half), ("T2", "answered", half)], seconds=60)
    # Two of T1 and T2 were encrypted with the first key already, by the process itself.
    assert (result.changed, result.current, result.unreadable) == (3 * BATCH + 2, 2, [])
    sent = Counter(request.headers["Authorization"] for request in app.perplexity.requests)
    assert sent == {"Bearer pplx-own-T1": half, "Bearer pplx-own-T2": half}


async def test_a_rotation_that_was_interrupted_goes_on(database: str) -> None:
    await fill(database, 2 * BATCH + 1)
    async with await psycopg.AsyncConnection.connect(database, autocommit=True, row_factory=dict_row) as connection:
        stopped = asyncio.create_task(rotate(connection, BOTH))
        async with await psycopg.AsyncConnection.connect(database) as watching:
            async with asyncio.timeout(60):
                query = "SELECT count(*) FROM installations WHERE bot_token LIKE %s"
                changed = 0
                while changed == 0:
                    (changed,) = (await (await watching.execute(query, [f"v1.{NEW.current}.%"])).fetchone()) or (0,)
                    await watching.rollback()
                    await asyncio.sleep(0)
        stopped.cancel()
        await asyncio.gather(stopped, return_exceptions=True)
    rest = await rotate_keys(database, BOTH)

    assert rest.unreadable == []
    assert rest.changed + rest.current == 2 * BATCH + 1
    assert rest.current >= BATCH


async def test_what_cannot_be_read_is_named_and_left_alone(database: str) -> None:
    await fill(database, 2)
    result = await rotate_keys(database, NEW)

    assert (result.changed, result.unreadable) == (0, ["T00000:bot_token", "T00001:bot_token"])
    assert "T00001 (bot_token)" in summary(result)
    async with await psycopg.AsyncConnection.connect(database, row_factory=dict_row) as reading:
        assert await unreadable(reading, RING) == []
