"""The page about security says what is so: the columns, the log's fields, the scopes; its statements work."""

from __future__ import annotations

import re

import psycopg
import pytest
import yaml
from psycopg.rows import scalar_row

from bot.logs import FIELDS
from bot.privacy.tables import TABLES
from bot.settings import Settings
from bot.slack.scopes import ALL_FEATURES
from tests.docs import checklist
from tests.docs.checklist import ITEMS, files_by_number
from tests.docs.pages import ROOT, Block, blocks, codes, rows
from tests.driver import execute

PAGE = ROOT / "docs" / "security.md"


async def test_every_column_is_told(database: str) -> None:
    columns = "SELECT column_name FROM information_schema.columns WHERE table_name = 'questions'"
    async with await psycopg.AsyncConnection.connect(database) as connection:
        kept = await (connection.cursor(row_factory=scalar_row)).execute(columns)
        real = {str(name) for name in await kept.fetchall()}

    told = [name for cells, _ in rows(PAGE, section="What is kept") for name in re.findall(r"`(\w+)`", cells)]
    assert sorted(told) == sorted(real)


async def test_every_table_is_told(database: str) -> None:
    tables = "SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename NOT LIKE 'procrastinate%'"
    async with await psycopg.AsyncConnection.connect(database) as connection:
        kept = await (connection.cursor(row_factory=scalar_row)).execute(tables)
        real = {str(name) for name in await kept.fetchall()}

    told = {code for section, code in codes(PAGE) if section == "What is kept"}
    assert {name for name in real - told if not TABLES[name].holds} == set()


def test_every_service_that_text_goes_to_is_told() -> None:
    addresses = {name.upper() for name in Settings.model_fields if name.endswith(("_base_url", "_api_url"))}

    told = {code for section, code in codes(PAGE) if section == "Where text goes"}
    assert addresses - told == set()


@pytest.mark.parametrize("statement", [block for block in blocks() if block.language == "sql"], ids=str)
async def test_a_statement_works(statement: Block, database: str) -> None:
    await execute(database, statement.text)


def test_every_field_of_the_log_is_told() -> None:
    told = {code for section, code in codes(PAGE) if section == "What is logged"} - {"DEBUG"}

    assert told == FIELDS


def test_every_scope_is_told() -> None:
    manifest = yaml.safe_load((ROOT / "manifest.yml").read_text(encoding="utf-8"))

    told = {scope.strip("`"): why for scope, why in rows(PAGE, section="Scopes")}
    scopes = manifest["oauth_config"]["scopes"]
    assert sorted(told) == sorted(scopes["bot"])
    assert [scope for scope, why in told.items() if why.startswith("Optional: ")] == scopes["bot_optional"]


def test_every_scope_of_a_setting_is_told() -> None:
    told = [scope.strip("`") for scope, _ in rows(PAGE, section="Scopes of settings")]

    assert told == [scope.name for scope in ALL_FEATURES.own_scopes]


def test_each_number_of_what_is_tested_has_a_row_with_the_tests_that_carry_it() -> None:
    """If it does not, `python -m tests.docs.checklist` writes them. A feature that is deleted took its tests along."""
    told = {
        int(number): [name for name in tests.replace("`", "").split(", ") if is_here(name)]
        for number, _, _, tests in rows(checklist.PAGE, section="What is tested")
    }

    assert list(told) == list(range(1, ITEMS + 1))
    assert told == files_by_number()


def is_here(test: str) -> bool:
    return not test.startswith(("features/", "together/")) or (ROOT / "tests" / test).exists()
