"""`python -m perplexity` with exactly the settings that it is given: as a real process, or in this one."""

from __future__ import annotations

import asyncio
import io
import os
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, redirect_stderr
from dataclasses import dataclass

from perplexity.cli.base import ProcessIO
from perplexity.cli.main import main
from tests.fakes.forks import DEVNULL, PIPE, ROOT, ForkedProcess, can_fork
from tests.fakes.process import KEPT

COMMAND = (sys.executable, "-m", "perplexity")


@dataclass(frozen=True, kw_only=True)
class CommandResult:
    """How a process ended, and what it wrote."""

    code: int
    out: str
    err: str


def environment(settings: Mapping[str, str]) -> dict[str, str]:
    """Return an environment with these settings and nothing else that matters."""
    return {name: os.environ[name] for name in KEPT if name in os.environ} | dict(settings)


@asynccontextmanager
async def start(
    *arguments: str, stdin: int = DEVNULL, stdout: int = PIPE, stderr: int = PIPE, settings: Mapping[str, str]
) -> AsyncIterator[asyncio.subprocess.Process | ForkedProcess]:
    """Give a process, forked if a fork is the same; it is killed unless it has ended.

    It has nothing to read, unless `stdin` is PIPE.
    """
    if not can_fork(environment(settings)):
        async with start_interpreter(*arguments, stdin=stdin, stdout=stdout, stderr=stderr, settings=settings) as one:
            yield one
        return
    process = await ForkedProcess.start(
        "perplexity", *arguments, environment=environment(settings), stdin=stdin, stdout=stdout, stderr=stderr
    )
    async with _killed(process):
        yield process


@asynccontextmanager
async def start_interpreter(
    *arguments: str, stdin: int = PIPE, stdout: int = PIPE, stderr: int = PIPE, settings: Mapping[str, str]
) -> AsyncIterator[asyncio.subprocess.Process]:
    """Give a process that is not forked, which may be written to; it is killed at the end unless it has ended."""
    process = await asyncio.create_subprocess_exec(
        *COMMAND, *arguments,
        env=environment(settings), cwd=ROOT, stdin=stdin, stdout=stdout, stderr=stderr,
    )  # fmt: skip
    async with _killed(process):
        yield process


@asynccontextmanager
async def _killed(process: asyncio.subprocess.Process | ForkedProcess) -> AsyncIterator[None]:
    try:
        yield
    finally:
        if process.returncode is None:
            process.kill()
            await process.communicate()


async def run(*arguments: str, piped: str | None = None, settings: Mapping[str, str] | None = None) -> CommandResult:
    """Run a command to its end; `piped` comes through a pipe, None is a stdin with nothing in it."""
    stdin = DEVNULL if piped is None else PIPE
    async with start(*arguments, stdin=stdin, settings=settings or {}) as process, asyncio.timeout(90):
        out, err = await process.communicate(None if piped is None else piped.encode())
    assert process.returncode is not None
    return CommandResult(code=process.returncode, out=out.decode(), err=err.decode())


async def run_in_process(*arguments: str, settings: Mapping[str, str] | None = None) -> CommandResult:
    """Run a command in this process, which is quicker and can be patched; nothing comes through its stdin."""
    stdin, stdout, stderr = io.TextIOWrapper(io.BytesIO()), io.StringIO(), io.StringIO()
    process_io = ProcessIO(environ=settings or {}, stdin=stdin, stdout=stdout, stderr=stderr)
    code = await asyncio.to_thread(_main, arguments, process_io)
    return CommandResult(code=code, out=stdout.getvalue(), err=stderr.getvalue())


def _main(arguments: Sequence[str], process_io: ProcessIO) -> int:
    try:
        with redirect_stderr(process_io.stderr):
            return main(arguments, process_io)
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else -1
