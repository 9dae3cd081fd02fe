"""The app as a real process, to be killed."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from tempfile import TemporaryDirectory
from typing import Self

from tests.fakes.forks import ForkedProcess, can_fork
from tests.fakes.ports import free_port

FAST_LIMITS = "perplexity.answer=10000/s,perplexity.search=10000/s,perplexity.background=10000/s"
"""More calls than any test makes: what waits for its turn is tested where it is meant."""

KEPT = ("PATH", "HOME", "LANG", "COVERAGE_PROCESS_START", "COVERAGE_PROCESS_CONFIG", "COVERAGE_FILE", "TMPDIR")
DEVELOPMENT = ("-X", "dev", "-W", "ignore")
"""Python's options for what starts an interpreter: its checks, without its warnings."""


READY_SECONDS = 180
"""A dozen interpreters that start at once on a busy machine take their time."""


@dataclass(kw_only=True)
class Process:
    """One `python -m bot …` with exactly the settings it is given. `output` is what it printed, `log` its log."""

    process: asyncio.subprocess.Process | ForkedProcess
    port: int
    data: TemporaryDirectory[str]
    """A folder for what it keeps, unless it is told another one."""

    output: list[str] = field(default_factory=list)
    log: list[str] = field(default_factory=list)
    logged: asyncio.Condition = field(default_factory=asyncio.Condition)
    readers: list[asyncio.Task[None]] = field(default_factory=list)
    ended: int = 0

    @classmethod
    async def start(
        cls,
        *arguments: str,
        ready: str = "Listening",
        port: int | None = None,
        module: str = "bot",
        options: Sequence[str] | None = None,
        **settings: str,
    ) -> Self:
        """Start it and wait until it prints a line with `ready`.

        `options` are Python's own: with them it is an interpreter that starts, without them a fork where there can be.
        """
        port = port or free_port()
        kept = {name: os.environ[name] for name in KEPT if name in os.environ}
        data = TemporaryDirectory(prefix="data-")
        environment = (
            kept
            | {"DATA_DIR": data.name, "PROVIDER_LIMITS": FAST_LIMITS}
            | settings
            | {"PORT": str(port), "HOST": "127.0.0.1"}
        )
        process: asyncio.subprocess.Process | ForkedProcess
        if options is None and module == "bot" and can_fork(environment):
            process = await ForkedProcess.start(module, *arguments, environment=environment)
        else:
            process = await asyncio.create_subprocess_exec(
                sys.executable, *(DEVELOPMENT if options is None else options), "-m", module, *arguments,
                env=environment,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
            )  # fmt: skip
        assert process.stdout is not None
        assert process.stderr is not None
        started = cls(process=process, port=port, data=data)
        started.readers = [
            asyncio.create_task(started._read(process.stdout, started.output)),
            asyncio.create_task(started._read(process.stderr, started.log)),
        ]
        try:
            async with asyncio.timeout(READY_SECONDS), started.logged:
                await started.logged.wait_for(lambda: started.prints(ready) or started.ended == 2)
        except TimeoutError:
            pass
        except asyncio.CancelledError:
            process.kill()
            data.cleanup()
            raise
        if not started.prints(ready):
            await started.kill()
            raise AssertionError(f"not ready: {started.output} {started.log}")
        return started

    def prints(self, words: str) -> bool:
        """Return whether a line with these words was printed."""
        return any(words in line for line in self.output)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def logs(self, event: str, count: int, *, seconds: float = 60) -> None:
        """Wait until the log holds an event so many times."""
        async with asyncio.timeout(seconds), self.logged:
            await self.logged.wait_for(lambda: sum(event in line for line in self.log) >= count)

    async def kill(self) -> None:
        """End it as a power cut does, where it has not ended yet."""
        if self.process.returncode is None:
            self.process.kill()
        await self._gone()

    async def terminate(self, *, seconds: float = 30) -> int:
        """Ask it to stop, as a host does, and return its exit code; a host would kill it after thirty seconds."""
        self.process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(seconds):
            await self._gone()
        assert self.process.returncode is not None
        return self.process.returncode

    async def _gone(self) -> None:
        await self.process.wait()
        await asyncio.gather(*self.readers)
        self.data.cleanup()

    async def _read(self, stream: asyncio.StreamReader, lines: list[str]) -> None:
        while line := await stream.readline():
            async with self.logged:
                lines.append(line.decode().rstrip())
                self.logged.notify_all()
        async with self.logged:
            self.ended += 1
            self.logged.notify_all()
