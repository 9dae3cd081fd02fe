"""The app as a real process with its embedded Postgres: stopped at any moment, it leaves nothing running."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import IO

import psutil
import psycopg
import pytest
from aiohttp import ClientError, ClientSession

from bot.command_line import SAME_SECONDS
from bot.storage.embedded import embedded_server
from tests.driver import KEY
from tests.fakes.perplexity import FakePerplexity
from tests.fakes.person import SIGNING_SECRET, Person
from tests.fakes.ports import free_port
from tests.fakes.process import DEVELOPMENT, KEPT, Process
from tests.fakes.slack import BOT_TOKEN, FakeSlack
from tests.rare import one_in

MOMENTS = (0.05, 0.6, 1.2, 2.0)
"""Seconds after the start: while Python starts, while imports run, while Postgres is made and started, afterwards."""


def servers(data: Path) -> list[int]:
    """Return the processes that are at work in this data folder."""
    found = []
    for process in psutil.process_iter():
        try:
            at = Path(process.cwd())
            if process.status() != psutil.STATUS_ZOMBIE and data in (at, *at.parents):
                found.append(process.pid)
        except psutil.Error:
            continue
    return found


async def no_server_left(data: Path, *, seconds: float = 5) -> bool:
    """Return whether no server is left in this folder; one that was told to end may take a moment."""
    end = time.monotonic() + seconds
    while servers(data):
        if time.monotonic() > end:
            return False
        await asyncio.sleep(0.05)
    return True


@dataclass
class Started:
    """One `python -m bot …` in a process group of its own."""

    process: subprocess.Popen[bytes]

    async def ended(self, *, seconds: float = 20) -> int:
        end = time.monotonic() + seconds
        while self.process.poll() is None:
            assert time.monotonic() < end
            await asyncio.sleep(0.02)
        return int(self.process.returncode)

    def signal(self, number: signal.Signals, *, group: bool) -> None:
        if group:
            os.killpg(self.process.pid, number)
        else:
            os.kill(self.process.pid, number)


@dataclass
class Starter:
    """Starts processes over one data folder, and kills at the end what has not ended."""

    data: Path
    output: IO[bytes]
    settings: Mapping[str, str] = field(default_factory=dict)
    started: list[Started] = field(default_factory=list)

    def __call__(self, command: str, **settings: str) -> Started:
        environment = {name: os.environ[name] for name in KEPT if name in os.environ}
        process = subprocess.Popen(
            [sys.executable, "-m", "bot", command],
            env=environment | {"DATA_DIR": str(self.data), "PORT": str(free_port())} | settings,
            stdout=self.output,
            stderr=self.output,
            start_new_session=True,
        )
        self.started.append(Started(process))
        return self.started[-1]

    def printed(self) -> str:
        self.output.seek(0)
        return self.output.read().decode()

    async def prints(self, words: str) -> None:
        end = time.monotonic() + 30
        while words not in self.printed():
            assert time.monotonic() < end, self.printed()
            await asyncio.sleep(0.05)


@pytest.fixture
def start(data_dir: Path, tmp_path: Path) -> Iterator[Starter]:
    with (tmp_path / "output").open("w+b") as output:
        starter = Starter(data=data_dir, output=output)
        yield starter
        for one in starter.started:
            one.process.kill()
            one.process.wait()
        for pid in servers(data_dir):
            os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize("group", [False, pytest.param(True, marks=pytest.mark.rare)], ids=["process", "group"])
@pytest.mark.parametrize("seconds", one_in(4, MOMENTS, first=2))
async def test_sigterm_at_any_moment_leaves_no_server_and_the_next_start_works(
    start: Starter, seconds: float, group: bool
) -> None:
    codes = []
    for _ in range(2):
        process = start("run")
        await asyncio.sleep(seconds)
        process.signal(signal.SIGTERM, group=group)
        codes.append(await process.ended())
        assert await no_server_left(start.data)
    migrated = start("migrate")

    assert await migrated.ended() == 0
    assert await no_server_left(start.data)
    # A process that has not got as far as its first line yet has nothing to stop.
    assert set(codes) <= ({0, -signal.SIGTERM} if seconds < 0.6 else {0}), start.printed()


@pytest.mark.parametrize(
    ("command", "number"), one_in(6, product(["run", "worker", "migrate"], [signal.SIGTERM, signal.SIGINT]))
)
async def test_every_command_stops_cleanly(start: Starter, command: str, number: signal.Signals) -> None:
    slack = {} if command == "migrate" else {"SLACK_BOT_TOKEN": BOT_TOKEN, "SLACK_SIGNING_SECRET": SIGNING_SECRET}
    process = start(command, SLACK_API_URL="http://127.0.0.1:9/api/", **slack)
    await start.prints({"run": "Listening", "worker": "Working", "migrate": "Database"}[command])
    process.signal(number, group=True)

    assert await process.ended() == 0, start.printed()
    assert await no_server_left(start.data)
    if command != "migrate":  # It may be done before the signal.
        again = "press Ctrl-C again" if number == signal.SIGINT else "repeat the signal"
        assert f"Stopping  ({again} to stop at once; no question is lost)" in start.printed()
        assert start.printed().splitlines()[-1] == "Stopped"
    assert "Traceback" not in start.printed()


@pytest.mark.parametrize("number", one_in(2, [signal.SIGTERM, signal.SIGINT]))
def test_a_signal_that_arrives_when_the_command_is_done_changes_nothing(database: str, number: signal.Signals) -> None:
    """Python runs `atexit` after the command and before it resets its own handlers."""
    environment = {name: os.environ[name] for name in KEPT if name in os.environ}
    late = f"import atexit, os, runpy; atexit.register(os.kill, os.getpid(), {int(number)})"
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            f"{late}; import sys; sys.argv[1:] = ['migrate']; runpy.run_module('bot', run_name='__main__')",
        ],
        env=environment | {"DATABASE_URL": database},
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert "Migrated" in done.stdout


@pytest.mark.rare
async def test_a_second_signal_ends_it_at_once_and_its_server_too(
    start: Starter, slack: FakeSlack, perplexity: FakePerplexity, session: ClientSession
) -> None:
    perplexity.hold()
    port = free_port()
    process = start(
        "run",
        SLACK_BOT_TOKEN=BOT_TOKEN,
        SLACK_SIGNING_SECRET=SIGNING_SECRET,
        SLACK_API_URL=slack.api_url,
        PERPLEXITY_API_KEY=KEY,
        PERPLEXITY_BASE_URL=perplexity.base_url,
        PORT=str(port),
        HOST="127.0.0.1",
    )
    await start.prints("Listening")
    person = Person(session=session, app_url=f"http://127.0.0.1:{port}", response_url=slack.response_url)
    async with await person.type_command("/ask why", trigger="t1") as acked:
        assert acked.status == 200
    await perplexity.wait_for(1)
    process.signal(signal.SIGTERM, group=True)
    await start.prints("Stopping")
    await asyncio.sleep(SAME_SECONDS)
    process.signal(signal.SIGTERM, group=True)

    assert await process.ended(seconds=5) == 130
    assert await no_server_left(start.data)


def test_a_signal_that_comes_twice_at_once_counts_once() -> None:
    """`make run` passes it on to the app, which has got it too."""
    program = (
        "import os, signal, time; from bot.command_line import SAME_SECONDS, StopSignals\n"
        "with StopSignals().handled(exiting=True):\n"
        "    for _ in range(2): os.kill(os.getpid(), signal.SIGTERM)\n"
        "    time.sleep(SAME_SECONDS); print('goes on', flush=True)\n"
        "    os.kill(os.getpid(), signal.SIGTERM)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)

    assert (done.returncode, "goes on" in done.stdout) == (130, True)


async def test_the_server_stops_with_its_last_user_and_not_before(start: Starter) -> None:
    first = start("run", SLACK_API_URL="http://127.0.0.1:9/api/")
    await start.prints("Open ")
    with embedded_server(start.data) as conninfo:
        first.signal(signal.SIGTERM, group=True)
        code = await first.ended()
        with psycopg.connect(conninfo) as connection:
            answered = connection.execute("SELECT 1").fetchone()

    assert (code, answered) == (0, (1,))
    assert await no_server_left(start.data)


@pytest.fixture
async def embedded(
    slack: FakeSlack, perplexity: FakePerplexity, data_dir: Path
) -> AsyncIterator[Callable[[], Process]]:
    process = await Process.start(
        "run",
        options=DEVELOPMENT,
        SLACK_BOT_TOKEN=BOT_TOKEN,
        SLACK_SIGNING_SECRET=SIGNING_SECRET,
        SLACK_API_URL=slack.api_url,
        PERPLEXITY_API_KEY=KEY,
        PERPLEXITY_BASE_URL=perplexity.base_url,
        DATA_DIR=str(data_dir),
    )
    yield lambda: process
    if process.process.returncode is None:
        assert await process.terminate() == 0


@pytest.mark.rare
async def test_a_killed_postmaster_is_started_again_and_open_questions_are_answered(
    embedded: Callable[[], Process],
    slack: FakeSlack,
    perplexity: FakePerplexity,
    session: ClientSession,
    data_dir: Path,
) -> None:
    process = embedded()
    perplexity.hold()
    person = Person(session=session, app_url=process.url, response_url=slack.response_url)
    async with await person.type_command("/ask why", trigger="t1") as acked:
        assert acked.status == 200
    await perplexity.wait_for(1)
    postmaster = int((data_dir / "postgres" / "postmaster.pid").read_text().split("\n", 1)[0])

    os.kill(postmaster, signal.SIGKILL)
    killed = time.monotonic()
    perplexity.release()
    await asyncio.sleep(1)
    while True:
        try:
            async with session.get(f"{process.url}/readyz") as ready:
                if ready.status == 200:
                    break
        except ClientError:
            pass
        assert time.monotonic() - killed < 15, process.log
        await asyncio.sleep(0.1)
    seconds = time.monotonic() - killed
    await slack.wait_for_text("Regenerate")

    assert seconds < 10
    assert [post.payload["token"] for post in slack.posts if "Regenerate" in post.shown_text] == ["t1"]
