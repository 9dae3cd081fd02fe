"""The embedded Postgres: it starts, it is shared, it is stopped, and it gets over a killed process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import psutil
import psycopg

from bot.storage.embedded import embedded_server


def postmaster(data: Path) -> int:
    return int((data / "postgres" / "postmaster.pid").read_text().split("\n", 1)[0])


def runs(pid: int) -> bool:
    """Tell whether a process runs; one that ended and that nobody waited for is still listed as a zombie."""
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def test_it_serves_and_stops_with_its_last_user(data_dir: Path) -> None:
    with embedded_server(data_dir) as conninfo, psycopg.connect(conninfo) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)
        pid = postmaster(data_dir)

    assert not runs(pid)


def test_after_a_kill_9_the_next_start_takes_over_and_stops_it(data_dir: Path) -> None:
    program = (
        "import os, signal, sys; from pathlib import Path; from bot.storage.embedded import embedded_server\n"
        "with embedded_server(Path(sys.argv[1])): os.kill(os.getpid(), signal.SIGKILL)"
    )
    killed = subprocess.run([sys.executable, "-c", program, str(data_dir)], check=False, capture_output=True)
    left_behind = postmaster(data_dir)
    running = runs(left_behind)

    with embedded_server(data_dir):
        handles = json.loads((data_dir / "postgres" / ".handle_pids.json").read_text())

    assert (killed.returncode, running, handles) == (-9, True, [os.getpid()])
    assert not runs(left_behind)


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
