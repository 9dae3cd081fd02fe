"""What the whole suite shares: one real Postgres, and a fresh database in it for each test that asks."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import shutil
import signal
import sys
from collections.abc import Generator, Iterator
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import uuid4
from zlib import crc32

import hypothesis
import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from bot.storage.embedded import embedded_server
from bot.storage.migrate import migrate
from tests.browser.chromium import artifacts, browser
from tests.driver import features, harness, perplexity, session, settings, slack, workspace
from tests.fakes.databases import Databases
from tests.fakes.duckduckgo import PointDdgsAt

__all__ = [
    "artifacts",
    "browser",
    "features",
    "harness",
    "perplexity",
    "session",
    "settings",
    "slack",
    "workspace",
]

# Each process that tests start would compile all modules again.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# The modules and tests stay until the end: to look through them for garbage costs seconds, here and at the exit.
gc.disable()

# How long one example takes is no finding: the machine may be busy. What must be fast has a test of its own. Few
# examples are enough at every change, since `make rare` tries many.
hypothesis.settings.register_profile("suite", deadline=None, max_examples=25)
# For `make rare`, which may take longer than what runs at every change.
hypothesis.settings.register_profile("many", hypothesis.settings.get_profile("suite"), max_examples=300)
hypothesis.settings.load_profile("suite")

SHARED_MEMORY = Path("/dev/shm")  # noqa: S108 - folders in it get a name of their own, as in /tmp
"""A file system in memory, on Linux. One on a disk is slow to create files after many were deleted (ext4)."""

SERVERS_BYTES = 2 << 30
"""How much of it the servers of the suite may need."""


def _servers_folder() -> Path | None:
    """Return where the servers' data goes: into memory if there is enough, else where temporary files go (None)."""
    try:
        return SHARED_MEMORY if shutil.disk_usage(SHARED_MEMORY).free >= SERVERS_BYTES else None
    except OSError:
        return None


TOGETHER = ("tests/browser/", "tests/packaging/")
"""Folders whose tests share what takes seconds to make: a browser (as those of features in `test_page*.py` do), an
environment with the wheel."""

LONG = (
    "tests/features/digests/test_scheduler.py",
    "tests/end_to_end/test_crashes.py",
    "tests/bot/blocks/test_linear_time.py",
    "tests/end_to_end/test_provider_privacy.py",
    "tests/end_to_end/test_stopping.py",
    "tests/bot/workspaces/test_tokens_at_rest.py",
    "tests/features/deepdive/test_deepdive.py",
    "tests/end_to_end/test_pgbouncer.py",
    "tests/bot/playground/test_odd_input.py",
    "tests/end_to_end/test_odd_bodies.py",
    "tests/bot/streaming/test_long_streams.py",
    "tests/bot/worker/test_worker.py",
    "tests/end_to_end/test_stream_crashes.py",
    "tests/end_to_end/test_without_a_feature.py",
    "tests/end_to_end/test_recorded_versions.py",
    "tests/end_to_end/test_upgrades.py",
    "tests/end_to_end/test_rates.py",
    "tests/end_to_end/test_streaming.py",
    "tests/end_to_end/test_stopping_hung.py",
    "tests/features/home/test_home.py",
)
"""Files with a test that takes many seconds, by `--durations=40`, mostly of waiting.

Begun last, they would keep one process waiting alone; begun first, others use the processor in the meantime.
"""


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Have each process begin a folder at another place, so that it compiles what no other process has compiled yet.

    `pytest_collection_modifyitems` decides what is run when.
    """
    report = yield
    if isinstance(collector, pytest.Dir) and (worker := getattr(collector.config, "workerinput", None)):
        first = int(worker["workerid"].removeprefix("gw")) * len(report.result) // worker["workercount"]
        report.result = [*report.result[first:], *report.result[:first]]
    return report


@pytest.hookimpl(trylast=True)  # after those that the markers leave out are gone
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mix the files, so that each process gets its share of those that take long; the order within a file stays.

    Those of `TOGETHER` are what the first process begins with, as the others take over what it has no time for; those
    of `LONG` are what the others begin with. `--dist=worksteal` gives each process as many tests that follow another.
    """
    files: dict[str, list[pytest.Item]] = {}
    for item in items:
        files.setdefault(item.nodeid.partition("::")[0], []).append(item)
    mixed = sorted(files, key=lambda path: crc32(path.encode()))
    together = [path for path in mixed if path.startswith(TOGETHER) or "/test_page" in path]
    long = [path for path in LONG if path in files]
    rest = iter([item for path in mixed if path not in {*together, *long} for item in files[path]])
    processes = getattr(config, "workerinput", {}).get("workercount", 1)
    total = len(items)
    items.clear()
    others = [long[number :: processes - 1] for number in range(processes - 1)]
    for number, begun in enumerate([together, *others] if others else [[*together, *long]], 1):
        items += [item for path in begun for item in files[path]]
        items += islice(rest, max(number * total // processes - len(items), 0))
    items += rest


def pytest_collection_finish() -> None:
    """Collect the garbage of the tests, and of nothing that was there before them."""
    gc.freeze()
    gc.set_threshold(20_000, 50, 100)  # to look often costs a twelfth of the suite's time
    gc.enable()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Return how many processes `--numprocesses=auto` means: four more than there are cores, since many tests wait.

    Each takes nine seconds of a core to find its tests.
    """
    return (os.cpu_count() or 1) + 4


@pytest.fixture
def logging_as_it_was() -> Iterator[None]:
    """Put the root logger back as it was: the command line configures it."""
    root = logging.getLogger()
    before, level = root.handlers[:], root.level
    yield
    root.handlers[:], root.level = before, level


@pytest.fixture(autouse=True)
def _no_settings_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the developer's own environment and `.env` out of every test."""
    from bot.settings import Settings

    for name in os.environ:
        if name.lower() in Settings.model_fields or name.startswith("PPLX_"):
            monkeypatch.delenv(name)
    monkeypatch.setitem(Settings.model_config, "env_file", None)


@pytest.fixture
def env_file(_no_settings_from_outside: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Return the path of the `.env` that settings are read from, which the test may write."""
    from bot.settings import Settings

    monkeypatch.setitem(Settings.model_config, "env_file", tmp_path / ".env")
    return tmp_path / ".env"


@pytest.fixture
def point_ddgs_at(monkeypatch: pytest.MonkeyPatch) -> PointDdgsAt:
    """Return a function that has the `ddgs` library fetch its results from a URL; it has no setting for that."""
    from ddgs.engines.duckduckgo import Duckduckgo

    return lambda url: monkeypatch.setattr(Duckduckgo, "search_url", url)


@pytest.fixture(autouse=True)
def _log_levels_are_restored() -> Iterator[None]:
    """Restore the levels that a test of the command line sets for its whole process."""
    loggers = [logging.getLogger(name) for name in ("", "bot", "perplexity")]
    levels = [logger.level for logger in loggers]
    yield
    for logger, level in zip(loggers, levels, strict=True):
        if logger.level != level:  # setting it again would clear what each logger remembers of its level
            logger.setLevel(level)


@pytest.fixture(scope="session", autouse=True)
def _signals_reach_what_is_started() -> None:
    """Let processes that tests start take signals, also where the suite itself was told not to, by nohup or `&`.

    What is ignored is inherited; what has a handler, as here one that does nothing, is not.
    """
    for number in (signal.SIGHUP, signal.SIGINT):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, lambda *_: None)


@pytest.fixture
def data_dir() -> Iterator[Path]:
    """Yield a folder for a server of a test's own; not pytest's, whose name is long for a socket."""
    with TemporaryDirectory(prefix="data-", dir=_servers_folder()) as folder:
        yield Path(folder)


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """Yield the address of a server: TEST_DATABASE_URL, or an embedded one of this run's own."""
    if given := os.environ.get("TEST_DATABASE_URL"):
        yield given
        return
    with (
        TemporaryDirectory(prefix="data-", dir=_servers_folder()) as folder,
        embedded_server(Path(folder)) as conninfo,
    ):
        Path(folder).chmod(0o711)  # as root a pooler of the tests is another user
        with psycopg.connect(conninfo, autocommit=True) as connection:
            # This server need not survive a power cut, only the tests.
            connection.execute("ALTER SYSTEM SET fsync = off")
            # Plans are those of a new database, however many tests were before.
            connection.execute("ALTER SYSTEM SET autovacuum = off")
            connection.execute("SELECT pg_reload_conf()")
        yield conninfo


@pytest.fixture(scope="session")
def template(postgres: str) -> Iterator[str]:
    """Yield the name of a migrated database that the tests' databases are copied from."""
    name = f"template_{uuid4().hex}"
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
        asyncio.run(migrate(make_conninfo(postgres, dbname=name)))
        with psycopg.connect(postgres, dbname=name) as migrated:
            migrated.execute("DELETE FROM budgets")  # what a new installation begins with
        yield name
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture(scope="session")
def databases(postgres: str, template: str) -> Iterator[Databases]:
    """Yield what lends each test a database."""
    with Databases.on(postgres, template) as databases:
        yield databases


@pytest.fixture
def database(databases: Databases) -> Iterator[str]:
    """Yield the address of an empty, migrated database."""
    with databases.lend() as address:
        yield address
