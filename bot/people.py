"""What Slack knows of people: by which clock they live, and whether they are still there.

https://docs.slack.dev/reference/methods/users.info
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from enum import Enum
from typing import Any

from slack_sdk.web.async_client import AsyncWebClient

from bot.delivery.chat import FAILURES, meaning
from bot.delivery.posting import TryLater, WayClosed

log = logging.getLogger(__name__)

GONE = frozenset({"user_not_found", "user_not_visible"})

SHUT_OUT = frozenset({
    "account_inactive", "invalid_auth", "not_authed", "org_login_required", "team_access_not_granted", "token_expired",
    "token_revoked",
})  # fmt: skip
"""What Slack says to an app that was removed from the workspace, or whose token is of no use, whatever it asks."""

PAUSES = (1.0, 3.0)
"""Seconds between the tries to learn a zone, which is asked for once in a digest's life."""


class Presence(Enum):
    """Whether somebody is still there."""

    HERE = "here"
    """As far as anybody knows: also where Slack cannot be asked."""
    LEFT = "left"
    UNREACHABLE = "unreachable"
    """The app itself is not let into the workspace."""


class People:
    """Asks Slack about one person at a time. `sleep` pauses."""

    def __init__(self, client: AsyncWebClient, *, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep) -> None:
        self._client = client
        self._sleep = sleep

    async def zone(self, user_id: str) -> str | None:
        """Return the time zone of somebody's profile, such as Europe/Berlin; None where Slack does not say.

        A failure that may pass is tried again, for some seconds.
        """
        for pause in (*PAUSES, None):
            try:
                return str((await self._user(user_id)).get("tz") or "") or None
            except FAILURES as error:
                log.warning("people.unknown", extra={"error": type(error).__name__})
                if pause is None or not isinstance(meaning(error), TryLater):
                    break
                await self._sleep(pause)
        return None

    async def presence(self, user_id: str) -> Presence:
        """Tell whether somebody's account is closed."""
        try:
            return Presence.LEFT if (await self._user(user_id)).get("deleted") else Presence.HERE
        except FAILURES as error:
            failed = meaning(error)
        if not isinstance(failed, WayClosed) or failed.error not in GONE | SHUT_OUT:
            return Presence.HERE
        return Presence.LEFT if failed.error in GONE else Presence.UNREACHABLE

    async def _user(self, user_id: str) -> dict[str, Any]:
        response = await self._client.users_info(user=user_id)
        return response.get("user") or {}
