"""The app as a real process, to be killed."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
from dataclasses import dataclass
from typing import Self

KEPT = ("PATH", "HOME", "LANG", "COVERAGE_PROCESS_START", "COVERAGE_PROCESS_CONFIG", "COVERAGE_FILE", "TMPDIR")


def free_port() -> int:
    """Return a port that nobody listens on just now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@dataclass(kw_only=True)
class Process:
    """One `python -m bot …` with exactly the settings it is given. `output` is what it printed, `log` its log."""

    process: asyncio.subprocess.Process
    port: int
    output: list[str]
    log: list[str]
    readers: list[asyncio.Task[None]]

    @classmethod
    async def start(cls, *arguments: str, ready: str = "Listening", port: int | None = None, **settings: str) -> Self:
        """Start it and wait until it prints a line with `ready`."""
        port = port or free_port()
        environment = {name: os.environ[name] for name in KEPT if name in os.environ}
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-X", "dev", "-W", "ignore", "-m", "bot", *arguments,
            env=environment | settings | {"PORT": str(port), "HOST": "127.0.0.1"},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        assert process.stdout is not None
        assert process.stderr is not None
        output: list[str] = []
        log: list[str] = []
        seen = asyncio.Event()
        readers = [
            asyncio.create_task(_read(process.stdout, output, ready, seen)),
            asyncio.create_task(_read(process.stderr, log, "", asyncio.Event())),
        ]
        started = cls(process=process, port=port, output=output, log=log, readers=readers)
        ended = asyncio.create_task(process.wait())
        waiting = asyncio.create_task(seen.wait())
        done, _ = await asyncio.wait({ended, waiting}, timeout=60, return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        if ended not in done:
            ended.cancel()
        if not seen.is_set():
            raise AssertionError(f"not ready: {output} {log}")
        return started

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def kill(self) -> None:
        """End it as a power cut does."""
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


async def _read(stream: asyncio.StreamReader, lines: list[str], ready: str, seen: asyncio.Event) -> None:
    while line := await stream.readline():
        lines.append(line.decode().rstrip())
        if ready in lines[-1]:
            seen.set()
