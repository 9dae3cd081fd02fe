"""The current time, and waiting for the first of several events."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from datetime import UTC, datetime
from functools import partial

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
