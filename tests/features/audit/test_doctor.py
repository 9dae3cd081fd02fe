"""What the doctor says about the audit log."""

from __future__ import annotations

import psycopg
import pytest

from tests.bot.doctor.conftest import Doctor, doctor, setup
from tests.driver import execute

__all__ = ["doctor", "setup"]


@pytest.mark.parametrize(
    ("statement", "told"),
    [
        ("SELECT audit_failed()", "Something was not recorded in the audit log"),
        ("ALTER TABLE audit_outbox RENAME TO audit_lost", "The audit log cannot be read."),
    ],
)
async def test_a_database_that_is_not_as_it_should_be(doctor: Doctor, statement: str, told: str) -> None:
    await execute(doctor.setup.database, statement)

    assert told in " ".join((await doctor())[1].split())


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
