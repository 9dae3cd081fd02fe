"""Who is an admin: a workspace admin or owner by Slack's word, or somebody whom the settings name."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection

from slack_sdk.web.async_client import AsyncWebClient

from bot.delivery.chat import FAILURES
from bot.profiles import Profiles

log = logging.getLogger(__name__)

REMEMBERED_SECONDS = 300.0


class Admins:
    """Checks who is an admin; Slack's answer is cached for five minutes. `clock` is monotonic.

    `profiles` is the cache shared by everything that asks Slack about people.
    """

    def __init__(
        self,
        client: AsyncWebClient,
        *,
        named: Collection[str] = (),
        profiles: Profiles | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._named = frozenset(named)
        self._profiles = profiles or Profiles(client, clock=clock)

    async def is_admin(self, user_id: str) -> bool:
        """Return whether a person is an admin; False if Slack cannot be asked."""
        if user_id in self._named:
            return True
        try:
            return (await self._profiles.of(user_id, seconds=REMEMBERED_SECONDS)).admin
        except FAILURES as error:
            log.warning("admins.unknown", extra={"error": type(error).__name__})
            return False
