"""What tests of spending share: a question asked to its end, and the calls that were booked for it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

from tests.driver import Driver, records

ANSWER, SEARCH = 1_140, 5_000
"""What the recorded answer and a search cost, in micro-dollars."""


async def ledger(database: str) -> list[dict[str, Any]]:
    return await records(database, "SELECT * FROM ledger ORDER BY at, id")


async def booked(database: str, count: int, *, open_calls: int = 0) -> list[dict[str, Any]]:
    """Return the calls, once there are so many and all but some have ended."""
    async with asyncio.timeout(60):
        while True:
            calls = await ledger(database)
            if len(calls) >= count and sum(call["state"] == "reserved" for call in calls) <= open_calls:
                return calls
            await asyncio.sleep(0.05)


async def asked(harness: Driver, text: str, *, trigger: str) -> str:
    """Ask, and return all that is shown in the end."""
    before = len(harness.slack.posts)
    await harness.ask(text, trigger=trigger)
    await harness.slack.wait_for(before + 1)
    return harness.slack.posts[-1].shown_text


async def wait_for(condition: Callable[[], bool], *, seconds: float) -> float:
    """Return after how many seconds a condition holds."""
    began = time.monotonic()
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110 - what is waited for is in other processes
            await asyncio.sleep(0.02)
    return time.monotonic() - began
