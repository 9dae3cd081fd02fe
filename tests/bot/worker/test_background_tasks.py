"""A process that stops waits for work that would be lost, for a moment."""

from __future__ import annotations

import asyncio

from bot.worker.background import BackgroundTasks
from tests.fakes.time import run_in_virtual_time


def test_work_is_waited_for_and_cancelled_if_it_is_late() -> None:
    ended: list[str] = []

    async def run(name: str, seconds: float) -> None:
        try:
            await asyncio.sleep(seconds)
            ended.append(name)
        except asyncio.CancelledError:
            ended.append(f"{name} cancelled")
            raise

    async def stop() -> None:
        async with BackgroundTasks() as background:
            background.start(run("short", 0.5))
            background.start(run("long", 100))
            await asyncio.sleep(0)

    run_in_virtual_time(stop())

    assert ended == ["short", "long cancelled"]
