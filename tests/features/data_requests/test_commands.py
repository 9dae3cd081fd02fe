"""`export` and `erase`: what they write, what they ask, and how they exit."""

from __future__ import annotations

import asyncio
import io
import json
from typing import Any

import psycopg
import pytest

from bot.__main__ import main
from bot.features.data_requests.commands import People, Terminal, erase_people
from bot.privacy.tables import TABLES
from bot.storage.personal_data import PersonalDataStore
from bot.storage.questions import connection_pool
from tests.driver import execute
from tests.fakes.perplexity import KEY, FakePerplexity
from tests.fakes.personal_data import PersonWithData, find_text

ANNA, BERT = PersonWithData("UANNA", "TANNA"), PersonWithData("UBERT", "TBERT")
pytestmark = pytest.mark.usefixtures("logging_as_it_was")


@pytest.fixture
async def filled(database: str, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("DATABASE_URL", database)
    async with await psycopg.AsyncConnection.connect(database, autocommit=True) as connection:
        for person in (ANNA, BERT):
            await person.fill(connection)
    return database


async def left_of(database: str, user: str) -> dict[str, int]:
    async with await psycopg.AsyncConnection.connect(database) as connection:
        return await find_text(connection, user)


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


async def erased_at(terminal: Terminal, database: str) -> int:
    async def cancel(run_ids: Any) -> None:
        """Nothing runs."""

    async with connection_pool(database) as pool:
        people, store = People(users=("UANNA",)), PersonalDataStore(pool)
        return await erase_people(store, people, confirmed=False, cancel=cancel, terminal=terminal)


async def test_export_writes_a_line_of_json_a_row(filled: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert await asyncio.to_thread(main, ["export", "--user", "UANNA", "UBERT"]) == 0

    said = capsys.readouterr()
    lines = [json.loads(line) for line in said.out.splitlines()]
    tables = sorted(name for name, table in TABLES.items() if table.of_person)
    assert sorted((line["user"], line["table"]) for line in lines) == sorted(
        (user, table) for user in ("UANNA", "UBERT") for table in tables
    )
    assert {"user", "table", "row"} == set(lines[0])


async def test_both_are_recorded_as_the_operator_s_and_an_erasure_names_no_one(filled: str) -> None:
    async with connection_pool(filled) as pool:
        for command in (["export", "--user", "UANNA"], ["erase", "--yes", "--user", "UANNA", "--team", "TANNA"]):
            assert await asyncio.to_thread(main, command) == 0
        async with pool.connection() as connection:
            query = "SELECT team_id, user_id, subject, what FROM audit_outbox WHERE what LIKE 'person.%' ORDER BY id"
            exported, erased = await (await connection.execute(query)).fetchall()

    assert (exported["what"], exported["team_id"], exported["user_id"]) == ("person.export", "TANNA", "")
    assert erased == {"what": "person.erase", "team_id": "TANNA", "user_id": "", "subject": ""}
    assert await left_of(filled, "UANNA") == {}


async def test_someone_of_whom_nothing_is_kept_is_named_and_exit_1(
    filled: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert await asyncio.to_thread(main, ["export", "--user", "UNONE", "--user", "UANNA"]) == 1
    said = capsys.readouterr()
    assert "UNONE  nothing is kept" in said.err
    assert said.out.count('"user": "UANNA"') > 1

    assert await asyncio.to_thread(main, ["erase", "--yes", "--user", "UNONE", "UANNA"]) == 1
    assert await left_of(filled, "UANNA") == {}


@pytest.mark.parametrize("command", ["export", "erase"])
def test_what_is_no_user_id_is_refused(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([command, "--user", "U1", "anna"])

    assert ended.value.code == 2
    assert "'anna' must be a Slack user id, such as U012AB3CD" in capsys.readouterr().err


async def test_without_a_terminal_nothing_is_asked_and_the_person_is_erased(
    filled: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before = await left_of(filled, "UBERT")

    assert await asyncio.to_thread(main, ["erase", "--user", "UANNA"]) == 0

    assert "Type UANNA" not in capsys.readouterr().err
    assert await left_of(filled, "UANNA") == {}
    assert await left_of(filled, "UBERT") == before


async def test_someone_who_cannot_see_the_question_erases_nothing(filled: str) -> None:
    before = await left_of(filled, "UANNA")
    terminal = Terminal(stdin=Screen("UANNA\n"), stdout=Screen(), stderr=io.StringIO())

    assert await erased_at(terminal, filled) == 2

    assert "add --yes" in terminal.stderr.getvalue()  # type: ignore[attr-defined]
    assert await left_of(filled, "UANNA") == before


async def test_with_yes_everything_of_the_person_is_erased(filled: str, capsys: pytest.CaptureFixture[str]) -> None:
    before = await left_of(filled, "UBERT")

    assert await asyncio.to_thread(main, ["erase", "--user", "UANNA", "--yes"]) == 0

    assert "UANNA  erased: " in capsys.readouterr().out
    assert await left_of(filled, "UANNA") == {}
    assert await left_of(filled, "UBERT") == before


@pytest.mark.parametrize(("typed", "code"), [("UANNA\n", 0), ("yes\n", 2), ("", 2)])
async def test_at_a_terminal_the_id_confirms(filled: str, typed: str, code: int) -> None:
    terminal = Terminal(stdin=Screen(typed), stdout=Screen(), stderr=Screen())

    assert await erased_at(terminal, filled) == code

    assert (await left_of(filled, "UANNA") == {}) is (code == 0)


async def test_what_is_under_way_is_stopped_and_cancelled_at_the_service(
    filled: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with FakePerplexity() as perplexity:
        monkeypatch.setenv("PERPLEXITY_API_KEY", KEY)
        monkeypatch.setenv("PERPLEXITY_BASE_URL", perplexity.base_url)
        await execute(filled, "UPDATE questions SET state = 'working', settled_at = NULL, run_id = 'resp_1'")

        assert await asyncio.to_thread(main, ["erase", "--user", "UANNA", "--yes"]) == 0

        assert [(one.method, one.path) for one in perplexity.requests] == [("POST", "/v1/agent/resp_1/cancel")]
