"""Asks Slack for people's profiles: one call at a time for each person, cached for a while.

https://docs.slack.dev/reference/methods/users.info

https://docs.slack.dev/reference/methods/users.info
https://docs.slack.dev/reference/methods/conversations.members
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Collection, Mapping
from enum import Enum

from slack_sdk.errors import SlackClientError
from slack_sdk.web.async_client import AsyncWebClient

from bot.model.membership import Profile
from bot.slack.messages import FAILURES, Retryable, RouteClosed, classify_error

log = logging.getLogger(__name__)


PROFILE_CACHE_SECONDS = 600.0
MAX_PROFILES = 10_000


class Profiles:
    """A cache of the last `most` profiles. `clock` is monotonic."""

    def __init__(
        self, client: AsyncWebClient, *, clock: Callable[[], float] = time.monotonic, most: int = MAX_PROFILES
    ) -> None:
        self._client = client
        self._clock = clock
        self._most = most
        self._known: OrderedDict[str, tuple[Profile, float]] = OrderedDict()
        self._asking: dict[str, asyncio.Task[Profile]] = {}

    def cached(self, user_id: str, *, seconds: float = PROFILE_CACHE_SECONDS) -> Profile | None:
        """Return a cached profile that was read within these seconds, or None."""
        profile, at = self._known.get(user_id, (None, 0.0))
        return profile if self._clock() - at < seconds else None

    async def get(self, user_id: str, *, seconds: float = PROFILE_CACHE_SECONDS) -> Profile:
        """Return a profile that is at most `seconds` old. Raises one of `bot.slack.messages.FAILURES`, never cached.

        Concurrent calls for one person share one request.
        """
        if (known := self.cached(user_id, seconds=seconds)) is not None:
            return known
        asking = self._asking.get(user_id)
        if asking is None:
            asking = self._asking[user_id] = asyncio.create_task(self._fetch(user_id))
            asking.add_done_callback(lambda done: self._on_done(user_id, done))
        return await asyncio.shield(asking)

    async def _fetch(self, user_id: str) -> Profile:
        user = (await self._client.users_info(user=user_id)).get("user")
        if not isinstance(user, Mapping) or not user:
            raise SlackClientError("users.info returned no user")
        profile = Profile.of(user)
        self._known[user_id] = (profile, self._clock())
        self._known.move_to_end(user_id)
        if len(self._known) > self._most:
            self._known.popitem(last=False)
        return profile

    def _on_done(self, user_id: str, task: asyncio.Task[Profile]) -> None:
        del self._asking[user_id]
        if not task.cancelled():
            task.exception()  # so that an error with no caller waiting is not reported


USER_GONE_ERRORS = frozenset({"user_not_found", "user_not_visible"})

AUTH_ERRORS = frozenset({
    "account_inactive", "invalid_auth", "not_authed", "org_login_required", "team_access_not_granted", "token_expired",
    "token_revoked",
})  # fmt: skip
"""What Slack says to an app that was removed from the workspace, or whose token is of no use, whatever it asks."""

RETRY_PAUSES = (1.0, 3.0)
"""Seconds between the tries to learn a zone, which is asked for once in a digest's life."""

PAGE_SIZE = 999
"""As many members as Slack names at once."""

MAX_PAGES = 20
"""Of a channel with more members, nobody is looked for any further."""


class Membership(Enum):
    """Whether somebody is still there."""

    MEMBER = "here"
    """As far as anybody knows: also where Slack cannot be asked."""
    DEACTIVATED = "left"
    """The account is closed."""
    NOT_IN_CHANNEL = "left channel"
    """The account is there, and no member of the channel."""
    APP_REMOVED = "unreachable"
    """The app itself is not let into the workspace."""


class SlackUsers:
    """Asks Slack about one person at a time. `profiles` is the shared cache; `sleep` pauses."""

    def __init__(
        self,
        client: AsyncWebClient,
        *,
        profiles: Profiles | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._client = client
        self._profiles = profiles or Profiles(client)
        self._sleep = sleep

    async def timezone(self, user_id: str) -> str | None:
        """Return the time zone of somebody's profile, such as Europe/Berlin; None where Slack does not say.

        A failure that may pass is tried again, for some seconds.
        """
        for pause in (*RETRY_PAUSES, None):
            try:
                return (await self._fetch_profile(user_id)).zone
            except FAILURES as error:
                log.warning("people.unknown", extra={"error": type(error).__name__})
                if pause is None or not isinstance(classify_error(error), Retryable):
                    break
                await self._sleep(pause)
        return None

    async def membership(self, user_id: str, channel_id: str) -> Membership:
        """Return whether a person's account is open now, and if so, whether they are a member of a channel."""
        account = await self._account(user_id)
        if account is not Membership.MEMBER or channel_id.startswith("D"):
            return account
        try:
            return Membership.MEMBER if await self._is_member(channel_id, user_id) else Membership.NOT_IN_CHANNEL
        except FAILURES:
            # The token may lack the scope, which is optional; and a channel that is closed shows when it is posted to.
            return Membership.MEMBER

    async def _account(self, user_id: str) -> Membership:
        try:
            return Membership.DEACTIVATED if (await self._fetch_profile(user_id)).deleted else Membership.MEMBER
        except FAILURES as error:
            failed = classify_error(error)
        if not isinstance(failed, RouteClosed) or failed.error not in USER_GONE_ERRORS | AUTH_ERRORS:
            return Membership.MEMBER
        return Membership.DEACTIVATED if failed.error in USER_GONE_ERRORS else Membership.APP_REMOVED

    async def _is_member(self, channel_id: str, user_id: str) -> bool:
        """Tell whether somebody is a member, or there are too many to know. Raises one of `FAILURES`."""
        cursor: str | None = None
        for _ in range(MAX_PAGES):
            page = await self._client.conversations_members(channel=channel_id, limit=PAGE_SIZE, cursor=cursor)
            members = page.get("members")
            if not members:
                raise SlackClientError("conversations.members named nobody")
            cursor = (page.get("response_metadata") or {}).get("next_cursor")
            if user_id in members or not cursor:
                return user_id in members
        return True

    async def _fetch_profile(self, user_id: str) -> Profile:
        return await self._profiles.get(user_id, seconds=0)


ADMIN_CACHE_SECONDS = 300.0


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
            return (await self._profiles.get(user_id, seconds=ADMIN_CACHE_SECONDS)).admin
        except FAILURES as error:
            log.warning("admins.unknown", extra={"error": type(error).__name__})
            return False
