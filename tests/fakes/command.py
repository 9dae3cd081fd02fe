"""`python -m perplexity` with exactly the settings that it is given: as a real process, or in this one."""

from __future__ import annotations

import asyncio
import io
import os
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, redirect_stderr
from dataclasses import dataclass
from pathlib import Path

from perplexity.cli.base import ProcessIO
from perplexity.cli.main import main
from tests.fakes.process import KEPT

ROOT = Path(__file__).parents[2]
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
    *arguments: str,
    stdin: int = asyncio.subprocess.DEVNULL,
    stdout: int = asyncio.subprocess.PIPE,
    stderr: int = asyncio.subprocess.PIPE,
    settings: Mapping[str, str],
) -> AsyncIterator[asyncio.subprocess.Process]:
    """Give a process; it is killed at the end unless it has ended."""
    process = await asyncio.create_subprocess_exec(
        *COMMAND, *arguments,
        env=environment(settings), cwd=ROOT, stdin=stdin, stdout=stdout, stderr=stderr,
    )  # fmt: skip
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
            await process.communicate()


async def run(*arguments: str, piped: str | None = None, settings: Mapping[str, str] | None = None) -> CommandResult:
    """Run a command to its end; `piped` comes through a pipe, None is a stdin with nothing in it."""
    stdin = asyncio.subprocess.DEVNULL if piped is None else asyncio.subprocess.PIPE
    async with start(*arguments, stdin=stdin, settings=settings or {}) as process, asyncio.timeout(30):
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
