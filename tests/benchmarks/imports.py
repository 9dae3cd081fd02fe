"""The time to import the app, next to the library that it is built on."""

from __future__ import annotations

import asyncio
import os
import sys
from tempfile import TemporaryDirectory

from tests.benchmarks.measure import Figure, Measurement, compare

BAR = 2.0
OURS, REFERENCE = "bot.app", "slack_bolt.async_app"
PROGRAM = "import time; began = time.process_time(); import {}; print(time.process_time() - began)"
"""The processor's time, which a busy machine changes less than the time that passes."""


async def figures(rounds: int) -> list[Figure]:
    """Measure fresh processes; the first pair, which writes the bytecode, does not count."""
    with TemporaryDirectory(prefix="bytecode-") as folder:
        found = await compare(_import(OURS, folder), _import(REFERENCE, folder), rounds=rounds)
    detail = f"{OURS} {found.ours * 1000:.0f} ms, {REFERENCE} {found.reference * 1000:.0f} ms"
    return [Figure(name="import", measured=found.ratio, bar=BAR, detail=detail)]


def _import(module: str, bytecode: str) -> Measurement:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment["PYTHONPYCACHEPREFIX"] = bytecode

    async def measured(number: int) -> float:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", PROGRAM.format(module), env=environment, stdout=asyncio.subprocess.PIPE
        )
        printed, _ = await process.communicate()
        return float(printed)

    return measured
