"""Who did what, when, where, at what cost and with which decision; no text; any change of it is found."""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row

from bot.features.audit.log import Verification, export, sign, verify
from bot.model.audit import Change, Head, SigningKey
from bot.model.question import ChannelSettings
from bot.storage.audit import record_change
from bot.storage.audit_chain import AuditStore
from bot.storage.budgets import BudgetStore
from bot.storage.personal_data import PersonalDataStore
from bot.storage.preferences import PreferenceStore
from bot.storage.questions import Pool, connection_pool
from tests.driver import Driver, records

pytestmark = pytest.mark.trust(28)

KEY = "a key of thirty-two characters, or more"
ADA, BOB = "U012AB3CD", "U0BOB00001"


@pytest.fixture
async def pool(database: str) -> AsyncIterator[Pool]:
    async with connection_pool(database) as opened:
        yield opened


@asynccontextmanager
async def connect(database: str) -> AsyncIterator[psycopg.AsyncConnection[Any]]:
    async with await psycopg.AsyncConnection.connect(database, row_factory=dict_row, autocommit=True) as connection:
        yield connection


async def execute(database: str, *statements: str) -> None:
    async with connect(database) as connection:
        for statement in statements:
            await connection.execute(statement.encode())


async def change(database: str, *, team: str = "T1", user: str = ADA, **values: Any) -> None:
    async with connect(database) as connection:
        await record_change(
            connection, Change(**{"team_id": team, "user_id": user, "what": "channel.settings"} | values)
        )


async def filled(database: str, pool: Pool, *, entries: int = 6, teams: tuple[str, ...] = ("T1", "T2")) -> AuditStore:
    for number in range(entries):
        for team in teams:
            await change(database, team=team, before={"n": number}, after={"n": number + 1, "by": BOB})
    store = AuditStore(pool, key=KEY)
    while await store.write():
        pass
    return store


async def check(database: str, *, key: str | None = KEY, **known: Any) -> Verification:
    return await verify(database, key=key, known=known.get("known", {}))


async def chained(database: str, questions: int) -> list[dict[str, Any]]:
    """Wait until so many questions are chained, and return their entries."""
    async with asyncio.timeout(60):
        while True:
            found = await records(database, "SELECT * FROM audit WHERE what LIKE 'question.%' ORDER BY number")
            if len(found) >= questions:
                return found
            await asyncio.sleep(0.05)


async def test_every_question_is_recorded_once_with_cost_and_decision_and_without_text(
    harness: Driver, database: str
) -> None:
    await harness.ask("/ask a secret question about Ada")
    await harness.mention("another secret question")
    await harness.wait_until_settled(2)

    found = await chained(database, 2)
    questions = {str(one["id"]): one for one in await records(database, "SELECT * FROM questions")}
    assert {one["subject"] for one in found} == set(questions)
    for entry in found:
        question = questions[entry["subject"]]
        assert (entry["what"], entry["decision"], entry["channel_id"]) == ("question.ask", "answered", "C1")
        assert entry["cost_microusd"] == round(question["cost_usd"] * 1_000_000) > 0
        assert entry["at"] == question["settled_at"]
    written = json.dumps(found, default=str)
    assert ("secret" in written, "U1" in written) == (False, False)
    assert (await verify(database, key=None, known={})).ok


async def test_a_refused_and_a_stopped_question_say_so(harness: Driver, database: str) -> None:
    harness.slack.workspace.profiles["U1"] = {"is_restricted": True}
    await harness.ask("/ask why")
    await harness.wait_until_settled(1)
    await execute(
        database,
        "INSERT INTO questions (id, delivery_key, surface, command, text, team_id, channel_id, user_id, waiting)"
        " VALUES (gen_random_uuid(), 'k', 'slash', 'ask', 'x', 'T1', 'C1', 'U2', true)",
        "UPDATE questions SET state = 'stopped' WHERE delivery_key = 'k'",
    )

    assert [one["decision"] for one in await chained(database, 2)] == ["failed: OutsideAsker", "stopped"]


async def test_a_change_of_an_admin_is_recorded_with_before_and_after(database: str, pool: Pool) -> None:
    preferences, none = PreferenceStore(pool), ChannelSettings()
    first = ChannelSettings(deny=("evil.example",), askers=f"{ADA} {BOB}")
    place: dict[str, Any] = {"team_id": "T1", "channel_id": "C1", "user_id": ADA}
    await preferences.change_part(none, first, **place)
    await preferences.change_part(first, ChannelSettings(deny=("evil.example",)), **place)
    await AuditStore(pool, key=KEY).write()

    before, after = await records(database, "SELECT who, what, channel_id, before, after FROM audit ORDER BY number")
    ids = {one["user_id"]: one["who"] for one in await records(database, "SELECT user_id, who FROM audit_people")}
    assert before["who"] == after["who"] == ids[ADA]
    assert (before["before"], after["after"]) == ({}, {"deny": ["evil.example"]})
    assert before["after"] == after["before"] == {"deny": ["evil.example"], "askers": f"{ids[ADA]} {ids[BOB]}"}
    assert (before["what"], before["channel_id"]) == ("channel.settings", "C1")


async def test_a_change_that_is_rolled_back_is_not_recorded(database: str, pool: Pool) -> None:
    async with connect(database) as connection, connection.transaction(force_rollback=True):
        await record_change(connection, Change(team_id="T1", user_id=ADA, what="budget.change"))

    assert await AuditStore(pool, key=KEY).write() == 0


UNLOCKED = "ALTER TABLE audit DISABLE TRIGGER audit_append_only"
REHASH = "UPDATE audit SET hash = encode(sha256(number::text::bytea), 'hex')"


@pytest.mark.parametrize(
    ("tampering", "told"),
    [
        ("UPDATE audit SET decision = 'denied' WHERE team_id = 'T1' AND number = 3", "Entry 3 was changed"),
        ("UPDATE audit SET cost_microusd = 1 WHERE team_id = 'T1' AND number = 1", "Entry 1 was changed"),
        ("UPDATE audit SET who = '' WHERE team_id = 'T1' AND number = 6", "Entry 6 was changed"),
        ("UPDATE audit SET after = '{\"n\": 9}' WHERE team_id = 'T1' AND number = 2", "Entry 2 was changed"),
        ("UPDATE audit SET at = at + interval '1 microsecond' WHERE team_id = 'T1' AND number = 2", "Entry 2 was"),
        (f"{REHASH} WHERE team_id = 'T1' AND number = 4", "Entry 5 was changed"),
        (f"{REHASH} WHERE team_id = 'T1' AND number = 6", "but the last entry is"),
        ("DELETE FROM audit WHERE team_id = 'T1' AND number = 1", "Entry 1 is missing"),
        ("DELETE FROM audit WHERE team_id = 'T1' AND number IN (3, 4)", "The entries 3 to 4 are missing"),
        ("DELETE FROM audit WHERE team_id = 'T1' AND number > 4", "The last entries are missing: only 4 of 6"),
        ("DELETE FROM audit WHERE team_id = 'T1'", "The last entries are missing: only 0 of 6"),
        (
            (
                "UPDATE audit SET number = CASE number WHEN 2 THEN 103 ELSE 102 END"
                " WHERE team_id = 'T1' AND number IN (2, 3);"
                " UPDATE audit SET number = number - 100 WHERE number > 100"
            ),
            "Entry 2 was changed",
        ),
        (
            "DELETE FROM audit WHERE team_id = 'T1'; UPDATE audit SET team_id = 'T1' WHERE team_id = 'T2'",
            "is not this workspace’s",
        ),
        (
            (
                "UPDATE audit SET team_id = CASE team_id WHEN 'T1' THEN 'T3' ELSE 'T1' END;"
                " UPDATE audit SET team_id = 'T2' WHERE team_id = 'T3'"
            ),
            "is not this workspace’s",
        ),
        ("DELETE FROM audit_heads WHERE team_id = 'T1'", "The head is missing"),
        ("UPDATE audit_heads SET count = 5 WHERE team_id = 'T1'", "The head is not signed"),
        (
            (
                "DELETE FROM audit WHERE team_id = 'T1' AND number = 6; UPDATE audit_heads SET count = 5,"
                " hash = (SELECT hash FROM audit WHERE team_id = 'T1' AND number = 5) WHERE team_id = 'T1'"
            ),
            "The head is not signed",
        ),
        (
            (
                "UPDATE audit_heads h SET signature = o.signature FROM audit_heads o"
                " WHERE h.team_id = 'T1' AND o.team_id = 'T2'"
            ),
            "The head is not signed",
        ),
    ],
)
async def test_what_was_done_to_the_log_is_found(database: str, pool: Pool, tampering: str, told: str) -> None:
    store = await filled(database, pool)
    assert (await check(database)).ok
    await execute(database, UNLOCKED, *tampering.split(";"))

    found = await check(database)
    assert told in " ".join(found.problems["T1"])

    await change(database)
    await store.write()
    assert not (await check(database)).ok, "what comes after it hides it"


@pytest.mark.parametrize(
    "tampering",
    [
        (
            "UPDATE audit_people p SET key = o.key, who = o.who FROM audit_people o"
            " WHERE o.team_id = p.team_id AND o.user_id <> p.user_id AND p.team_id = 'T1'"
        ),
        "UPDATE audit_people SET user_id = 'U0EVE00001' WHERE team_id = 'T1' AND user_id = 'U012AB3CD'",
        "UPDATE audit_people SET team_id = 'T9' WHERE team_id = 'T1' AND user_id = 'U012AB3CD'",
        "UPDATE audit_people SET key = sha256(key) WHERE team_id = 'T1' AND user_id = 'U0BOB00001'",
    ],
)
async def test_a_pseudonym_that_is_given_to_somebody_else_is_found(database: str, pool: Pool, tampering: str) -> None:
    await filled(database, pool)
    assert (await check(database)).ok
    await execute(database, tampering)

    found = await check(database)
    assert "is not that of the person it is listed for" in found.report()
    assert not found.ok


PUT_BACK = """
    DELETE FROM audit WHERE number > 1;
    UPDATE audit_heads h SET count = old.count, hash = old.hash, signature = old.signature FROM old_heads old
    WHERE h.team_id = old.team_id
"""


@pytest.mark.parametrize("what", ["a question", "a budget", "a setting", "a pause"])
async def test_an_end_that_is_removed_is_missed_also_with_an_earlier_head(database: str, pool: Pool, what: str) -> None:
    store, budgets = await filled(database, pool, entries=1, teams=("T1",)), BudgetStore(pool)
    await execute(
        database,
        "UPDATE schema_migrations SET applied_at = now() - interval '1 hour'",
        "CREATE TABLE old_heads AS SELECT * FROM audit_heads",
    )
    if what == "a question":
        await execute(
            database,
            "INSERT INTO questions (id, delivery_key, surface, command, text, team_id, channel_id, user_id)"
            " VALUES (gen_random_uuid(), 'k', 'slash', 'ask', 'x', 'T1', 'C1', 'U2')",
            "UPDATE questions SET state = 'answered', settled_at = now()",
        )
    elif what == "a budget":
        await budgets.change(team_id="T1", user_id=ADA, scope="workspace", subject="", amount=1_000_000_000_000)
    elif what == "a setting":
        deny = ChannelSettings(deny=("evil.example",))
        await PreferenceStore(pool).change_part(ChannelSettings(), deny, team_id="T1", channel_id="C1", user_id=ADA)
    else:
        await budgets.pause(team_id="T1", user_id=ADA)
    await store.write()
    assert (await check(database)).ok
    await execute(database, UNLOCKED, *PUT_BACK.split(";"))

    assert (await check(database)).problems == {
        "T1": ["The last entries are missing: this workspace has questions or settings from after the last one."]
    }


WIPED = ("DELETE FROM audit WHERE team_id = 'T1'", "DELETE FROM audit_heads WHERE team_id = 'T1'")


@pytest.mark.parametrize("also", ["", "DELETE FROM audit_people"])
async def test_a_log_that_is_removed_with_its_head_is_missed(
    harness: Driver, database: str, pool: Pool, also: str
) -> None:
    await harness.ask("/ask why")
    await chained(database, 1)
    # As if some time had passed since the log was introduced.
    await execute(database, "UPDATE schema_migrations SET applied_at = now() - interval '1 hour'")
    assert (await check(database, key=None)).ok

    await execute(database, UNLOCKED, *WIPED, *filter(None, [also]))

    assert (await check(database, key=None)).problems == {
        "T1": ["There are no entries, although people of this workspace have asked questions."]
    }
    assert not (await sign(database, key=None)).ok
    await change(database)
    await AuditStore(pool).write()
    assert (await check(database, key=None)).problems == {
        "T1": ["The first entries are missing: this workspace has questions or settings from before the first one."]
    }


async def test_what_ended_before_there_was_a_log_is_not_missed_in_it(harness: Driver, database: str) -> None:
    await harness.ask("/ask why")
    await chained(database, 1)
    await execute(
        database,
        UNLOCKED,
        "UPDATE questions SET settled_at = now() - interval '1 day'",
        *WIPED,
        "DELETE FROM audit_people",
        "UPDATE schema_migrations SET applied_at = now()",
    )

    assert (await check(database, key=None)).ok


async def test_the_database_refuses_to_change_rows(database: str, pool: Pool) -> None:
    await filled(database, pool)

    for statement in ("UPDATE audit SET who = ''", "DELETE FROM audit", "TRUNCATE audit"):
        with pytest.raises(psycopg.errors.RaiseException):
            await execute(database, statement)


async def test_a_log_that_is_replaced_as_a_whole_does_not_have_the_heads_of_before(database: str, pool: Pool) -> None:
    await filled(database, pool)
    head = (await check(database)).heads["T1"]
    await execute(database, UNLOCKED, "DELETE FROM audit", "DELETE FROM audit_heads")
    await filled(database, pool)

    assert (await check(database)).ok
    assert not (await check(database, known={"T1": {head.count: head.hash}})).ok
    assert not (await check(database, known={"T9": {1: head.hash}})).ok


async def test_erasing_a_person_leaves_the_chain_and_no_way_back_to_them(database: str, pool: Pool) -> None:
    store = await filled(database, pool, teams=("T1",))
    await change(database, user=ADA, after={"askers": f"{ADA} {BOB}"})
    await change(database, user=BOB, after={"askers": f"{ADA} {BOB}"})
    await PersonalDataStore(pool).erase(ADA, team_id="T1")
    await store.write()

    assert (await check(database)).ok
    people = await records(database, "SELECT user_id FROM audit_people")
    assert [one["user_id"] for one in people] == [BOB]
    tables = [await records(database, query) for query in ("SELECT * FROM audit", "SELECT * FROM audit_outbox")]
    assert ADA not in json.dumps(tables, default=str)


async def test_ids_of_people_of_any_length_are_replaced_and_words_are_not(database: str, pool: Pool) -> None:
    kept = {"deny": ["us.example"], "country": "US"}
    await change(database, what="budget.user", subject="U7", before=None, after={"amount": 1})
    await change(database, user="U7", before=kept, after=kept | {"askers": "U7 W2 U0BOB00001"})
    await AuditStore(pool, key=KEY).write()

    ids = {one["user_id"]: one["who"] for one in await records(database, "SELECT user_id, who FROM audit_people")}
    budget, settings = await records(database, "SELECT who, subject, before, after FROM audit ORDER BY number")
    assert set(ids) == {ADA, BOB, "U7", "W2"}
    assert (budget["subject"], settings["who"]) == (ids["U7"], ids["U7"])
    assert settings["before"] == kept
    assert settings["after"] == kept | {"askers": f"{ids['U7']} {ids['W2']} {ids[BOB]}"}


@pytest.mark.parametrize("erased_first", [True, False])
async def test_neither_the_subject_nor_the_place_of_an_entry_leads_to_a_person(
    database: str, pool: Pool, *, erased_first: bool
) -> None:
    store, data = AuditStore(pool, key=KEY), PersonalDataStore(pool)
    await BudgetStore(pool).change(team_id="T1", user_id=BOB, scope="user", subject=ADA, amount=1)
    await execute(
        database,
        "INSERT INTO audit_outbox (team_id, user_id, what, channel_id, decision, subject) VALUES"
        " ('T1', 'WHO', 'question.ask', 'D0ADA1815', 'answered', gen_random_uuid()::text)".replace("WHO", ADA),
    )
    if erased_first:
        await data.erase(ADA)
        assert await store.write() == 2
    else:
        assert await store.write() == 2
        await data.erase(ADA)

    assert (await check(database)).ok
    tables = [await records(database, query) for query in ("SELECT * FROM audit", "SELECT * FROM audit_outbox")]
    assert ADA not in json.dumps(tables, default=str)
    assert "D0ADA" not in json.dumps(tables, default=str)
    assert [(one["what"], one["channel_id"]) for one in tables[0]] == [("budget.user", ""), ("question.ask", "D")]


async def test_an_entry_that_is_chained_during_an_erasure_does_not_name_the_person_again(
    database: str, pool: Pool
) -> None:
    await change(database, user=ADA)
    async with connect(database) as connection:
        await connection.execute("BEGIN")
        await connection.execute("LOCK TABLE audit_people")
        # The writer has read what waits, and is held up before it looks for the person's key.
        writing = asyncio.create_task(AuditStore(pool, key=KEY).write())
        await waiting(database, 1)
        erasing = asyncio.create_task(PersonalDataStore(pool).erase(ADA))
        await waiting(database, 2)
        await connection.execute("COMMIT")
        await asyncio.gather(writing, erasing)

    assert [one["what"] for one in await records(database, "SELECT what FROM audit")] == ["channel.settings"]
    assert await records(database, "SELECT user_id FROM audit_people") == []
    assert (await check(database)).ok


async def waiting(database: str, count: int) -> None:
    """Wait until so many connections wait for a lock."""
    query = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
    async with asyncio.timeout(60):
        found = await records(database, query)
        while len(found) < count:
            await asyncio.sleep(0.01)
            found = await records(database, query)


@pytest.mark.parametrize(
    "broken",
    [
        "DROP TABLE audit_outbox",
        "ALTER TABLE audit_outbox ADD CHECK (false) NOT VALID",
        "ALTER TABLE audit_outbox RENAME COLUMN what TO which",
        "DROP TABLE audit_outbox; DROP SEQUENCE audit_failed_at",
    ],
)
async def test_a_failure_to_write_keeps_no_one_from_an_answer_and_raises_a_flag(
    harness: Driver, database: str, broken: str
) -> None:
    await execute(database, *broken.split(";"))

    await harness.ask("/ask why")
    await harness.slack.wait_for(1)
    await harness.wait_until_settled(1)

    assert [post.method for post in harness.slack.posts] == ["response_url"]
    await until(lambda: ready(harness), (200, False))
    async with harness.session.get(f"{harness.url}/metrics") as response:
        assert "audit_ok 0.0" in await response.text()


async def test_a_chain_that_cannot_be_written_raises_the_flag_and_loses_nothing(harness: Driver, database: str) -> None:
    harness.slack.workspace.admins.add("U1")
    await execute(database, "ALTER TABLE audit ADD CONSTRAINT full_disk CHECK (false) NOT VALID")
    await harness.ask("/ask why")
    await harness.wait_until_settled(1)
    await execute(database, "UPDATE audit_outbox SET at = at - interval '2 minutes'")
    await until(lambda: ready(harness), (200, False))
    posts = len(harness.slack.posts)
    await harness.ask("/pplx status", trigger="t2")
    await harness.slack.wait_for(posts + 1)
    assert "The audit log has not been written for 2 min" in harness.slack.posts[-1].shown_text

    await execute(database, "ALTER TABLE audit DROP CONSTRAINT full_disk")

    await until(lambda: ready(harness), (200, True))
    assert (await verify(database, key=None, known={})).heads["T1"].count >= 1


async def ready(harness: Driver) -> tuple[int, bool]:
    async with harness.session.get(f"{harness.url}/readyz") as response:
        return response.status, (await response.json())["audit"]


async def until(read: Callable[[], Any], expected: object) -> None:
    async with asyncio.timeout(60):
        while True:
            if await read() == expected:
                return
            await asyncio.sleep(0.1)


async def test_many_processes_chain_without_a_gap(database: str, pool: Pool) -> None:
    stores = [AuditStore(pool, key=KEY) for _ in range(4)]

    async def work(number: int) -> None:
        for _ in range(25):
            await change(database, subject=str(number))
            await stores[number % 4].write()

    await asyncio.gather(*(work(number) for number in range(8)))
    while await stores[0].write():
        pass

    found = await check(database)
    assert (found.ok, found.heads["T1"].count) == (True, 200)


async def test_with_another_key_the_log_waits_until_the_heads_are_signed(database: str, pool: Pool) -> None:
    await filled(database, pool)
    await change(database)
    await change(database, team="T5")
    other = "another key of thirty-two characters"

    assert await AuditStore(pool, key=other).write() == 1, "a workspace without a head starts one"
    assert "The head is not signed" in " ".join((await check(database, key=other)).problems["T1"])

    assert (await sign(database, key=other)).ok
    assert await AuditStore(pool, key=other).write() == 4
    assert (await check(database, key=other)).ok
    signed = await records(database, "SELECT team_id, who FROM audit WHERE what = 'audit.sign' ORDER BY team_id")
    assert signed == [{"team_id": team, "who": ""} for team in ("T1", "T2", "T5")]


async def test_a_log_with_a_gap_is_not_signed(database: str, pool: Pool) -> None:
    await filled(database, pool)
    await execute(database, UNLOCKED, "DELETE FROM audit WHERE team_id = 'T1' AND number = 3")

    assert not (await sign(database, key="another key of thirty-two characters")).ok
    assert (await check(database)).problems["T1"] == ["Entry 3 is missing.", *wrong_after(4)]


def wrong_after(number: int) -> list[str]:
    return [f"Entry {number} was changed, is not this workspace’s, or does not follow the one before it."]


async def test_without_a_setting_the_key_is_kept_apart_in_the_database_and_the_report_says_so(
    database: str, pool: Pool
) -> None:
    await change(database)
    await AuditStore(pool).write()
    await change(database)
    await AuditStore(pool).write()

    found = await check(database, key=None)
    assert (found.ok, found.heads["T1"].count) == (True, 2)
    assert "Set AUDIT_KEY" in found.report()
    assert "Set AUDIT_KEY" not in (await check(database)).report()


async def test_the_export_has_a_line_an_entry_that_can_be_checked_elsewhere(database: str, pool: Pool) -> None:
    await filled(database, pool)
    printed = io.StringIO()

    assert await export(database, printed) == 12

    lines = [json.loads(line) for line in printed.getvalue().splitlines()]
    assert [(one["team_id"], one["number"]) for one in lines] == [(t, n) for t in ("T1", "T2") for n in range(1, 7)]
    assert lines[0]["after"]["n"] == 1
    assert {len(one["hash"]) for one in lines} == {64}


async def test_a_thousand_entries_are_chained_quickly(database: str, pool: Pool) -> None:
    await execute(
        database,
        "INSERT INTO audit_outbox (team_id, user_id, what, channel_id, decision, subject)"
        " SELECT 'T1', 'U' || n % 40, 'question.ask', 'C1', 'answered', n::text FROM generate_series(1, 1000) n",
    )
    store = AuditStore(pool, key=KEY)

    written = [await store.write() for _ in range(5)]

    assert written == [200] * 5
    assert (await check(database)).ok


def test_a_report_shows_no_escape_sequence_of_a_name() -> None:
    name = "T1\x1b[2J\u202e\x1b]8;;https://evil.example\x07"
    found = Verification(
        heads={name: Head(team_id=name, count=1, hash="ab")}, key=SigningKey(secret=b"k"), problems={name: ["odd"]}
    )

    assert not {"\x1b", "\x07", "\u202e"} & set(found.report())
    assert found.report().count("\n") == 3
