"""Clicks on the buttons below a digest: it is made now, paused or deleted, by its owner only."""

from __future__ import annotations

import asyncio
import logging
import re
from contextlib import suppress
from typing import Any
from uuid import UUID

from slack_bolt.async_app import AsyncAck, AsyncApp

from bot.blocks.base import OutgoingMessage
from bot.blocks.digests import PREFIX
from bot.blocks.watching import watch_message
from bot.commands.notices import notice_message
from bot.digests.base import NoSuchDigest, Verb, WatchReply
from bot.listeners.actions import TELL_SECONDS
from bot.listeners.services import Services
from bot.storage.patience import AWAY

log = logging.getLogger(__name__)

DATABASE_AWAY = "I can’t do this just now: my database is away. Please click again in a minute."
_ACTION = re.compile(rf"{PREFIX}(?:{'|'.join(Verb)})")


def register(app: AsyncApp, services: Services) -> None:
    """Listen to the buttons that a digest carries."""

    @app.action(_ACTION)
    async def clicked(ack: AsyncAck, body: dict[str, Any], action: dict[str, Any]) -> None:
        message = await pressed(body, action, services)
        # Said within the three seconds that the click has, or not at all.
        with suppress(TimeoutError):
            async with asyncio.timeout(TELL_SECONDS):
                await services.tell(str(body.get("response_url") or "") or None, message)
        await ack()


async def pressed(body: dict[str, Any], action: dict[str, Any], services: Services) -> OutgoingMessage:
    """Do what the button is for, and return what to say about it."""
    try:
        reply = await services.journal.in_time(_press(body, action, services))
    except (TimeoutError, *AWAY):
        return notice_message(DATABASE_AWAY)
    log.info("digest.clicked", extra={"digest": str(action.get("value", ""))[:36], "state": type(reply).__name__})
    channel = str(_part(body, "channel").get("id", ""))
    return watch_message(reply, call=services.watching.call, channel=channel)


async def _press(body: dict[str, Any], action: dict[str, Any], services: Services) -> WatchReply:
    try:
        digest_id = UUID(str(action.get("value", "")))
    except ValueError:
        return NoSuchDigest()
    verb = Verb(str(action.get("action_id", "")).removeprefix(PREFIX))
    by = str(action.get("action_ts") or body.get("trigger_id") or "")
    return await services.watching.press(verb, digest_id, user_id=str(_part(body, "user").get("id", "")), by=by)


def _part(body: dict[str, Any], name: str) -> dict[str, Any]:
    part = body.get(name)
    return part if isinstance(part, dict) else {}
