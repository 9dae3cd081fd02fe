"""What the doctor prints for whole and broken configurations: word for word in `tests/data/doctor`."""

from __future__ import annotations

from pathlib import Path

import psycopg
import pytest

from bot.listeners.installation import token_hash
from bot.model.audit import AuditHealth
from bot.web.metrics import Metrics
from bot.web.server import Server
from bot.web.server import routes as health_routes
from tests.bot.doctor.broken_setups import BREAKINGS, CANARY, SIGNING_SECRET, Breaking
from tests.bot.doctor.conftest import Doctor
from tests.driver import execute
from tests.fakes import grok
from tests.fakes.perplexity import KEY
from tests.fakes.slack import APP_TOKEN, BOT_TOKEN
from tests.fakes.slack_socket import FakeSlackSocket

READ_ONLY = """
    DO $$ BEGIN
        EXECUTE format('ALTER DATABASE %I SET default_transaction_read_only = on', current_database());
    END $$
"""
GOLDEN = Path(__file__).parents[2] / "data" / "doctor"


async def test_a_complete_configuration_has_no_problems(doctor: Doctor) -> None:
    code, printed = await doctor()

    assert (code, printed) == (0, (GOLDEN / "whole.txt").read_text(encoding="utf-8"))


async def test_a_new_installation_names_its_budget(doctor: Doctor) -> None:
    with psycopg.connect(doctor.setup.database) as connection:
        connection.execute("INSERT INTO budgets VALUES ('', 'user', '', 5000000, '')")
    _, printed = await doctor()
    assert "ok      Budgets     Each person may spend $5.00 a day, as in every new installation." in printed

    doctor.setup.env["BUDGET_USER_DAY_USD"] = "none"
    assert "Budgets     " not in (await doctor())[1]


@pytest.mark.parametrize("breaking", BREAKINGS, ids=lambda breaking: breaking.__name__)
async def test_each_fault_is_reported_with_its_fix(doctor: Doctor, breaking: Breaking) -> None:
    breaking(doctor.setup)
    code, printed = await doctor()

    assert printed == (GOLDEN / f"{breaking.__name__}.txt").read_text(encoding="utf-8")
    assert code == (1 if "ERROR" in printed else 0)
    assert [secret for secret in (CANARY, BOT_TOKEN, SIGNING_SECRET, KEY, grok.KEY) if secret in printed] == []


@pytest.mark.parametrize(
    ("statement", "told"),
    [
        ("DELETE FROM schema_migrations WHERE name = '0001_questions.sql'", "1 migration is missing."),
        ("DROP TABLE schema_migrations", "migrations are missing."),
        ("INSERT INTO schema_migrations (name) VALUES ('9999_later.sql')", "This version can run with it;"),
        ("INSERT INTO schema_migrations (name, adds) VALUES ('9999_later.sql', false)", "cannot run with it."),
        ("SELECT audit_failed()", "Something was not recorded in the audit log"),
        ("ALTER TABLE audit_outbox RENAME TO audit_lost", "The audit log cannot be read."),
        (READ_ONLY, "The database cannot be written to (ReadOnlySqlTransaction)."),
    ],
)
async def test_a_database_that_is_not_as_it_should_be(doctor: Doctor, statement: str, told: str) -> None:
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

    async def healthy() -> AuditHealth:
        return AuditHealth()

    routes = health_routes(workers_alive=one, admin_issues=none, audit=healthy, metrics=Metrics())
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
    cases = {"whole", *(breaking.__name__ for breaking in BREAKINGS)}

    assert {path.stem for path in GOLDEN.iterdir()} == cases


async def test_an_audit_log_that_was_cut_off_or_waits_is_told(doctor: Doctor) -> None:
    statements = (
        (
            "INSERT INTO audit_outbox (at, team_id, user_id, what, channel_id, decision, subject)"
            " VALUES (now() - interval '5 minutes', 'T1', '', 'x', '', 'done', '')"
        ),
        "INSERT INTO audit_heads (team_id, count, hash, key_id, signature) VALUES ('T2', 3, 'h', 'k', 's')",
    )
    async with await psycopg.AsyncConnection.connect(doctor.setup.database) as connection:
        for statement in statements:
            await connection.execute(statement.encode())

    code, printed = await doctor()

    assert code == 0
    assert "The audit log has not been written for 5 min." in printed
    assert "The audit log’s head of T2 is not signed with the key in use." in printed
    assert "The audit log’s last entry of T2 is not the one that its head names." in printed


async def test_late_events_are_told(doctor: Doctor) -> None:
    statement = (
        "INSERT INTO questions (id, delivery_key, surface, command, text, team_id, channel_id, user_id, late_seconds)"
        " VALUES (gen_random_uuid(), 'k', 'im', 'ask', 'x', 'T1', 'D1', 'U1', 7800)"
    )
    await execute(doctor.setup.database, statement)

    code, printed = await doctor()

    assert code == 0
    assert "Slack delivered 1 message late, at most 130 minutes" in " ".join(printed.split())
