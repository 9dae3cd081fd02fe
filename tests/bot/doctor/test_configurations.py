"""What the doctor prints for whole and broken configurations: word for word in `tests/data/doctor`."""

from __future__ import annotations

import re
from pathlib import Path

import psycopg
import pytest

from bot.listeners.installation import token_hash
from bot.model.audit import AuditHealth
from bot.web.metrics import Metrics
from bot.web.server import HealthCheck, Server
from bot.web.server import routes as health_routes
from tests.bot.doctor.broken_setups import BREAKINGS, CANARY, OF_AUDIT_AND_BUDGETS, OF_BUDGETS, SIGNING_SECRET, Breaking
from tests.bot.doctor.conftest import Doctor
from tests.driver import execute
from tests.fakes import grok
from tests.fakes.databases import Databases
from tests.fakes.perplexity import KEY
from tests.fakes.slack import APP_TOKEN, BOT_TOKEN
from tests.fakes.slack_socket import FakeSlackSocket
from tests.rare import one_in

READ_ONLY = """
    DO $$ BEGIN
        EXECUTE format('ALTER DATABASE %I SET default_transaction_read_only = on', current_database());
    END $$
"""
GOLDEN = Path(__file__).parents[2] / "data" / "doctor"


def of_core(printed: str) -> list[str]:
    """Return the findings, without those that name the commands and shortcuts of features."""
    of_features = ("ok      Commands", "ok      Shortcuts", "skipped Shortcuts")
    return [one for one in re.split(r"\n(?=\S)", printed) if not one.startswith(of_features)]


async def assert_told(doctor: Doctor, name: str, *, whole: bool = False) -> None:
    """Run the doctor, and compare what it prints; `whole` with what features add to it."""
    code, printed = await doctor()
    expected = (GOLDEN / f"{name}.txt").read_text(encoding="utf-8")

    assert of_core(printed) == of_core(expected)
    assert not whole or printed == expected
    assert code == (1 if "ERROR" in printed else 0)
    assert [secret for secret in (CANARY, BOT_TOKEN, SIGNING_SECRET, KEY, grok.KEY) if secret in printed] == []


async def test_a_complete_configuration_has_no_problems(doctor: Doctor) -> None:
    await assert_told(doctor, "whole")


@pytest.mark.parametrize("breaking", one_in(4, BREAKINGS), ids=lambda breaking: breaking.__name__)
async def test_each_fault_is_reported_with_its_fix(doctor: Doctor, breaking: Breaking) -> None:
    breaking(doctor.setup)
    await assert_told(doctor, breaking.__name__)


@pytest.mark.parametrize(
    ("statement", "told"),
    [
        ("DELETE FROM schema_migrations WHERE name = '0001_questions.sql'", "1 migration is missing."),
        ("DROP TABLE schema_migrations", "migrations are missing."),
        ("INSERT INTO schema_migrations (name) VALUES ('9999_later.sql')", "This version can run with it;"),
        ("INSERT INTO schema_migrations (name, adds) VALUES ('9999_later.sql', false)", "cannot run with it."),
        (READ_ONLY, "The database cannot be written to (ReadOnlySqlTransaction)."),
    ],
)
async def test_a_database_that_is_not_as_it_should_be(
    doctor: Doctor, databases: Databases, statement: str, told: str
) -> None:
    databases.kept.forget(doctor.setup.database)  # what is set for a database is told to new connections
    await execute(doctor.setup.database, statement)

    assert told in " ".join((await doctor())[1].split())


async def test_the_database_is_left_as_it_was(doctor: Doctor) -> None:
    await doctor()
    async with await psycopg.AsyncConnection.connect(doctor.setup.database) as connection:
        table = await connection.execute("SELECT to_regclass('doctor_was_here')")

        assert await table.fetchone() == (None,)


async def test_a_port_that_another_program_has_is_a_fault(doctor: Doctor) -> None:
    server = Server([], host="127.0.0.1", port=int(doctor.setup.env["PORT"]))
    await server.start()
    code, printed = await doctor()
    await server.stop()

    assert code == 1
    assert "Another program is listening on 127.0.0.1:PORT." in printed


async def test_a_port_that_the_app_itself_uses_is_ok(doctor: Doctor) -> None:
    async def one() -> int:
        return 1

    async def none() -> dict[str, str]:
        return {}

    async def nobody() -> dict[str, int]:
        return {}

    async def healthy() -> AuditHealth:
        return AuditHealth()

    routes = health_routes(
        HealthCheck(workers_alive=one, admin_issues=none, audit=healthy), metrics=Metrics(), waiting=nobody
    )
    server = Server(routes, host="127.0.0.1", port=int(doctor.setup.env["PORT"]))
    await server.start()
    code, printed = await doctor()
    await server.stop()

    assert code == 0
    assert "The app is already listening on 127.0.0.1:PORT." in printed


async def test_a_host_that_is_not_this_machine_is_a_fault(doctor: Doctor) -> None:
    doctor.setup.env["HOST"] = "192.0.2.1"

    assert "192.0.2.1 is not an address of this machine." in (await doctor())[1]


async def test_a_working_app_token_is_ok_and_no_connection_is_made(doctor: Doctor) -> None:
    doctor.setup.env["SLACK_APP_TOKEN"] = APP_TOKEN
    async with FakeSlackSocket() as socket:
        doctor.setup.slack.socket_url = socket.url
        code, printed = await doctor()

    assert (code, socket.connections) == (0, [])
    assert "Slack accepts SLACK_APP_TOKEN." in printed


@pytest.mark.parametrize(
    ("state", "told"),
    [("revoked", "SLACK_BOT_TOKEN was revoked."), ("uninstalled", "The app was uninstalled.")],
)
async def test_an_uninstalled_app_is_a_fault_until_it_has_another_token(doctor: Doctor, state: str, told: str) -> None:
    await execute(
        doctor.setup.database,
        "INSERT INTO workspaces (id, team_id, state, closed_token_hash) VALUES ('T1', 'T1', %s, %s)",
        state,
        token_hash(BOT_TOKEN),
    )
    code, printed = await doctor()

    assert code == 1
    assert f"ERROR   Workspace   {told}" in printed
    assert "set SLACK_BOT_TOKEN to the new token" in " ".join(printed.split())


async def test_a_workspaces_database_without_a_token_is_a_fault(doctor: Doctor) -> None:
    for name in ("SLACK_BOT_TOKEN", "SLACK_SIGNING_SECRET"):
        del doctor.setup.env[name]
    await execute(doctor.setup.database, "INSERT INTO workspaces (id, team_id) VALUES ('T0PLAYGROUND', 'x')")
    assert "Workspace" not in (await doctor())[1]

    await execute(doctor.setup.database, "INSERT INTO workspaces (id, team_id) VALUES ('T0PROD', 'T0PROD')")
    code, printed = await doctor()

    assert code == 1
    assert "ERROR   Workspace   The database is that of a workspace (T0PROD), and no Slack token is set" in printed


async def test_nothing_that_costs_is_asked(doctor: Doctor) -> None:
    doctor.setup.with_xai()
    await doctor()

    assert [request.path for request in doctor.setup.perplexity.requests] == ["/v1/models"]
    assert [(request.method, request.path) for request in doctor.setup.xai.requests] == [("GET", "/v1/api-key")]
    assert [method for method, _ in doctor.setup.slack.calls] == ["auth.test"]


@pytest.fixture
def broken_env_file(env_file: Path) -> None:
    env_file.write_bytes(b"\xff")


async def test_an_env_file_that_is_no_text_is_a_fault(doctor: Doctor, broken_env_file: None) -> None:
    code, printed = await doctor()

    assert code == 1
    assert ".env cannot be read: it is not UTF-8 text." in printed


NAMES = """\
SLACK_SIGNING_SECRTE=x
perplexity_api_keys=x
NOTHING_LIKE_IT=x
PPLX_API_KEY=pplx-mine
POSTGRES_PASSWORD=x
HTTPS_PROXY=http://127.0.0.1:9
"""


@pytest.fixture
def misspelt_env_file(env_file: Path) -> None:
    env_file.write_text(NAMES)


async def test_a_misspelt_name_in_an_env_file_is_shown_with_the_likely_one(
    doctor: Doctor, misspelt_env_file: None
) -> None:
    code, printed = await doctor()
    printed = " ".join(printed.split())

    assert code == 0
    assert "SLACK_SIGNING_SECRTE in .env is not a setting; did you mean SLACK_SIGNING_SECRET?" in printed
    assert "PERPLEXITY_API_KEYS in .env is not a setting; did you mean PERPLEXITY_API_KEY?" in printed
    assert "NOTHING_LIKE_IT in .env is not a setting." in printed
    assert printed.count("in .env is not a setting") == 3


def test_every_golden_file_is_used() -> None:
    cases = {"whole", *(breaking.__name__ for breaking in (*BREAKINGS, *OF_BUDGETS, *OF_AUDIT_AND_BUDGETS))}

    assert {path.stem for path in GOLDEN.iterdir()} == cases


async def test_late_events_are_told(doctor: Doctor) -> None:
    statement = (
        "INSERT INTO questions (id, delivery_key, surface, command, text, team_id, channel_id, user_id, late_seconds)"
        " VALUES (gen_random_uuid(), 'k', 'im', 'ask', 'x', 'T1', 'D1', 'U1', 7800)"
    )
    await execute(doctor.setup.database, statement)

    code, printed = await doctor()

    assert code == 0
    assert "Slack delivered 1 message late, at most 130 minutes" in " ".join(printed.split())
