"""A real PgBouncer in transaction mode, before a Postgres that listens on a unix socket."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import psycopg
from psycopg.conninfo import conninfo_to_dict

from tests.fakes.ports import free_port

PROGRAM = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")


@contextmanager
def pgbouncer(conninfo: str, *, mode: str = "transaction") -> Iterator[str]:
    """Yield the address of the same database through a pooler; few connections, so that they go from hand to hand."""
    assert PROGRAM is not None
    to = conninfo_to_dict(conninfo)
    with TemporaryDirectory(prefix="pgbouncer-") as name:
        folder, port = Path(name), free_port()
        (folder / "users").write_text(f'"{to["user"]}" ""\n')
        (folder / "config").write_text(
            "[databases]\n"
            f"{to['dbname']} = host={to['host']} port={to.get('port', 5432)} dbname={to['dbname']} user={to['user']}\n"
            "[pgbouncer]\n"
            f"listen_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\nauth_type = any\n"
            f"auth_file = {folder / 'users'}\npool_mode = {mode}\ndefault_pool_size = 3\nmax_client_conn = 200\n"
            f"logfile = {folder / 'log'}\npidfile =\n"
        )
        as_user: list[str] = []
        if os.geteuid() == 0:  # it refuses to run as root
            folder.chmod(0o755)
            user = Path(str(to["host"])).owner() if str(to["host"]).startswith("/") else "nobody"
            shutil.chown(folder, user)
            as_user = ["-u", user]
        process = subprocess.Popen(
            [PROGRAM, "-q", *as_user, str(folder / "config")], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            address = f"postgresql://{to['user']}@127.0.0.1:{port}/{to['dbname']}"
            _wait(address, process, folder / "log")
            yield address
        finally:
            process.terminate()
            process.wait()


def _wait(address: str, process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + 10
    while True:
        try:
            psycopg.connect(address, prepare_threshold=None).close()
        except psycopg.OperationalError:
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < end, log.read_text()
            time.sleep(0.05)
        else:
            return
