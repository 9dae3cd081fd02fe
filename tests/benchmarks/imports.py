"""The time to import the app, in a fresh process."""

from __future__ import annotations

import asyncio
import os
import sys
from statistics import median
from tempfile import TemporaryDirectory

from tests.benchmarks.measure import Figure

BAR = 2.0
PROGRAM = "import time; began = time.process_time(); import bot.app; print(time.process_time() - began)"
"""The processor's time, which a busy machine changes less than the time that passes."""


async def figures(rounds: int) -> list[Figure]:
    """Measure fresh processes; the first, which writes the bytecode, does not count."""
    with TemporaryDirectory(prefix="bytecode-") as folder:
        taken = [await _seconds(folder) for _ in range(rounds + 1)]
    return [Figure(name="import", measured=median(taken[1:]), bar=BAR, unit="s")]


async def _seconds(bytecode: str) -> float:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment["PYTHONPYCACHEPREFIX"] = bytecode
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", PROGRAM, env=environment, stdout=asyncio.subprocess.PIPE
    )
    printed, _ = await process.communicate()
    return float(printed)
