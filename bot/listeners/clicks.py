"""What every click has: somebody who clicked, an address to answer at, and three seconds."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from contextlib import suppress
from typing import Any

from bot.admission import MEMBERS_ONLY
from bot.commands.notices import notice_message
from bot.listeners.services import Services
from bot.membership import clicked_in
from bot.storage.questions import QuestionRow

DATABASE_AWAY = "I can’t reach my database just now. Please click again in a minute."

TELL_SECONDS = 0.5

DATABASE_SECONDS = 1.6
"""How long a click waits for the database: with `TELL_SECONDS` it is acknowledged within 2.5 of Slack's 3 seconds."""


def clicker(body: dict[str, Any]) -> str:
    """Return the id of who clicked."""
    return _id(body, "user")


def channel_of(body: dict[str, Any]) -> str:
    """Return the id of the channel that was clicked in."""
    return _id(body, "channel")


def response_url(body: dict[str, Any]) -> str | None:
    """Return the address at which the click can be answered."""
    return str(body.get("response_url") or "") or None


def is_askers(row: QuestionRow, body: dict[str, Any]) -> bool:
    """Return whether the asker clicked, in the same workspace."""
    return row.user_id == clicker(body) and row.team_id in clicked_in(body)


async def turned_away(body: dict[str, Any], services: Services) -> bool:
    """Return whether the clicker is known to be an outsider, and tell them if so."""
    outsider = services.knows_outsider(body, clicker(body))
    if outsider:
        await said_in_time(services.tell(response_url(body), notice_message(MEMBERS_ONLY)))
    return outsider


async def said_in_time(saying: Awaitable[None]) -> None:
    """Say something within the three seconds that the click's acknowledgement has, or not at all."""
    with suppress(TimeoutError):
        async with asyncio.timeout(TELL_SECONDS):
            await saying


def _id(body: dict[str, Any], name: str) -> str:
    value = body.get(name)
    return str(value.get("id", "")) if isinstance(value, dict) else ""
