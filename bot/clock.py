"""The current time, waiting for the first of several events, and calls with a time limit."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from datetime import UTC, datetime
from functools import partial
from typing import TypeVar

T = TypeVar("T")

utc_now = partial(datetime.now, UTC)
"""Returns the current time in UTC."""


async def wait_for_any(*events: Awaitable[object], seconds: float | None = None) -> bool:
    """Wait until one of the `events` ends, and cancel the other ones. Return False if none ends within `seconds`."""
    tasks = [asyncio.ensure_future(event) for event in events]
    try:
        done, _ = await asyncio.wait(tasks, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    return bool(done)


async def in_time(call: Awaitable[T], seconds: float) -> T | None:
    """Return the result of a call; None if the call takes longer than `seconds`."""
    try:
        async with asyncio.timeout(seconds):
            return await call
    except TimeoutError:
        return None
