"""The scopes of the bot token: the purpose of each, and the features that fail without it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bot.settings import Settings


@dataclass(frozen=True, kw_only=True)
class OAuthScope:
    """One scope; an `optional` scope can be left out when the app is installed.

    `why` is a sentence on its purpose, `without` a sentence on what fails without it.

    https://docs.slack.dev/reference/scopes
    https://docs.slack.dev/changelog/2026/03/16/optional-scopes
    """

    name: str
    why: str
    without: str
    optional: bool = False


FILES = "files:write"

SCOPES = (
    OAuthScope(
        name="app_mentions:read",
        why="Receives mentions of the app in channels.",
        without="The app does not receive mentions.",
    ),
    OAuthScope(
        name="assistant:write",
        why="Slack's agent view needs it, and the questions that the app suggests there.",
        without="The app is missing from Slack's agent view, and suggests no questions.",
    ),
    OAuthScope(
        name="canvases:write",
        why="Optional: makes a canvas of an answer and shares it with the person who chose that.",
        without="“Save as canvas” says that it needs this scope.",
        optional=True,
    ),
    OAuthScope(
        name="chat:write",
        why="Answers mentions and direct messages, and posts answers that do not fit into the reply to a command.",
        without="Mentions and direct messages get no answer.",
    ),
    OAuthScope(
        name="commands",
        why="The slash commands.",
        without="The slash commands do not exist.",
    ),
    OAuthScope(
        name="files:read",
        why="Optional: reads the images and PDFs of a question, where an admin allows that they are sent.",
        without="Files in questions are not read, and the answer says so.",
        optional=True,
    ),
    OAuthScope(
        name="im:history",
        why="Receives direct messages to the app; after a lost reply from Slack, the app checks there whether its own "
        "message arrived, instead of sending it twice, and whether someone replied to an answer whose question was "
        "deleted.",
        without="The app does not receive direct messages.",
    ),
    OAuthScope(
        name="im:write",
        why="Opens a direct message with an asker if the answer cannot be posted anywhere else.",
        without="An answer that can only be sent as a direct message is lost.",
    ),
    OAuthScope(
        name="usergroups:read",
        why="Optional: reads who is in a user group that is named in ADMIN_USER_IDS or as who may ask in a channel.",
        without="User groups count as if no one were in them, in ADMIN_USER_IDS and as who may ask in a channel.",
        optional=True,
    ),
    OAuthScope(
        name="users:read",
        why="Checks whether someone who asks is a full member of the workspace, or an admin (for /pplx status); reads "
        "the time zone of a digest's owner, and whether their account is closed; finds the admins to tell that a "
        "budget is spent, if no one is named.",
        without="No one is answered unless ALLOW_EXTERNAL_USERS is true, since members and guests look alike; "
        "only people in ADMIN_USER_IDS can see /pplx status, and digests use UTC.",
    ),
)
"""The scopes of a base installation; every other installation has them, too."""

FILE_SCOPES = (
    OAuthScope(
        name=FILES,
        why="Sends a deep dive or an answer as a file (SEND_FILES).",
        without="Deep dives have no button to get them as a file, and answers cannot be saved as one.",
    ),
)
"""Requested only to send files."""

CHANNEL_SCOPES = (
    OAuthScope(
        name="channels:read",
        why="Optional (READ_CHANNELS): checks whether the owner of a digest is still a member of its public channel, "
        "and who created a public channel, for its settings.",
        without="Digests in public channels continue after their owner has left the channel; only admins can change a "
        "public channel's settings.",
        optional=True,
    ),
    OAuthScope(
        name="groups:read",
        why="Optional: the same for private channels.",
        without="Digests in private channels continue after their owner has left the channel; only admins can change a "
        "private channel's settings.",
        optional=True,
    ),
)
"""Requested only to read who is in a channel and who created it."""

CHANNEL_HISTORY = (
    OAuthScope(
        name="channels:history",
        why="Reads replies in public channels: for answers without a mention (FOLLOW_UPS) and with the thread "
        "(THREAD_HISTORY).",
        without="Replies in public channels get no answer without a mention, and are not sent with questions.",
    ),
    OAuthScope(
        name="groups:history",
        why="Reads replies in private channels that it is a member of, for the same.",
        without="Replies in private channels get no answer without a mention, and are not sent with questions.",
    ),
)
"""Requested only for the features that read messages in channels."""

HISTORIES = ("channels:history", "groups:history", "mpim:history")
"""With one of these, the app also checks in threads of that kind of conversation whether its own message arrived."""


@dataclass(frozen=True, kw_only=True)
class Features:
    """The features that need scopes or events beyond those of a base installation.

    `follow_ups` answers replies without a mention, `thread_history` sends a thread's messages along with a question,
    `files` sends answers as files, `channels` reads who is in a channel and who created it.
    """

    follow_ups: bool = False
    thread_history: bool = False
    files: bool = False
    channels: bool = False

    @classmethod
    def from_settings(cls, settings: Settings) -> Features:
        """Return the features that the settings switch on."""
        return cls(
            follow_ups=settings.follow_ups == "always",
            thread_history=settings.thread_history != "off",
            files=settings.send_files,
            channels=settings.read_channels,
        )

    @property
    def own_scopes(self) -> tuple[OAuthScope, ...]:
        """The scopes that only these features need."""
        return (
            *(FILE_SCOPES if self.files else ()),
            *(CHANNEL_SCOPES if self.channels else ()),
            *(CHANNEL_HISTORY if self.follow_ups or self.thread_history else ()),
        )

    @property
    def scopes(self) -> tuple[OAuthScope, ...]:
        """All scopes of the manifest, in its order."""
        return tuple(sorted((*SCOPES, *self.own_scopes), key=lambda scope: scope.name))


NO_FEATURES = Features()
ALL_FEATURES = Features(follow_ups=True, thread_history=True, files=True, channels=True)
