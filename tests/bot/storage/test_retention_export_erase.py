"""Retention, erasure and export are complete, by a list of tables that the schema is held to."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any, LiteralString
from uuid import uuid4

import psycopg
import pytest
from psycopg.sql import SQL, Identifier

from bot.errors import NotClearedUp
from bot.model.membership import Identity
from bot.privacy.tables import TABLES, Data
from bot.storage.installation import WorkspaceStore
from bot.storage.personal_data import PersonalDataStore
from bot.storage.questions import Pool, connection_pool
from bot.storage.retention import START_SECONDS, SWEEP_SECONDS, Retention
from tests.fakes.personal_data import PersonWithData, all_rows, find_text, schema

pytestmark = pytest.mark.trust(27)

ANNA, BERT = PersonWithData("UANNA", "TANNA"), PersonWithData("UBERT", "TBERT")


@pytest.fixture
async def pool(database: str) -> AsyncIterator[Pool]:
    async with connection_pool(database) as opened:
        yield opened


@pytest.fixture
async def two_people(database: str) -> AsyncIterator[psycopg.AsyncConnection[Any]]:
    async with await psycopg.AsyncConnection.connect(database, autocommit=True) as connection:
        for person in (ANNA, BERT):
            await person.fill(connection)
        yield connection


async def test_the_list_has_every_column_of_every_table_and_no_other(database: str) -> None:
    async with await psycopg.AsyncConnection.connect(database) as connection:
        real = {table: set(columns) for table, columns in (await schema(connection)).items()}

    assert {name: set(table.columns) for name, table in TABLES.items()} == real, (
        "say in bot/privacy/tables.py what it holds"
    )


def test_what_is_personal_can_be_found() -> None:
    """A table with a person's id or words has a condition for the person, or its rows go with others."""
    kept = {"workspaces", "installations", "provider_keys", "organization_teams", "audit", "audit_heads"}
    for name, table in TABLES.items():
        data = set(table.columns.values())
        if data & {Data.PERSON, Data.TEXT}:
            assert table.of_person is not None, name
        if data & {Data.PERSON, Data.TEXT, Data.PLACE} and name not in kept:
            assert table.of_workspace is not None or table.parent is not None, name


async def test_erasing_a_person_leaves_nothing_of_them_and_touches_no_one_else(
    two_people: psycopg.AsyncConnection[Any], pool: Pool
) -> None:
    before = await all_rows(two_people, BERT.user)
    assert set(await find_text(two_people, ANNA.user)) >= {
        name for name, table in TABLES.items() if table.of_person and not (table.parent or table.forgotten_with)
    }

    erased = await PersonalDataStore(pool).erase(ANNA.user)

    assert erased["questions"] == 1
    assert await find_text(two_people, ANNA.user) == {}
    assert await find_text(two_people, str(ANNA.question)) == {}
    assert await find_text(two_people, str(ANNA.digest)) == {}
    assert await all_rows(two_people, BERT.user) == before


async def test_the_last_one_who_may_ask_leaves_the_channel_to_admins(
    two_people: psycopg.AsyncConnection[Any], pool: Pool
) -> None:
    await two_people.execute("UPDATE channel_settings SET settings = '{\"askers\": \"UANNA\"}' WHERE team_id = 'TANNA'")

    await PersonalDataStore(pool).erase(ANNA.user)

    rows = await two_people.execute("SELECT settings, user_id FROM channel_settings WHERE team_id = 'TANNA'")
    assert await rows.fetchall() == [({"askers": "admins"}, "")]


async def test_erasing_in_one_workspace_keeps_the_same_id_in_another(
    two_people: psycopg.AsyncConnection[Any], pool: Pool
) -> None:
    namesake = PersonWithData(ANNA.user, "TOTHER")
    columns = {"number": 2}
    await two_people.execute("DELETE FROM user_teams")
    await namesake.fill(two_people, **columns)

    await PersonalDataStore(pool).erase(ANNA.user, team_id="TANNA")

    assert (await PersonalDataStore(pool).count(ANNA.user))["questions"] == 1
    assert await find_text(two_people, str(namesake.question)) != {}
    assert await find_text(two_people, str(ANNA.question)) == {}


async def test_where_people_of_many_workspaces_come_from_is_erased(
    two_people: psycopg.AsyncConnection[Any], pool: Pool
) -> None:
    await two_people.execute("DELETE FROM user_teams")
    store = WorkspaceStore(pool, many=True)
    for team in (ANNA.team, BERT.team):
        for person in (ANNA, BERT):
            await store.save_user_team(person.user, "TFOREIGN", team_id=team)

    async def kept() -> list[str]:
        rows = await two_people.execute("SELECT user_id FROM user_teams ORDER BY 1")
        return [one for (one,) in await rows.fetchall()]

    await PersonalDataStore(pool).erase(ANNA.user, team_id=ANNA.team)
    assert await kept() == ["TANNA:UBERT", "TBERT:UANNA", "TBERT:UBERT"]
    await PersonalDataStore(pool).erase(ANNA.user)
    assert await kept() == ["TANNA:UBERT", "TBERT:UBERT"]
    await close(two_people, ANNA.team)
    await store.delete_texts(Identity(team_id=ANNA.team))
    assert await kept() == ["TBERT:UBERT"]


async def test_an_export_has_every_row_of_the_person_and_nothing_that_opens_anything(
    two_people: psycopg.AsyncConnection[Any], pool: Pool
) -> None:
    rows = [(table, row) async for table, row in PersonalDataStore(pool).export(ANNA.user)]

    assert sorted(table for table, _ in rows) == sorted(name for name, table in TABLES.items() if table.of_person)
    assert not any(BERT.user in str(row) for _, row in rows)
    question = dict(rows)["questions"]
    assert "response_url" not in question
    assert question["text"] == "TANNA:UANNA:text"
    assert question["cost_usd"] == 0.25
    assert question["messages"] == ["TANNA:UANNA:messages"]


async def close(connection: psycopg.AsyncConnection[Any], team: str, *, state: str = "uninstalled") -> None:
    """Record how an installation ended, or that it was installed again."""
    await connection.execute(
        "INSERT INTO workspaces (id, team_id, state) VALUES (%(id)s, %(id)s, %(state)s)"
        " ON CONFLICT (id) DO UPDATE SET state = excluded.state",
        {"id": team, "state": state},
    )


async def test_a_workspace_that_is_installed_again_keeps_what_is_not_erased_yet(
    two_people: psycopg.AsyncConnection[Any], pool: Pool
) -> None:
    await two_people.execute("UPDATE questions SET state = 'received'")
    await close(two_people, ANNA.team, state="open")
    before, team = await all_rows(two_people, ANNA.team), Identity(team_id=ANNA.team)

    assert await WorkspaceStore(pool).stop_work(team) == []
    assert await WorkspaceStore(pool).delete_texts(team) == 0
    assert await all_rows(two_people, ANNA.team) == before


@pytest.mark.parametrize("left", ["person_settings", "budgets", "ledger", "audit_people"])
async def test_of_an_organization_also_a_workspace_is_erased_of_which_only_one_table_is_left(
    two_people: psycopg.AsyncConnection[Any], pool: Pool, left: str
) -> None:
    for name, table in TABLES.items():
        if name != left and table.of_workspace is not None and not name.startswith("audit"):
            await two_people.execute(SQL("DELETE FROM {}").format(Identifier(name)))
    await close(two_people, "E1")
    await close(two_people, BERT.team, state="open")
    organization = Identity(team_id="E1", enterprise_id="E1", is_enterprise_install=True)
    kept = await all_rows(two_people, BERT.team)

    await WorkspaceStore(pool).delete_texts(organization)

    assert await find_text(two_people, ANNA.user) in ({}, {"audit_outbox": 1})
    assert await all_rows(two_people, BERT.team) == kept


async def test_uninstalling_erases_the_workspace_and_no_other(
    two_people: psycopg.AsyncConnection[Any], pool: Pool
) -> None:
    before = await all_rows(two_people, BERT.team)
    team = Identity(team_id=ANNA.team, enterprise_id=None, is_enterprise_install=False, bot_user_id=None)

    await close(two_people, ANNA.team)
    assert await WorkspaceStore(pool).delete_texts(team) == 1

    # The log stays, and no longer tells whose its entries are.
    assert set(await find_text(two_people, ANNA.team)) <= {"audit", "audit_outbox", "workspaces"}
    assert set(await find_text(two_people, ANNA.user)) <= {"audit_outbox"}
    assert await find_text(two_people, str(ANNA.question)) == {}
    assert await all_rows(two_people, BERT.team) == before


TEXTS = {
    name: [column for column, data in table.columns.items() if data is Data.TEXT] for name, table in TABLES.items()
}


@pytest.mark.parametrize("days", [30, 0])
async def test_texts_go_after_their_days_and_figures_stay(
    two_people: psycopg.AsyncConnection[Any], pool: Pool, days: int
) -> None:
    await two_people.execute("UPDATE questions SET settled_at = now() WHERE user_id = 'UBERT'")
    await two_people.execute("UPDATE feedback SET at = now() WHERE user_id = 'UBERT'")
    await two_people.execute("UPDATE digest_seen SET at = now() WHERE fingerprint LIKE '%UBERT%'")

    assert await Retention(pool=pool, days=days).sweep() > 0

    kept = {"last_choices", "person_settings", "digests"}  # until they are changed or erased
    for person, gone in ((ANNA, True), (BERT, days == 0)):
        questions = await two_people.execute(
            "SELECT text, messages::text, result, remembered, cost_usd, user_id, state, text_deleted_at IS NOT NULL"
            " FROM questions WHERE id = %s",
            (person.question,),
        )
        (row,) = await questions.fetchall()
        assert row[-4:] == (0.25, person.user, "answered", gone)
        assert (row[:4] == ("", "[]", None, None)) is gone
        with_text = {
            name
            for name, rows in (await all_rows(two_people, person.user)).items()
            for one in rows
            for column in TEXTS[name]
            if column != "reasons" and one[column]
        }
        assert with_text == (
            kept if gone else kept | {"questions", "sent_requests", "digest_seen", "feedback", "stages"}
        )
    stages = await two_people.execute("SELECT question_id FROM stages")
    assert await stages.fetchall() == ([] if days == 0 else [(BERT.question,)])
    assert await Retention(pool=pool, days=days).sweep() == 0


async def test_an_open_question_keeps_its_text(two_people: psycopg.AsyncConnection[Any], pool: Pool) -> None:
    await two_people.execute("UPDATE questions SET state = 'working', settled_at = NULL")

    await Retention(pool=pool, days=0).sweep()

    rows = await two_people.execute("SELECT DISTINCT text_deleted_at FROM questions WHERE text <> ''")
    assert await rows.fetchall() == [(None,)]


async def test_many_texts_go_in_batches_and_several_processes_delete_each_once(
    two_people: psycopg.AsyncConnection[Any], pool: Pool
) -> None:
    await two_people.execute(
        "INSERT INTO questions (id, delivery_key, surface, command, text, team_id, channel_id, user_id, state,"
        " settled_at) SELECT gen_random_uuid(), 'k' || n, 'slash', 'ask', 'why', 'T', 'C', 'U', 'answered',"
        " now() - interval '31 days' FROM generate_series(1, 998) n"
    )
    pauses: list[float] = []

    async def pause(seconds: float) -> None:
        pauses.append(seconds)
        await asyncio.sleep(0)

    retention = Retention(pool=pool, days=30, sleep=pause)
    # Each may leave a table to the other at the same moment, so one of them does what both have left.
    deleted = sum(await asyncio.gather(retention.sweep(), retention.sweep())) + await retention.sweep()

    rows = await two_people.execute("SELECT count(*) FROM questions WHERE text <> ''")
    assert await rows.fetchone() == (0,)
    # Of both people the question, the stage, the comment, the headline, the file, and what an hour or a day is kept.
    # And what counts against a budget of more than two months ago, or of an erased person before today, and
    # what was sent for a proposal. And what is answered to all who ask it.
    assert deleted == 998 + 2 * 12
    assert pauses


async def test_a_process_deletes_by_itself__a_little_after_its_start(
    two_people: psycopg.AsyncConnection[Any], pool: Pool
) -> None:
    await two_people.execute("UPDATE questions SET settled_at = now() - interval '31 days'")
    texts_left: list[tuple[float, int]] = []

    async def pause(seconds: float) -> None:
        rows = await two_people.execute("SELECT count(*) FROM questions WHERE text <> ''")
        texts_left.append((seconds, *(await rows.fetchone() or ())))
        if len(texts_left) == 2:
            raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        await Retention(pool=pool, days=30, sleep=pause).run()

    assert texts_left == [(START_SECONDS, 2), (SWEEP_SECONDS, 0)]


async def test_open_questions_are_stopped_before_an_erasure_and_their_runs_are_named(
    two_people: psycopg.AsyncConnection[Any], pool: Pool
) -> None:
    await two_people.execute("UPDATE questions SET state = 'working', settled_at = NULL, run_id = 'run-' || user_id")
    await two_people.execute("UPDATE stages SET result = NULL, run_id = 'stage-' || stage")
    await two_people.execute("UPDATE digests SET state = 'active', next_at = now()")

    runs = await PersonalDataStore(pool).stop_work(ANNA.user)

    assert {team: sorted(found) for team, found in runs.items()} == {"TANNA": ["run-UANNA", "stage-facts"]}
    rows = await two_people.execute("SELECT user_id, state FROM questions ORDER BY 1")
    assert await rows.fetchall() == [("UANNA", "withdrawn"), ("UBERT", "working")]
    rows = await two_people.execute("SELECT user_id, state FROM digests ORDER BY 1")
    assert await rows.fetchall() == [("UANNA", "stopped"), ("UBERT", "active")]


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE questions SET state = 'working', settled_at = NULL WHERE user_id = 'UANNA'",
        "UPDATE questions SET uncleared_since = now() WHERE user_id = 'UANNA'",
    ],
    ids=["open", "not cleared up"],
)
async def test_nothing_is_erased_for_a_person_before_the_work_for_them_has_ended(
    two_people: psycopg.AsyncConnection[Any], pool: Pool, change: LiteralString
) -> None:
    store = PersonalDataStore(pool)
    await two_people.execute(change)
    before = await store.count(ANNA.user)

    with pytest.raises(NotClearedUp):
        await store.erase(ANNA.user, team_id="TANNA", own=True, cleared=True)

    assert await store.count(ANNA.user) == before


async def test_an_unknown_person_has_nothing(two_people: psycopg.AsyncConnection[Any], pool: Pool) -> None:
    store = PersonalDataStore(pool)

    assert [row async for row in store.export(f"U{uuid4().hex[:6]}")] == []
    assert await store.erase("UNONE") == await store.count("UNONE") == {}
