"""Slack's users: profiles, time zones, memberships, user groups, admins, and who may change a channel's settings."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Collection, Coroutine, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from enum import Enum
from functools import partial
from typing import Any, TypeVar

from slack_sdk.errors import SlackClientError
from slack_sdk.web.async_client import AsyncWebClient

from bot.model.membership import Affiliation, Identity, Profile, affiliation_of, workspace_key
from bot.model.question import ChannelSettings
from bot.preferences import may_ask
from bot.slack.messages import FAILURES, Retryable, RouteClosed, classify_error, paginate
from bot.translation import ENGLISH, language_of

log = logging.getLogger(__name__)


PROFILE_CACHE_SECONDS = 600.0
LANGUAGE_CACHE_SECONDS = 86_400.0
LANGUAGE_SECONDS = 0.3
"""How long an acknowledgement waits for a person's language."""

MAX_PROFILES = 10_000


T = TypeVar("T")
K = TypeVar("K", bound=tuple[str, ...])
V = TypeVar("V")


async def fetch_once(requests: dict[K, asyncio.Task[T]], key: K, fetch: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Return the result of `fetch`; concurrent calls for one key share one call of `fetch`, and its errors."""

    def on_done(task: asyncio.Task[T]) -> None:
        del requests[key]
        if not task.cancelled():
            task.exception()  # Otherwise, asyncio reports an error for which no caller waits.

    request = requests.get(key)
    if request is None:
        request = requests[key] = asyncio.create_task(fetch())
        request.add_done_callback(on_done)
    return await asyncio.shield(request)


def put_in_cache(known: OrderedDict[K, V], key: K, value: V, *, most: int) -> None:
    """Put a value into a cache, and drop the oldest value if the cache then has more than `most`."""
    known[key] = value
    known.move_to_end(key)
    if len(known) > most:
        known.popitem(last=False)


class Profiles:
    """Reads profiles, separately for each workspace, and caches the `most` newest. `clock` is monotonic.

    https://docs.slack.dev/reference/methods/users.info
    """

    def __init__(
        self, client: AsyncWebClient, *, clock: Callable[[], float] = time.monotonic, most: int = MAX_PROFILES
    ) -> None:
        self._client = client
        self._clock = clock
        self._most = most
        self._known: OrderedDict[tuple[str, str], tuple[Profile, float]] = OrderedDict()
        self._checked: set[tuple[str, str]] = set()
        """The cached profiles that `get` has returned; the others were read only for their language."""
        self._requests: dict[tuple[str, str], asyncio.Task[Profile]] = {}

    def cached(self, user_id: str, *, seconds: float = PROFILE_CACHE_SECONDS) -> Profile | None:
        """Return a cached profile that `get` has returned and that is less than `seconds` old; otherwise None."""
        return self._recent(user_id, seconds) if (workspace_key(), user_id) in self._checked else None

    def _recent(self, user_id: str, seconds: float) -> Profile | None:
        profile, at = self._known.get((workspace_key(), user_id), (None, 0.0))
        return profile if self._clock() - at < seconds else None

    async def get(self, user_id: str, *, seconds: float = PROFILE_CACHE_SECONDS) -> Profile:
        """Return a profile that is at most `seconds` old. Raises one of `bot.slack.messages.FAILURES`.

        Concurrent calls for one user share one request. Errors are not cached.
        """
        profile = await self._read(user_id, seconds)
        self._checked.add((workspace_key(), user_id))
        return profile

    async def _read(self, user_id: str, seconds: float) -> Profile:
        if (known := self._recent(user_id, seconds)) is not None:
            return known
        return await fetch_once(self._requests, (workspace_key(), user_id), partial(self._fetch, user_id))

    async def name_of(self, user_id: str) -> str:
        """Return the name that a person is known by; empty if Slack does not say. Raises nothing."""
        try:
            return (await self.get(user_id)).name
        except FAILURES:
            return ""

    async def language(self, user_id: str) -> str:
        """Return the language in which a person uses Slack; English if Slack fails or takes too long. Raises nothing.

        An acknowledgement waits for this call. The language is used for a day, since people rarely change it. `cached`
        does not return a profile that only this method has read.
        """
        try:
            async with asyncio.timeout(LANGUAGE_SECONDS):
                return language_of((await self._read(user_id, LANGUAGE_CACHE_SECONDS)).locale)
        except (*FAILURES, TimeoutError):
            return ENGLISH

    async def _fetch(self, user_id: str) -> Profile:
        user = (await self._client.users_info(user=user_id, include_locale=True)).get("user")
        if not isinstance(user, Mapping) or not user:
            raise SlackClientError("users.info returned no user")
        profile, person = Profile.from_user(user), (workspace_key(), user_id)
        self._known[person] = (profile, self._clock())
        self._known.move_to_end(person)
        if len(self._known) > self._most:
            self._checked.discard(self._known.popitem(last=False)[0])
        return profile


USER_GONE_ERRORS = frozenset({"user_not_found", "user_not_visible"})

AUTH_ERRORS = frozenset({
    "account_inactive", "invalid_auth", "not_authed", "org_login_required", "team_access_not_granted", "token_expired",
    "token_revoked",
})  # fmt: skip
"""Slack's errors for any call of an app that was removed from the workspace or has an invalid token."""

RETRY_PAUSES = (1.0, 3.0)
"""Seconds between attempts to read the time zone of a digest's owner, which is read only once."""

PAGE_SIZE = 999
"""The most members that Slack returns at once."""

MAX_PAGES = 20
"""The most pages of a list of members that are read."""


class Membership(Enum):
    """Whether a user's account is open and still in a channel."""

    MEMBER = "here"
    """The account is open and in the channel, or Slack does not say."""
    DEACTIVATED = "left"
    """The account is closed."""
    NOT_FOUND = "not_found"
    """Slack does not know the account, or does not show it to the app."""
    NOT_IN_CHANNEL = "left_channel"
    """The account is open, but not a member of the channel."""
    APP_REMOVED = "unreachable"
    """The app itself was removed from the workspace."""


@dataclass(frozen=True)
class SlackUsers:
    """Reads users' time zones and memberships. `profiles` is the shared cache; `sleep` pauses.

    https://docs.slack.dev/reference/methods/conversations.members
    """

    client: AsyncWebClient
    _: KW_ONLY
    profiles: Profiles
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep

    async def timezone(self, user_id: str) -> str | None:
        """Return the time zone of a user's profile, such as Europe/Berlin; None if Slack does not return one.

        Transient errors are retried for some seconds.
        """
        for pause in (*RETRY_PAUSES, None):
            try:
                return (await self.profiles.get(user_id, seconds=0)).zone
            except FAILURES as error:
                log.warning("people.unknown", extra={"error": type(error).__name__})
                if pause is None or not isinstance(classify_error(error), Retryable):
                    break
                await self.sleep(pause)
        return None

    async def membership(self, user_id: str, channel_id: str) -> Membership:
        """Return whether a user's account is open, and if so, whether they are a member of a channel."""
        account = await self._account(user_id)
        if account is not Membership.MEMBER:
            return account
        # If Slack does not say, the user counts as a member: a closed channel is noticed when a post to it fails.
        return Membership.NOT_IN_CHANNEL if await self.is_in_channel(user_id, channel_id) is False else account

    async def is_in_channel(self, user_id: str, channel_id: str) -> bool | None:
        """Return whether a user is a member of a channel; None if Slack does not say, as without the optional scope."""
        if channel_id.startswith("D"):
            return True
        try:
            return await self._is_member(channel_id, user_id)
        except FAILURES:
            return None

    async def _account(self, user_id: str) -> Membership:
        try:
            profile = await self.profiles.get(user_id, seconds=0)
            return Membership.DEACTIVATED if profile.deleted else Membership.MEMBER
        except FAILURES as error:
            failed = classify_error(error)
        if not isinstance(failed, RouteClosed) or failed.error not in USER_GONE_ERRORS | AUTH_ERRORS:
            return Membership.MEMBER
        return Membership.NOT_FOUND if failed.error in USER_GONE_ERRORS else Membership.APP_REMOVED

    async def _is_member(self, channel_id: str, user_id: str) -> bool:
        """Return whether a user is a member; True if the list is too long to read. Raises one of `FAILURES`."""
        read = self.client.conversations_members
        async for page in paginate(read, most=MAX_PAGES, channel=channel_id, limit=PAGE_SIZE):
            if page is None:
                return True
            members = page.get("members")
            if not members:
                raise SlackClientError("conversations.members returned no members")
            if user_id in members:
                return True
        return False


GROUP_SECONDS = 300.0
GROUP_AGAIN_SECONDS = 30.0
"""How long a list of a group's members is kept, and the pause after a failed request."""


class UserGroups:
    """Reads the members of user groups, whose ids begin with S, separately for each workspace. `clock` is monotonic.

    While Slack does not answer, the last known list is used.
    https://docs.slack.dev/reference/methods/usergroups.users.list
    """

    def __init__(self, client: AsyncWebClient, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._client = client
        self._clock = clock
        self._known: dict[tuple[str, str], tuple[frozenset[str] | None, float]] = {}
        self._requests: dict[tuple[str, str], asyncio.Task[frozenset[str] | None]] = {}

    async def contain(self, ids: Iterable[str], user_id: str) -> bool | None:
        """Return whether a user is in one of the groups among these ids; None if this is not known."""
        found = [await self.members(one) for one in ids if one.startswith("S")]
        if any(user_id in one for one in found if one is not None):
            return True
        return None if None in found else False

    async def members(self, group_id: str) -> frozenset[str] | None:
        """Return the members of a group, at most five minutes old unless Slack does not answer; None if unknown."""
        key = (workspace_key(), group_id)
        members, end = self._known.get(key, (None, 0.0))
        if self._clock() < end:
            return members
        return await fetch_once(self._requests, key, partial(self._fetch, key, members))

    async def _fetch(self, key: tuple[str, str], known: frozenset[str] | None) -> frozenset[str] | None:
        seconds = GROUP_SECONDS
        try:
            users = (await self._client.usergroups_users_list(usergroup=key[1])).get("users")
            known = frozenset(map(str, users)) if isinstance(users, list) else known
        except FAILURES as error:
            log.warning("group.unknown", extra={"error": type(error).__name__})
            failed = classify_error(error)
            seconds = GROUP_AGAIN_SECONDS
            known = frozenset() if isinstance(failed, RouteClosed) and failed.error == "no_such_subteam" else known
        self._known[key] = known, self._clock() + seconds
        return known


ADMIN_CACHE_SECONDS = 300.0


@dataclass(frozen=True, kw_only=True)
class Admins:
    """Checks who is an admin; each method says how old Slack's answer may be.

    `named` are the ids of the people and user groups that the settings name as admins; guests in a group do not count.
    `profiles` is the shared cache; `ours` returns the installation.
    """

    profiles: Profiles
    groups: UserGroups
    named: Collection[str] = ()
    ours: Callable[[], Identity | None] = lambda: None

    async def may_ask(self, channel: ChannelSettings, user_id: str) -> bool | None:
        """Return whether a person may ask in a channel, by answers of the last five minutes; None if not known."""
        if may_ask(channel, user_id, is_admin=False):
            return True
        found = {await self.groups.contain(channel.askers.split(), user_id), await self.check_admin(user_id)}
        return True if True in found else None if None in found else False

    async def is_admin(self, user_id: str) -> bool:
        """Return whether a user may now act as an admin; False if Slack cannot be reached.

        Slack is asked each time, except about a user whom the settings name, or who was not an admin in the last five
        minutes; a new admin may have to wait that long.
        """
        known = self.profiles.cached(user_id, seconds=ADMIN_CACHE_SECONDS)
        if known is not None and not known.is_admin_of(self.ours()) and not await self._is_named(user_id, known):
            return False
        return await self.verify_admin(user_id) is True

    async def check_admin(self, user_id: str) -> bool | None:
        """Return whether a user is an admin, by an answer of the last five minutes; None if Slack cannot be reached."""
        return await self._check(user_id, seconds=ADMIN_CACHE_SECONDS)

    async def verify_admin(self, user_id: str) -> bool | None:
        """Return whether a user is an admin by Slack's current answer; None if Slack cannot be reached."""
        return await self._check(user_id, seconds=0)

    async def _check(self, user_id: str, *, seconds: float) -> bool | None:
        if user_id in self.named:
            return True
        try:
            profile = await self.profiles.get(user_id, seconds=seconds)
        except FAILURES as error:
            log.warning("admins.unknown", extra={"error": type(error).__name__})
            return None
        return profile.is_admin_of(self.ours()) or await self._is_named(user_id, profile)

    async def _is_named(self, user_id: str, profile: Profile) -> bool:
        """Return whether the settings name a person, or name a group to which the person belongs as a full member."""
        if user_id in self.named:
            return True
        ours = self.ours()
        member = ours is not None and affiliation_of(profile, user_team="", ours=ours) is Affiliation.INTERNAL
        return member and not profile.deleted and await self.groups.contain(self.named, user_id) is True


MAX_ADMINS = 10
"""The most admins of a workspace that are listed."""

LIST_SECONDS = 3600.0
LIST_AGAIN_SECONDS = 60.0
"""How long a list of admins is kept, and the pause after a failed request."""

MAX_WORKSPACES = 1_000


class AdminList:
    """Lists a workspace's admins and owners, who receive notices. `clock` is monotonic.

    The workspaces of an organization share an installation, but have admins of their own.

    https://docs.slack.dev/reference/methods/users.list
    """

    def __init__(self, client: AsyncWebClient, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._client = client
        self._clock = clock
        self._known: OrderedDict[tuple[str, str], tuple[Sequence[str] | None, float]] = OrderedDict()

    async def read(self, team_id: str) -> Sequence[str] | None:
        """Return the ids of the first ten admins, at most an hour old; None if Slack fails, empty if Slack refuses."""
        workspace = (workspace_key(), team_id)
        listed, end = self._known.get(workspace, (None, 0.0))
        if self._clock() < end:
            return listed
        try:
            listed, seconds = await self._fetch(team_id), LIST_SECONDS
        except FAILURES as error:
            log.warning("admins.unknown", extra={"error": type(error).__name__})
            closed = isinstance(classify_error(error), RouteClosed)  # Without the scope, there is nobody to inform.
            listed, seconds = [] if closed else None, LIST_AGAIN_SECONDS
        put_in_cache(self._known, workspace, (listed, self._clock() + seconds), most=MAX_WORKSPACES)
        return listed

    async def _fetch(self, team_id: str) -> Sequence[str]:
        """Return the ids from Slack; raise one of `FAILURES`."""
        found: list[str] = []
        async for page in paginate(self._client.users_list, most=MAX_PAGES, limit=PAGE_SIZE, team_id=team_id):
            people = [] if page is None else page.get("members")
            if not isinstance(people, list):
                raise SlackClientError("users.list returned no members")
            found += [str(one.get("id")) for one in people if isinstance(one, Mapping) and Profile.from_user(one).admin]
            if len(found) >= MAX_ADMINS:
                break
        return found[:MAX_ADMINS]


class Management(Enum):
    """Whether a person may change a channel's settings."""

    ALLOWED = "allowed"
    DENIED = "denied"
    UNKNOWN = "unknown"
    """The person is no admin, and Slack does not name the channel's creator: the token may lack the scope."""


class ChannelManagers:
    """Decides who may change a channel's settings: admins and the channel's creator, who never changes and is cached.

    Reading creators needs the scopes channels:read or groups:read.
    https://docs.slack.dev/reference/methods/conversations.info
    """

    def __init__(self, client: AsyncWebClient, *, admins: Admins) -> None:
        self._client = client
        self._admins = admins
        self._creators: OrderedDict[tuple[str, str], str] = OrderedDict()

    async def management(self, user_id: str, channel_id: str) -> Management:
        """Return whether a person may change a channel's settings."""
        if await self._admins.is_admin(user_id):
            return Management.ALLOWED
        creator = await self._creator(channel_id)
        if creator is None:
            return Management.UNKNOWN
        return Management.ALLOWED if creator == user_id else Management.DENIED

    async def _creator(self, channel_id: str) -> str | None:
        key = (workspace_key(), channel_id)
        if key in self._creators:
            return self._creators[key]
        try:
            channel = (await self._client.conversations_info(channel=channel_id)).get("channel")
        except FAILURES as error:
            log.warning("creator.unknown", extra={"error": type(error).__name__})
            return None
        creator = channel.get("creator") if isinstance(channel, Mapping) else None
        if not isinstance(creator, str) or not creator:
            return None
        put_in_cache(self._creators, key, creator, most=MAX_PROFILES)
        return creator
