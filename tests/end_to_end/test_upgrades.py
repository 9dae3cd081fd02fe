"""An upgrade from the version before audit, retention and budgets, with the data that people left in its database."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlencode
from uuid import uuid4

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from bot.storage.migrate import all_migrations, migrate, own_migrations
from bot.storage.personal_data import PersonalDataStore
from bot.storage.questions import connection_pool
from tests.driver import Driver, Message, execute
from tests.fakes.audit import is_whole
from tests.fakes.personal_data import find_text, schema
from tests.fakes.slack import FakeSlack, Post

LAST = "0020_homes.sql"
"""The last migration of the version that wrote the data."""

DATA = Path(__file__).parents[1] / "data" / "upgrades" / "0020.sql"
OPEN = {"U3": "delivering", "U4": "working", "U5": "received"}
"""Who waits for an answer, and the response_url it goes to."""


@pytest.fixture
def rolling() -> bool:
    """Whether processes of the old version still write when this version has migrated."""
    return False


@pytest.fixture
async def database(postgres: str, slack: FakeSlack, rolling: bool) -> AsyncIterator[str]:
    """Yield the address of a database that this version has migrated."""
    name = f"test_{uuid4().hex}"
    conninfo = make_conninfo(postgres, dbname=name)
    # The addresses at which the stand-in for Slack takes answers.
    data = DATA.read_text(encoding="utf-8").replace("http://slack.test/response/", slack.response_url(""))
    later = [one for one in own_migrations() if one.name > LAST]
    before = [one for one in all_migrations() if one not in later]
    async with await psycopg.AsyncConnection.connect(postgres, autocommit=True) as connection:
        await connection.execute(f"CREATE DATABASE {name}".encode())
        await migrate(conninfo, migrations=before)
        if rolling:
            assert await migrate(conninfo) == len(later)
        await execute(conninfo, data)
        assert await migrate(conninfo) == (0 if rolling else len(later))
        yield f"postgresql:///?{urlencode(conninfo_to_dict(postgres) | {'dbname': name})}"
        await connection.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


async def old_answer(harness: Driver, text: str) -> Message:
    """Return the message that the old version posted for a question."""
    ((messages,),) = await harness.rows("SELECT messages FROM questions WHERE text = %s", text)
    return {"blocks": [block for message in messages for block in message["blocks"]]}


def answers_to(harness: Driver, token: str) -> list[Post]:
    return [
        post
        for post in harness.slack.posts
        if post.payload.get("token") == token and '"action_id": "stop"' not in post.shown_text
    ]


def test_processes_of_the_old_version_may_go_on() -> None:
    """They refuse to start on a database that a newer version has changed, rather than added to."""
    assert [one.name for one in own_migrations() if one.name > LAST and not one.additive] == []


@pytest.mark.parametrize("rolling", [False, True])
async def test_the_open_questions_are_answered_once(harness: Driver) -> None:
    waiting = "SELECT DISTINCT state FROM questions WHERE user_id IN ('U3', 'U4', 'U5')"
    await harness.wait_for_rows(waiting, [("answered",)])

    assert {user: len(answers_to(harness, token)) for user, token in OPEN.items()} == dict.fromkeys(OPEN, 1)
    # What was answered before the upgrade and not yet posted is not paid for again.
    assert len(harness.perplexity.requests) == 2
    assert "Wheels are zip files." in answers_to(harness, "delivering")[0].shown_text
    settled = Counter(
        state for (state,) in await harness.rows("SELECT state FROM questions WHERE text LIKE 'what was %%'")
    )
    assert settled == {"answered": 2, "expired": 1, "stopped": 1, "withdrawn": 1}

    await harness.wait_for_rows("SELECT count(*) FROM audit WHERE what = 'question.ask'", [(len(OPEN),)])
    assert await is_whole(harness.database)


async def test_the_buttons_of_old_answers_work(harness: Driver) -> None:
    answer = await old_answer(harness, "what are wheels?")
    harness.script_answer("Wheels, deeper. [1]")
    assert "Thinking longer about" in await harness.told(answer, "go_deeper")
    await harness.slack.wait_until(lambda: any("Wheels, deeper." in post.shown_text for post in harness.slack.posts))

    await harness.click(answer, "sources")
    assert "https://a.example/1" in str(harness.slack.modal().content)

    failed = await old_answer(harness, "what failed?")
    harness.script_answer("This works now. [1]")
    await harness.click(failed, "retry")
    await harness.slack.wait_until(lambda: any("This works now." in post.shown_text for post in harness.slack.posts))


async def test_the_preferences_of_a_person_and_a_channel_hold(harness: Driver) -> None:
    person = replace(harness.person, user="U2")
    async with await person.type_command("/ask is it so?", trigger="german") as response:
        assert response.status == 200
    await harness.slack.wait_until(lambda: bool(answers_to(harness, "german")))

    (answer,) = answers_to(harness, "german")
    assert answer.payload["response_type"] == "in_channel"
    (asked,) = [one.json for one in harness.perplexity.requests if "is it so?" in str(one.json)]
    assert asked["language_preference"] == "de"
    assert "-bad.example" in str(asked)


async def test_an_export_of_an_old_person_is_complete_and_an_erasure_leaves_nothing(harness: Driver) -> None:
    async with await psycopg.AsyncConnection.connect(harness.database) as connection:
        tables = [name for name, columns in (await schema(connection)).items() if "user_id" in columns]
    counts: Counter[str] = Counter()
    for table in tables:
        ((count,),) = await harness.rows(f"SELECT count(*) FROM {table} WHERE user_id = 'U1'")  # noqa: S608 - a name
        counts[table] = count
    async with connection_pool(harness.database) as pool:
        store = PersonalDataStore(pool)
        exported = [(table, row) async for table, row in store.export("U1")]
        assert +Counter(table for table, _ in exported if table in tables) == +counts
        assert {table for table, _ in exported} >= {
            "questions",
            "feedback",
            "shares",
            "digests",
            "last_choices",
            "homes",
        }
        assert "Wheels are zip files." in str(exported)

        async with await psycopg.AsyncConnection.connect(harness.database, autocommit=True) as connection:
            assert await find_text(connection, '"U1"') != {}
            await store.erase("U1")
            assert await find_text(connection, '"U1"') == {}
    assert await harness.rows("SELECT settings FROM person_settings") == [({"language": "de", "visibility": "public"},)]
