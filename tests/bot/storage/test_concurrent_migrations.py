"""Migrations next to other versions and running processes: what newer ones left, what a user may not, who waits."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from psycopg import AsyncConnection
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from bot.__main__ import main
from bot.model.question import NewQuestion
from bot.storage.migrate import (
    BREAKING_HEADER,
    DatabaseNewer,
    Migration,
    MigrationRefused,
    all_migrations,
    database_is_newer,
    migrate,
    procrastinate_migrations,
)
from bot.storage.questions import QuestionStore, connection_pool

ADDING = Migration(name="9998_later.sql", sql="CREATE TABLE later (id int)")
BREAKING = Migration(
    name="9999_latest.sql", sql=f"{BREAKING_HEADER}\nALTER TABLE questions RENAME COLUMN text TO words"
)


def test_the_engines_own_migrations_say_in_their_names_whether_they_only_add() -> None:
    adds = {migration.name.partition("/")[2]: migration.additive for migration in procrastinate_migrations()}

    assert adds["03.01.00_01_pre_add_heartbeat.sql"]
    assert not adds["03.01.00_50_post_add_heartbeat.sql"]


async def test_an_older_version_goes_on_where_the_newer_one_only_added(database: str) -> None:
    assert not await database_is_newer(database)
    assert await migrate(database, migrations=[*all_migrations(), ADDING]) == 1

    assert await migrate(database) == 0
    assert await database_is_newer(database)


async def test_an_older_version_stops_where_the_newer_one_did_more(database: str) -> None:
    assert await migrate(database, migrations=[*all_migrations(), ADDING, BREAKING]) == 2

    with pytest.raises(DatabaseNewer, match="newer"):
        await migrate(database)


@pytest.mark.usefixtures("logging_as_it_was")
@pytest.mark.parametrize("more", [((ADDING,), 0), ((ADDING, BREAKING), 1)])
def test_migrate_says_that_the_database_is_newer(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    postgres: str,
    template: str,
    more: tuple[tuple[Migration, ...], int],
) -> None:
    (later, code), name = more, f"test_{uuid4().hex}"
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE {template}".encode())
        try:
            asyncio.run(migrate(make_conninfo(postgres, dbname=name), migrations=[*all_migrations(), *later]))
            monkeypatch.setenv("DATABASE_URL", f"{postgres.replace('/postgres?', f'/{name}?')}")
            ended = main(["migrate"])
        finally:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())
    printed = capsys.readouterr()

    assert ended == code
    assert "newer than this version" in printed.out + printed.err


@pytest.fixture
async def role(postgres: str) -> AsyncIterator[str]:
    """Yield the address of an empty database for a role with an odd name that may not create anything in it."""
    name, user = f"test_{uuid4().hex}", f'Odd "{uuid4().hex[:6]}" role'
    quoted = '"' + user.replace('"', '""') + '"'
    async with await AsyncConnection.connect(postgres, autocommit=True) as connection:
        await connection.execute(f"CREATE ROLE {quoted} LOGIN".encode())
        await connection.execute(f"CREATE DATABASE {name}".encode())
        yield make_conninfo(postgres, dbname=name, user=user)
        await connection.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())
        await connection.execute(f"DROP ROLE {quoted}".encode())


async def test_the_grant_for_a_user_who_may_not_create_tables_is_named_and_works(role: str, postgres: str) -> None:
    with pytest.raises(MigrationRefused) as refused:
        await migrate(role)
    (grant,) = [line.strip() for line in str(refused.value).splitlines() if "GRANT" in line]
    owner = make_conninfo(role, user=str(conninfo_to_dict(postgres)["user"]))
    async with await AsyncConnection.connect(owner) as connection:
        await connection.execute(grant.encode())

    assert await migrate(role) == len(all_migrations())


async def test_a_database_user_who_does_not_own_the_tables_is_reported(role: str, postgres: str) -> None:
    owner = make_conninfo(role, user=str(conninfo_to_dict(postgres)["user"]))
    await migrate(owner)
    async with await AsyncConnection.connect(owner) as connection:
        await connection.execute("GRANT ALL ON SCHEMA public TO PUBLIC")
        await connection.execute("GRANT SELECT ON schema_migrations TO PUBLIC")

    assert await migrate(role) == 0
    with pytest.raises(MigrationRefused, match="another user"):
        await migrate(role, migrations=[*all_migrations(), ADDING])


class Received:
    """Receives questions in a loop, some at once."""

    def __init__(self, questions: QuestionStore) -> None:
        self._questions = questions
        self.count = 0

    async def run(self) -> None:
        while True:
            new = uuid4()
            await self._questions.insert(
                NewQuestion(
                    id=new, delivery_key=str(new), surface="slash", command="ask", text="why", team_id="T1",
                    channel_id="C1", user_id=str(new),
                )
            )  # fmt: skip
            self.count += 1


async def test_questions_that_are_received_during_migrations_do_not_deadlock(database: str) -> None:
    """The engine's migrations come first and lock its jobs; a question locks its own table first."""
    async with connection_pool(database) as pool:
        received = Received(QuestionStore(pool))
        loops = [asyncio.create_task(received.run()) for _ in range(4)]
        try:
            later: list[Migration] = []
            for number in range(25):
                later.append(altering("procrastinate/99", "procrastinate_jobs", number))
                later.append(altering("99", "questions", number))
                before = received.count
                async with asyncio.timeout(60):
                    assert await migrate(database, migrations=[*all_migrations(), *later]) == 2
                    while received.count == before:
                        ended, _ = await asyncio.wait(loops, timeout=0.01, return_when=asyncio.FIRST_COMPLETED)
                        assert not ended, [task.exception() for task in ended]
        finally:
            for loop in loops:
                loop.cancel()
            ended_all: list[Any] = await asyncio.gather(*loops, return_exceptions=True)

    assert [error for error in ended_all if not isinstance(error, asyncio.CancelledError)] == []


def altering(prefix: str, table: str, number: int) -> Migration:
    return Migration(
        name=f"{prefix}{number:02}_column.sql",
        sql=f"ALTER TABLE {table} ADD COLUMN later{number} int; SELECT pg_sleep(0.01)",
    )
