"""Clicks on "Get as a file": the report comes directly to whoever clicked."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any
from uuid import UUID

from slack_bolt.async_app import AsyncAck, AsyncApp

from bot.commands.notices import notice_message
from bot.listeners.actions import TELL_SECONDS
from bot.listeners.services import Services

COMING = "The report comes to you as a file, in our direct messages."
UNKNOWN = "I no longer know this report."


def register(app: AsyncApp, services: Services) -> None:
    """Listen to the button below a report."""

    @app.action("as_file")
    async def as_file(ack: AsyncAck, body: dict[str, Any], action: dict[str, Any]) -> None:
        said = asked_for(
            str(action.get("value", "")), user=str((body.get("user") or {}).get("id", "")), services=services
        )
        # Said within the three seconds that the click has, or not at all.
        with suppress(TimeoutError):
            async with asyncio.timeout(TELL_SECONDS):
                await services.tell(str(body.get("response_url") or "") or None, notice_message(said))
        await ack()


def asked_for(value: str, *, user: str, services: Services) -> str:
    """Have the report sent, and return what to say."""
    try:
        services.send_file(UUID(value), user)
    except ValueError:
        return UNKNOWN
    return COMING
