"""`python -m bot` without a start of Python: forked from a process that has imported the app.

To import it takes a second of the processor's time. What is forked has its own arguments, environment, pipes, signals
and exit code, and is killed like any other process. Python's own start is tested by what starts a real interpreter.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import runpy
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Self

ROOT = Path(__file__).parents[2]
FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(["tests.fakes.imported_app"])


def can_fork(module: str, environment: Mapping[str, str]) -> bool:
    """Return whether a fork does what a new interpreter would: it has read its own settings and found the package."""
    read_at_start = any(name.startswith(("PYTHON", "COVERAGE_")) for name in environment)
    return module == "bot" and not read_at_start and Path.cwd() == ROOT


def _run(output: Connection, errors: Connection, arguments: Sequence[str], environment: Mapping[str, str]) -> None:
    """Be `python -m bot …`."""
    for number, pipe in ((1, output), (2, errors)):
        os.dup2(pipe.fileno(), number)
        pipe.close()
    os.environ.clear()
    os.environ.update(environment)
    time.tzset()
    sys.argv = ["bot", *arguments]
    runpy.run_module("bot", run_name="__main__", alter_sys=True)


@dataclass(kw_only=True)
class ForkedProcess:
    """What tests use of `asyncio.subprocess.Process`, for a process that was forked."""

    process: ForkServerProcess
    stdout: asyncio.StreamReader
    stderr: asyncio.StreamReader
    ended: asyncio.Event = field(default_factory=asyncio.Event)

    @classmethod
    async def start(cls, *arguments: str, environment: Mapping[str, str]) -> Self:
        """Fork a process with exactly this environment."""
        (output, its_output), (errors, its_errors) = FORKS.Pipe(duplex=False), FORKS.Pipe(duplex=False)
        process = FORKS.Process(target=_run, args=(its_output, its_errors, arguments, dict(environment)), daemon=True)
        # The first one waits for the imports.
        await asyncio.to_thread(process.start)
        its_output.close()
        its_errors.close()
        started = cls(process=process, stdout=await _reader(output), stderr=await _reader(errors))
        asyncio.get_running_loop().add_reader(process.sentinel, started._end)
        return started

    @property
    def pid(self) -> int:
        assert self.process.pid is not None
        return self.process.pid

    @property
    def returncode(self) -> int | None:
        """The exit code, the negative number of the signal that killed it, or None as long as it runs."""
        return self.process.exitcode

    def send_signal(self, number: int) -> None:
        if self.returncode is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    async def wait(self) -> int:
        """Wait until it has ended; return its exit code."""
        await self.ended.wait()
        assert self.returncode is not None
        return self.returncode

    def _end(self) -> None:
        asyncio.get_running_loop().remove_reader(self.process.sentinel)
        self.ended.set()


async def _reader(pipe: Connection) -> asyncio.StreamReader:
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), pipe)
    return reader
