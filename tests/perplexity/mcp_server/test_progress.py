from __future__ import annotations

import asyncio

from perplexity.mcp_server.tools import HEARTBEAT_SECONDS, ProgressReporter


async def test_a_long_call_says_that_it_is_still_at_work_until_it_is_over() -> None:
    reported: list[tuple[float, str]] = []
    slept: list[float] = []
    beaten = asyncio.Event()

    async def report(progress: float, message: str) -> None:
        reported.append((progress, message))

    async def sleep(seconds: float) -> None:
        slept.append(seconds)
        if len(slept) == 3:
            beaten.set()
            await asyncio.Event().wait()

    progress = ProgressReporter(report, sleep=sleep)
    await progress.report("Started")
    async with progress.heartbeat():
        await asyncio.wait_for(beaten.wait(), 60)

    assert reported == [(1, "Started"), (2, "Still working"), (3, "Still working")]
    assert slept == [HEARTBEAT_SECONDS] * 3
    assert len(asyncio.all_tasks()) == 1
