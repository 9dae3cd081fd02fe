"""Asks Slack for people's profiles: one call at a time for each person, cached for a while.

https://docs.slack.dev/reference/methods/users.info
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping

from slack_sdk.errors import SlackClientError
from slack_sdk.web.async_client import AsyncWebClient

from bot.membership import Profile

REMEMBERED_SECONDS = 600.0
MOST_REMEMBERED = 10_000


class Profiles:
    """A cache of the last `most` profiles. `clock` is monotonic."""

    def __init__(
        self, client: AsyncWebClient, *, clock: Callable[[], float] = time.monotonic, most: int = MOST_REMEMBERED
    ) -> None:
        self._client = client
        self._clock = clock
        self._most = most
        self._known: OrderedDict[str, tuple[Profile, float]] = OrderedDict()
        self._asking: dict[str, asyncio.Task[Profile]] = {}

    def known(self, user_id: str, *, seconds: float = REMEMBERED_SECONDS) -> Profile | None:
        """Return a cached profile that was read within these seconds, or None."""
        profile, at = self._known.get(user_id, (None, 0.0))
        return profile if self._clock() - at < seconds else None

    async def of(self, user_id: str, *, seconds: float = REMEMBERED_SECONDS) -> Profile:
        """Return a profile that is at most `seconds` old. Raises one of `bot.delivery.chat.FAILURES`, never cached.

        Concurrent calls for one person share one request.
        """
        if (known := self.known(user_id, seconds=seconds)) is not None:
            return known
        asking = self._asking.get(user_id)
        if asking is None:
            asking = self._asking[user_id] = asyncio.create_task(self._read(user_id))
            asking.add_done_callback(lambda done: self._ended(user_id, done))
        return await asyncio.shield(asking)

    async def _read(self, user_id: str) -> Profile:
        user = (await self._client.users_info(user=user_id)).get("user")
        if not isinstance(user, Mapping) or not user:
            raise SlackClientError("users.info returned no user")
        profile = Profile.of(user)
        self._known[user_id] = (profile, self._clock())
        self._known.move_to_end(user_id)
        if len(self._known) > self._most:
            self._known.popitem(last=False)
        return profile

    def _ended(self, user_id: str, task: asyncio.Task[Profile]) -> None:
        del self._asking[user_id]
        if not task.cancelled():
            task.exception()  # so that an error with no caller waiting is not reported
