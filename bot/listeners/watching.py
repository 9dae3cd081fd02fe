"""Clicks on the buttons below a digest: it is made now, paused or deleted, by its owner only."""

from __future__ import annotations

import logging
import re
from typing import Any
from uuid import UUID

from slack_bolt.async_app import AsyncAck, AsyncApp

from bot.blocks.base import OutgoingMessage
from bot.blocks.digests import PREFIX
from bot.blocks.watching import watch_message
from bot.commands.notices import notice_message
from bot.digests.base import NoSuchDigest, Verb, Watching, WatchReply
from bot.journal import Journal
from bot.listeners.clicks import (
    DATABASE_AWAY,
    DATABASE_SECONDS,
    channel_of,
    clicker,
    response_url,
    said_in_time,
    turned_away,
)
from bot.listeners.services import Services
from bot.membership import clicked_in
from bot.storage.patience import AWAY

log = logging.getLogger(__name__)

_ACTION = re.compile(rf"{PREFIX}(?:{'|'.join(Verb)})")


def register(app: AsyncApp, services: Services) -> None:
    """Listen to the buttons that a digest carries."""

    @app.action(_ACTION)
    async def clicked(ack: AsyncAck, body: dict[str, Any], action: dict[str, Any]) -> None:
        if not await turned_away(body, services):
            message = await pressed(body, action, journal=services.journal, watching=services.watching)
            await said_in_time(services.tell(response_url(body), message))
        await ack()


async def pressed(
    body: dict[str, Any], action: dict[str, Any], *, journal: Journal, watching: Watching
) -> OutgoingMessage:
    """Do what the button is for, and return what to say about it."""
    try:
        reply = await journal.in_time(_press(body, action, watching), seconds=DATABASE_SECONDS)
    except AWAY:
        return notice_message(DATABASE_AWAY)
    return watch_message(reply, call=watching.call, channel=channel_of(body))


async def _press(body: dict[str, Any], action: dict[str, Any], watching: Watching) -> WatchReply:
    try:
        digest_id = UUID(str(action.get("value", "")))
    except ValueError:
        return NoSuchDigest()
    verb = Verb(str(action.get("action_id", "")).removeprefix(PREFIX))
    by = str(action.get("action_ts", ""))
    reply = await watching.press(verb, digest_id, user_id=clicker(body), teams=clicked_in(body), by=by)
    log.info("digest.clicked", extra={"digest": str(digest_id), "state": type(reply).__name__})
    return reply
