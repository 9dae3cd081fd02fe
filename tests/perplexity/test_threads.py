"""Blocking calls in daemon threads: their results, their errors, and what outlives them."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from typing import Any

import pytest

from perplexity.threads import DaemonExecutor, DaemonThreads


async def test_a_place_is_free_again_when_its_call_returns() -> None:
    threads = DaemonThreads(limit=1)

    assert [await threads.run(word.upper) for word in ("a", "b", "c")] == ["A", "B", "C"]


async def test_a_call_that_returns_after_its_caller_has_left_raises_nothing() -> None:
    problems: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, problem: problems.append(problem))
    release, threads = threading.Event(), DaemonThreads(limit=1)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(threads.run(release.wait), 0.05)
    release.set()

    assert (await threads.run("next".upper), problems) == ("NEXT", [])


async def test_what_a_call_raises_is_raised_where_it_is_waited_for() -> None:
    def broken() -> None:
        raise SystemExit("no")

    with pytest.raises(SystemExit):
        await DaemonThreads(limit=1).run(broken)


HANGING = """
import asyncio, threading, time
from perplexity.threads import DaemonThreads

async def main():
    try:
        await asyncio.wait_for(DaemonThreads(limit=1).run(threading.Event().wait), 0.1)
    except TimeoutError:
        print("left", flush=True)

asyncio.run(main())
"""


def test_the_interpreter_ends_while_a_call_hangs() -> None:
    ended = subprocess.run([sys.executable, "-c", HANGING], capture_output=True, text=True, timeout=10, check=True)

    assert (ended.stdout, ended.stderr) == ("left\n", "")


LATE = """
import asyncio, time
from perplexity.threads import DaemonThreads

async def main():
    try:
        await asyncio.wait_for(DaemonThreads(limit=1).run(lambda: time.sleep(0.3)), 0.1)
    except TimeoutError:
        pass

asyncio.run(main())
time.sleep(0.5)
"""


def test_a_call_that_returns_after_its_loop_has_closed_is_silent() -> None:
    ended = subprocess.run([sys.executable, "-c", LATE], capture_output=True, text=True, timeout=10, check=True)

    assert ended.stderr == ""


PENDING_LOOKUP = """
import asyncio, threading
from bot.doctor.checks import run

async def main():
    try:
        await asyncio.wait_for(asyncio.to_thread(threading.Event().wait), 0.1)
    except TimeoutError:
        print("left", flush=True)

run(main())
"""


def test_the_doctor_ends_while_a_call_of_the_default_executor_hangs() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", PENDING_LOOKUP], capture_output=True, text=True, timeout=20, check=True
    )

    assert (ended.stdout, ended.stderr) == ("left\n", "")


async def test_a_default_executor_of_daemon_threads_returns_results_and_raises_errors() -> None:
    loop = asyncio.get_running_loop()

    assert await loop.run_in_executor(DaemonExecutor(), "a".upper) == "A"
    with pytest.raises(ZeroDivisionError):
        await loop.run_in_executor(DaemonExecutor(), lambda: 1 / 0)
