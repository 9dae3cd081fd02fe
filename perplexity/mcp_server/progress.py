"""Progress notifications of one call."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

BEAT_SECONDS = 10.0
"""How often a call that takes minutes says that it is still at work; many clients give up after a silent minute."""

Report = Callable[[float, str], Awaitable[None]]
"""Sends a number, which only grows, and a line for people; nothing where the client asked for no progress."""


class Progress:
    """Counts what is told: https://modelcontextprotocol.io/specification (utilities, progress)."""

    def __init__(self, report: Report, *, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep) -> None:
        self._report = report
        self._sleep = sleep
        self._told = 0

    async def tell(self, message: str) -> None:
        """Tell what is being done now."""
        self._told += 1
        await self._report(self._told, message)

    @asynccontextmanager
    async def beating(self) -> AsyncIterator[None]:
        """Say every few seconds that the call is still at work."""
        beat = asyncio.create_task(self._beat())
        try:
            yield
        finally:
            beat.cancel()
            with suppress(asyncio.CancelledError):
                await beat

    async def _beat(self) -> None:
        while True:
            await self._sleep(BEAT_SECONDS)
            await self.tell("Still at work")
