"""`python -m bot audit`: what it prints, and how it exits."""

from __future__ import annotations

from urllib.parse import urlencode

import pytest
from psycopg.conninfo import conninfo_to_dict

from bot.__main__ import main

pytestmark = pytest.mark.usefixtures("logging_as_it_was")


def test_the_audit_log_is_checked_signed_and_exported(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], database: str
) -> None:
    monkeypatch.setenv("DATABASE_URL", database)
    monkeypatch.setenv("AUDIT_KEY", "a key of thirty-two characters, or more")

    assert [main(["audit", what]) for what in ("verify", "sign", "export")] == [0, 0, 0]
    assert capsys.readouterr().out == "Nothing was changed.\n" * 2
    assert main(["audit", "verify", "--head", f"T1:3:{'0' * 64}"]) == 1
    assert "T1  Entry 3, whose hash you named, is missing." in capsys.readouterr().out


@pytest.mark.parametrize("what", ["verify", "sign", "export"])
@pytest.mark.parametrize("key", ["", "a key of thirty-two characters, or more"])
def test_a_database_without_an_audit_log_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], postgres: str, what: str, key: str
) -> None:
    monkeypatch.setenv(
        "DATABASE_URL", f"postgresql:///?{urlencode(conninfo_to_dict(postgres) | {'dbname': 'postgres'})}"
    )
    monkeypatch.setenv("AUDIT_KEY", key)

    assert main(["audit", what]) == 1
    assert capsys.readouterr() == ("", "The database has no audit log yet. Run `python -m bot migrate`.\n")


@pytest.mark.parametrize("head", ["T1", "T1:3", "T1:x:" + "0" * 64, "T1:3:abc"])
def test_a_malformed_head_is_refused(capsys: pytest.CaptureFixture[str], head: str) -> None:
    with pytest.raises(SystemExit):
        main(["audit", "verify", "--head", head])

    assert "must be a workspace, a number and a hash" in capsys.readouterr().err
