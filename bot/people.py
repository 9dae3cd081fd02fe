"""What Slack knows of people: by which clock they live, and whether they are still there.

https://docs.slack.dev/reference/methods/users.info
"""

from __future__ import annotations

import logging
from typing import Any

from slack_sdk.web.async_client import AsyncWebClient

from bot.delivery.chat import FAILURES, meaning
from bot.delivery.posting import WayClosed

log = logging.getLogger(__name__)

GONE = frozenset({"user_not_found", "user_not_visible"})


class People:
    """Asks Slack about one person at a time."""

    def __init__(self, client: AsyncWebClient) -> None:
        self._client = client

    async def zone(self, user_id: str) -> str | None:
        """Return the time zone of somebody's profile, such as Europe/Berlin; None where Slack does not say."""
        try:
            return str((await self._user(user_id)).get("tz") or "") or None
        except FAILURES as error:
            log.warning("people.unknown", extra={"error": type(error).__name__})
            return None

    async def has_left(self, user_id: str) -> bool:
        """Tell whether somebody's account is closed; False where Slack cannot be asked."""
        try:
            return bool((await self._user(user_id)).get("deleted"))
        except FAILURES as error:
            failed = meaning(error)
            return isinstance(failed, WayClosed) and failed.error in GONE

    async def _user(self, user_id: str) -> dict[str, Any]:
        response = await self._client.users_info(user=user_id)
        return response.get("user") or {}
