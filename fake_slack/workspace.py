"""The stand-in's workspace: its app, its people and its channels."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from fake_slack.payloads import Actor

TEAM_ID = "T0PLAYGROUND"
TEAM_DOMAIN = "playground"
TEAM_NAME = "Playground"
APP_ID = "A0PLAYGROUND"
BOT_ID = "B0PLAYGROUND"
BOT_USER_ID = "U0PLAYGROUNDBOT"
USER_ID = "U0PLAYGROUNDYOU"
USER_NAME = "you"
USER_REAL_NAME = "You"
TIME_ZONE = "Etc/UTC"

YOU = Actor(
    user=USER_ID,
    name=USER_NAME,
    team=TEAM_ID,
    installed=TEAM_ID,
    domain=TEAM_DOMAIN,
    app=APP_ID,
    bot=BOT_USER_ID,
)
"""The only person of the workspace."""


@dataclass(frozen=True, kw_only=True)
class Channel:
    """A conversation of the workspace; `name` is for Slack's payloads, `label` for the page.

    `is_member` is whether the app is in it.
    """

    id: str
    name: str
    label: str
    is_im: bool = False
    is_member: bool = True

    def as_payload(self) -> dict[str, str]:
        """Return the channel as payloads contain it."""
        return {"id": self.id, "name": self.name}


GENERAL = Channel(id="C0PLAYGROUND", name="general", label="general")
DIRECT = Channel(id="D0PLAYGROUND", name="directmessage", label="Direct message", is_im=True)
CHANNELS = {channel.id: channel for channel in (GENERAL, DIRECT)}


class Workspace:
    """The people, the channels and the app for the Web API; a workspace for tests may override the methods.

    `scopes` are the scopes of the bot token, `zone` is the name of the person's time zone. `refused` maps each method
    that the workspace does not support to Slack's error, such as `feature_not_enabled`. `groups` maps the ids of user
    groups to the ids of their members. `clock` returns seconds since 1970.
    """

    def __init__(self, *, scopes: Sequence[str] = (), clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self.zone = TIME_ZONE
        self.conversations = dict(CHANNELS)
        self.scopes = list(scopes)
        self.refused: dict[str, str] = {}
        self.groups: dict[str, list[str]] = {}

    def identity(self, *, origin: str) -> dict[str, Any]:
        """Return the identity that a bot token has, as `auth.test` does."""
        return {
            "url": f"{origin}/playground",
            "team": TEAM_NAME,
            "user": "perplexity",
            "team_id": TEAM_ID,
            "user_id": BOT_USER_ID,
            "bot_id": BOT_ID,
            "is_enterprise_install": False,
        }

    def channel(self, channel_or_user: str) -> Channel | None:
        """Return the channel with this id, or the direct message with this person; None if the id is unknown."""
        return DIRECT if channel_or_user == USER_ID else self.conversations.get(channel_or_user)

    def members(self, channel_id: str) -> list[str]:
        """Return the ids of a channel's members."""
        return [USER_ID, BOT_USER_ID]

    def details(self, channel: Channel) -> dict[str, Any]:
        """Return a conversation as `conversations.info` does.

        https://docs.slack.dev/reference/objects/conversation-object
        """
        kind = {"is_channel": not channel.is_im, "is_group": False, "is_im": channel.is_im, "is_mpim": False}
        named = {"name": channel.name, "creator": USER_ID, "is_member": channel.is_member}
        own = {"user": USER_ID} if channel.is_im else named
        state = {"is_private": channel.is_im, "is_archived": False, "is_shared": False, "is_ext_shared": False}
        return {"id": channel.id, "context_team_id": TEAM_ID, **kind, **state, **own}

    def owner(self) -> dict[str, Any]:
        """Return the ids of the app and its workspace, as views contain them."""
        return {"team_id": TEAM_ID, "app_id": APP_ID, "app_installed_team_id": TEAM_ID, "bot_id": BOT_ID}

    def user(self, user_id: str) -> dict[str, Any] | None:
        """Return a person as `users.info` does; None if the id is unknown."""
        return _user(zone=self.zone, now=self._clock()) if user_id == USER_ID else None

    def users(self) -> list[dict[str, Any]]:
        """Return all people as `users.list` does."""
        return [_user(zone=self.zone, now=self._clock())]


def _user(*, zone: str, now: float) -> dict[str, Any]:
    """Return the only person of the workspace, who is its owner, since the machine is the person's own."""
    offset = datetime.fromtimestamp(now, ZoneInfo(zone)).utcoffset() or timedelta()
    return {
        "id": USER_ID,
        "team_id": TEAM_ID,
        "name": USER_NAME,
        "real_name": USER_REAL_NAME,
        "deleted": False,
        "is_bot": False,
        "is_admin": True,
        "is_owner": True,
        "is_restricted": False,
        "tz": zone,
        "tz_offset": int(offset.total_seconds()),
        "locale": "en-US",
        "profile": {"real_name": USER_REAL_NAME, "display_name": USER_NAME},
    }
