"""Upgrades of what released versions wrote (`python -m tests.upgrades`), and the way back to the version before."""

from __future__ import annotations

import re
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
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
from tests.docs.pages import ROOT
from tests.driver import Driver, execute, rows
from tests.end_to_end.test_upgrades import answers_to, old_answer
from tests.fakes.audit import is_whole
from tests.fakes.perplexity import FakePerplexity
from tests.fakes.personal_data import find_text
from tests.fakes.slack import FakeSlack
from tests.upgrades import ADDRESS, DATA, version

BEFORE = "5fac219"
"""The version before 1.0.0."""

LEDGER = "SELECT count(*) FROM ledger"


@asynccontextmanager
async def written(postgres: str, name: str, slack: FakeSlack) -> AsyncIterator[str]:
    """Yield the address of a database that a version has written, and this one has migrated."""
    data = (DATA / f"{name}.sql").read_text(encoding="utf-8").replace(ADDRESS, slack.response_url(""))
    [last] = re.findall(r"^-- .+ whose last migration is (\S+)", data)
    later = [one for one in own_migrations() if one.name > last]
    database = f"test_{uuid4().hex}"
    conninfo = make_conninfo(postgres, dbname=database)
    async with await psycopg.AsyncConnection.connect(postgres, autocommit=True) as connection:
        await connection.execute(f"CREATE DATABASE {database}".encode())
        try:
            await migrate(conninfo, migrations=[one for one in all_migrations() if one not in later])
            await execute(conninfo, "DELETE FROM budgets")  # it was written, too
            await execute(conninfo, data)
            assert await migrate(conninfo) == len(later)
            yield f"postgresql:///?{urlencode(conninfo_to_dict(postgres) | {'dbname': database})}"
        finally:
            await connection.execute(f"DROP DATABASE {database} WITH (FORCE)".encode())


@pytest.fixture(params=[BEFORE, "1.0.0"])
async def database(request: pytest.FixtureRequest, postgres: str, slack: FakeSlack) -> AsyncIterator[str]:
    async with written(postgres, request.param, slack) as address:
        yield address


async def test_what_was_open_is_answered_once_and_the_records_go_on(harness: Driver) -> None:
    await harness.wait_for_rows("SELECT DISTINCT state FROM questions WHERE user_id IN ('U4', 'U5')", [("answered",)])

    assert [len(answers_to(harness, token)) for token in ("working", "received")] == [1, 1]
    assert await harness.rows("SELECT amount FROM budgets WHERE team_id = 'T1'") == [(2_500_000,)]
    await harness.wait_for_rows("SELECT count(*) FROM audit_outbox", [(0,)])
    assert await is_whole(harness.database)


async def test_old_answers_and_preferences_work(harness: Driver) -> None:
    answer = await old_answer(harness, "what are wheels?")
    await harness.click(answer, "sources")
    assert "https://a.example/1" in str(harness.slack.modal().content)

    harness.script_answer("This works now. [1]")
    await harness.click(await old_answer(harness, "what failed?"), "retry")
    await harness.slack.wait_until(lambda: any("This works now." in post.shown_text for post in harness.slack.posts))

    person = replace(harness, person=replace(harness.person, user="U2"))
    (public,) = await person.posts_for("/ask is it so?")
    assert public.payload["response_type"] == "in_channel"
    (asked,) = [one.json for one in harness.perplexity.requests if "is it so?" in str(one.json)]
    assert (asked["language_preference"], "-bad.example" in str(asked)) == ("de", True)


async def test_an_erasure_leaves_nothing_of_a_person(harness: Driver) -> None:
    await harness.settle()
    async with connection_pool(harness.database) as pool:
        store = PersonalDataStore(pool)
        exported = {table async for table, _ in store.export("U1")}
        assert exported >= {"questions", "feedback", "shares", "digests", "last_choices", "homes", "ledger"}
        await store.erase("U1")
    async with await psycopg.AsyncConnection.connect(harness.database, autocommit=True) as connection:
        assert await find_text(connection, '"U1"') == {}


@pytest.fixture
def before(tmp_path: Path) -> Path:
    """Return a checkout of the version before."""
    archive = subprocess.run(
        ["git", "archive", BEFORE, "bot", "perplexity"], cwd=ROOT, capture_output=True, check=False
    )
    if archive.returncode:
        pytest.skip(f"this copy of the project has no commit {BEFORE}")
    subprocess.run(["tar", "-x"], cwd=tmp_path, input=archive.stdout, check=True)
    return tmp_path


async def test_the_version_before_runs_on_the_database_of_this_one(
    before: Path, postgres: str, slack: FakeSlack, perplexity: FakePerplexity
) -> None:
    async with written(postgres, "1.0.0", slack) as database:
        ledger = await rows(database, LEDGER)
        async with version(before, database=database, slack=slack, perplexity=perplexity) as app:
            await app.wait_for_rows("SELECT state FROM questions WHERE user_id IN ('U4', 'U5')", [("answered",)] * 2)
            assert len(answers_to(app, "working")) == len(answers_to(app, "received")) == 1
            app.script_answer("Back again. [1]")
            assert "Back again." in str(await app.answered("/ask does it still work?"))
        assert await rows(database, LEDGER) > ledger
