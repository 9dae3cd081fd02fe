"""A forked app does what one does that an interpreter starts."""

from __future__ import annotations

import asyncio
import os
import signal
import sys

import pytest

from tests.fakes.forks import ROOT, ForkedProcess, can_fork
from tests.fakes.process import KEPT, Process
from tests.rare import one_in


async def printed(process: asyncio.subprocess.Process | ForkedProcess) -> tuple[int, str, str]:
    """Return a process's exit code and what it wrote."""
    assert process.stdout is not None
    assert process.stderr is not None
    async with asyncio.timeout(60):
        out, err = await asyncio.gather(process.stdout.read(), process.stderr.read())
        return await process.wait(), out.decode(), err.decode()


@pytest.mark.parametrize(
    ("arguments", "settings", "code"),
    one_in(
        2,
        [
            (["manifest", "--url", "https://a.example"], {"COMMAND_PREFIX": "x"}, 0),
            (["run", "--fast"], {}, 2),
            (["worker"], {"PORT": "many"}, 2),
            (["ask", "why"], {"PERPLEXITY_API_KEY": "two words"}, 2),
        ],
    ),
    ids=["manifest", "usage", "settings", "perplexity"],
)
async def test_it_prints_and_exits_like_one_that_an_interpreter_starts(
    arguments: list[str], settings: dict[str, str], code: int
) -> None:
    environment = {name: os.environ[name] for name in KEPT if name in os.environ} | settings
    module = "perplexity" if arguments[0] == "ask" else "bot"
    started = await asyncio.create_subprocess_exec(
        sys.executable, "-m", module, *arguments,
        env=environment, cwd=ROOT, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    forked = await ForkedProcess.start(module, *arguments, environment=environment)

    found = await printed(forked)

    assert found == await printed(started)
    assert found[0] == code


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 0), (signal.SIGKILL, -9)])
async def test_it_takes_signals(database: str, number: signal.Signals, code: int) -> None:
    process = await Process.start("run", ready="Open", DATABASE_URL=database)
    assert isinstance(process.process, ForkedProcess)
    running = process.process.returncode

    process.process.send_signal(number)

    async with asyncio.timeout(60):
        assert (running, await process.process.wait()) == (None, code)
    await process.kill()


def test_what_is_read_at_the_start_needs_an_interpreter() -> None:
    assert can_fork({"PORT": "1"})
    assert not can_fork({"PYTHONPATH": "/elsewhere"})
    assert not can_fork({"SSL_CERT_FILE": "/elsewhere"})
