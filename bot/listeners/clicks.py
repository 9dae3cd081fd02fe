"""What every click has: somebody who clicked, an address to answer at, and three seconds."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from contextlib import suppress
from typing import Any

TELL_SECONDS = 0.5


def clicker(body: dict[str, Any]) -> str:
    """Return the id of who clicked."""
    return _id(body, "user")


def channel_of(body: dict[str, Any]) -> str:
    """Return the id of the channel that was clicked in."""
    return _id(body, "channel")


def response_url(body: dict[str, Any]) -> str | None:
    """Return the address at which the click can be answered."""
    return str(body.get("response_url") or "") or None


async def said_in_time(saying: Awaitable[None]) -> None:
    """Say something within the three seconds that the click's acknowledgement has, or not at all."""
    with suppress(TimeoutError):
        async with asyncio.timeout(TELL_SECONDS):
            await saying


def _id(body: dict[str, Any], name: str) -> str:
    value = body.get(name)
    return str(value.get("id", "")) if isinstance(value, dict) else ""
