"""`python -m bot` and `python -m perplexity` without a start of Python: forked from a process that has imported them.

To import the app takes a second of the processor's time. What is forked has its own arguments, environment, streams,
signals and exit code, and is killed like any other process. Python's own start is tested by what starts an interpreter.
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
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Self

ROOT = Path(__file__).parents[2]
DEVNULL, PIPE = asyncio.subprocess.DEVNULL, asyncio.subprocess.PIPE
FORKS = multiprocessing.get_context("forkserver")
BEFORE = "tests.fakes.imported_app"
FORKS.set_forkserver_preload([BEFORE])

READ_AT_START = ("PYTHON", "COVERAGE_", "LC_", "SSL_")
"""What names begin with that Python reads when it starts, or a package when it is imported."""


def can_fork(environment: Mapping[str, str]) -> bool:
    """Return whether a fork does what a new interpreter would: it has read its own settings and found the packages."""
    return not any(name.startswith(READ_AT_START) for name in environment) and Path.cwd() == ROOT


def _run(
    module: str,
    arguments: Sequence[str],
    environment: Mapping[str, str],
    streams: tuple[Connection | None, Connection, Connection],
) -> None:
    """Be `python -m module …`, with nothing to read but a pipe. Raises ImportError if nothing was imported before."""
    if "perplexity.mcp_server.server" not in sys.modules:  # the fork server ignores it
        raise ImportError(f"{BEFORE} could not be imported")
    for number, stream in enumerate(streams):
        if stream is not None:
            os.dup2(stream.fileno(), number)
            stream.close()
    # As Python makes them: a terminal gets its lines at once.
    encoding = sys.stdout.encoding
    if streams[0] is not None:
        sys.stdin = open(0, encoding=encoding, closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", encoding=encoding, closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", 1, encoding=encoding, errors="backslashreplace", closefd=False)  # noqa: SIM115
    os.environ.clear()
    os.environ.update(environment)
    time.tzset()
    sys.argv = [module, *arguments]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


@dataclass(kw_only=True)
class ForkedProcess:
    """What tests use of `asyncio.subprocess.Process`, for a process that was forked."""

    process: ForkServerProcess
    stdin: asyncio.StreamWriter | None
    stdout: asyncio.StreamReader | None
    stderr: asyncio.StreamReader | None
    ended: asyncio.Event = field(default_factory=asyncio.Event)

    @classmethod
    async def start(
        cls,
        module: str,
        *arguments: str,
        environment: Mapping[str, str],
        stdin: int = DEVNULL,
        stdout: int = PIPE,
        stderr: int = PIPE,
    ) -> Self:
        """Fork a process with exactly this environment; its streams are pipes, or the descriptors that are given.

        `stdin` is a pipe, or there is nothing to read.
        """
        its_input, piped = FORKS.Pipe(duplex=False) if stdin == PIPE else (None, None)
        (output, its_output), (errors, its_errors) = _stream(stdout), _stream(stderr)
        streams = its_input, its_output, its_errors
        what = (module, arguments, dict(environment), streams)
        process = FORKS.Process(target=_run, args=what, daemon=True)
        # The first one waits for the imports.
        await asyncio.to_thread(process.start)
        for stream in streams:
            if stream is not None:
                stream.close()
        started = cls(
            process=process, stdin=await _writer(piped), stdout=await _reader(output), stderr=await _reader(errors)
        )
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
            with suppress(ProcessLookupError):  # it ended just now
                os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    async def wait(self) -> int:
        """Wait until it has ended; return its exit code."""
        await self.ended.wait()
        assert self.returncode is not None
        return self.returncode

    async def communicate(self, written: bytes | None = None) -> tuple[bytes, bytes]:
        """Write to its pipe and close it, read the others to their end, and wait until it has ended."""
        if self.stdin is not None:
            self.stdin.write(written or b"")
            self.stdin.close()
        read = await asyncio.gather(*(_rest(stream) for stream in (self.stdout, self.stderr)))
        await self.wait()
        return read[0], read[1]

    def _end(self) -> None:
        asyncio.get_running_loop().remove_reader(self.process.sentinel)
        if self.stdin is not None:
            self.stdin.close()
        self.ended.set()


def _stream(chosen: int) -> tuple[Connection | None, Connection]:
    """Return our end of a pipe and its; or only its, a copy of the descriptor that was chosen."""
    return FORKS.Pipe(duplex=False) if chosen == PIPE else (None, Connection(os.dup(chosen), readable=False))


async def _reader(pipe: Connection | None) -> asyncio.StreamReader | None:
    if pipe is None:
        return None
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), pipe)
    return reader


async def _writer(pipe: Connection | None) -> asyncio.StreamWriter | None:
    if pipe is None:
        return None
    loop = asyncio.get_running_loop()
    transport, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, pipe)
    return asyncio.StreamWriter(transport, protocol, None, loop)


async def _rest(stream: asyncio.StreamReader | None) -> bytes:
    return b"" if stream is None else await stream.read()
