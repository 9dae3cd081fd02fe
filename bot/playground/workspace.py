"""The playground's workspace: one team, one person, one app, a channel and a direct message."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

TEAM_ID = "T0PLAYGROUND"
TEAM_DOMAIN = "playground"
TEAM_NAME = "Playground"
APP_ID = "A0PLAYGROUND"
APP_NAME = "Web Answers"
BOT_ID = "B0PLAYGROUND"
BOT_USER_ID = "U0PLAYGROUNDBOT"
USER_ID = "U0PLAYGROUNDYOU"
USER_NAME = "you"
USER_REAL_NAME = "You"
UTC = "Etc/UTC"


@dataclass(frozen=True, kw_only=True)
class Channel:
    """A conversation of the workspace; `name` is for Slack's payloads, `label` for the page."""

    id: str
    name: str
    label: str
    is_im: bool = False


GENERAL = Channel(id="C0PLAYGROUND", name="playground", label="playground")
DIRECT = Channel(id="D0PLAYGROUND", name="directmessage", label="Direct message", is_im=True)
CHANNELS = {channel.id: channel for channel in (GENERAL, DIRECT)}


def resolve(channel_or_user: str) -> Channel | None:
    """Return the conversation for a channel's id, or the direct message for a person's id."""
    return DIRECT if channel_or_user == USER_ID else CHANNELS.get(channel_or_user)


def direct_message() -> dict[str, Any]:
    """Return the conversation with the person as `conversations.open` does."""
    return {"id": DIRECT.id, "is_im": True, "is_open": True, "user": USER_ID, "context_team_id": TEAM_ID}


def user(*, zone: str = UTC, now: float = 0.0) -> dict[str, Any]:
    """Return the person as `users.info` does: an owner, since it is this person's own machine.

    `zone` is the name of the page's time zone, `now` is in seconds since 1970.
    """
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


def identity(*, origin: str) -> dict[str, Any]:
    """Return who a bot token belongs to, as `auth.test` does."""
    return {
        "url": f"{origin}/playground",
        "team": TEAM_NAME,
        "user": "perplexity",
        "team_id": TEAM_ID,
        "user_id": BOT_USER_ID,
        "bot_id": BOT_ID,
        "is_enterprise_install": False,
    }
