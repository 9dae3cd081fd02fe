"""Who is an admin: a workspace admin or owner by Slack's word, or somebody whom the settings name."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection
from typing import Any

from slack_sdk.web.async_client import AsyncWebClient

from bot.delivery.chat import FAILURES

log = logging.getLogger(__name__)

REMEMBERED_SECONDS = 300.0
MOST_REMEMBERED = 1_000


class Admins:
    """Tells admins from others; what Slack says is remembered for five minutes. `clock` only goes forward."""

    def __init__(
        self, client: AsyncWebClient, *, named: Collection[str] = (), clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._client = client
        self._named = frozenset(named)
        self._clock = clock
        self._known: dict[str, tuple[bool, float]] = {}

    async def is_admin(self, user_id: str) -> bool:
        """Tell whether a person is an admin; False where Slack cannot be asked."""
        if user_id in self._named:
            return True
        known = self._known.get(user_id)
        if known is not None and self._clock() - known[1] < REMEMBERED_SECONDS:
            return known[0]
        try:
            response = await self._client.users_info(user=user_id)
        except FAILURES as error:
            log.warning("admins.unknown", extra={"error": type(error).__name__})
            return False
        user: dict[str, Any] = response.get("user") or {}
        return self._remember(user_id, bool(user.get("is_admin") or user.get("is_owner")))

    def _remember(self, user_id: str, admin: bool) -> bool:
        if len(self._known) >= MOST_REMEMBERED:
            self._known.clear()
        self._known[user_id] = (admin, self._clock())
        return admin
