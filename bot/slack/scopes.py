"""The scopes that the app asks Slack for, and no others: what each is for, and what does not work without it.

https://docs.slack.dev/reference/scopes
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Scope:
    """One scope of the bot token; `why` and `without` are sentences.

    Whoever installs the app can leave out what is `optional`. https://docs.slack.dev/changelog/2026/03/16/optional-scopes
    """

    name: str
    why: str
    without: str
    optional: bool = False


FILES = "files:write"

SCOPES = (
    Scope(
        name="app_mentions:read",
        why="Mentions of the app in channels ask it something.",
        without="Mentions are not heard.",
    ),
    Scope(
        name="assistant:write",
        why="Slack's agent view needs it.",
        without="The app is missing from Slack's agent view.",
    ),
    Scope(
        name="channels:read",
        why="Optional: whether the owner of a digest is still a member of its public channel.",
        without="Digests in public channels go on when their owner has left the channel.",
        optional=True,
    ),
    Scope(
        name="chat:write",
        why="Mentions and direct messages are answered, as is everything that does not fit where it was asked.",
        without="Mentions and direct messages get no answer.",
    ),
    Scope(
        name="commands",
        why="The slash commands.",
        without="The slash commands do not exist.",
    ),
    Scope(
        name=FILES,
        why="A deep dive is also offered as a file.",
        without="Deep dives have no button to get them as a file.",
    ),
    Scope(
        name="groups:read",
        why="Optional: whether the owner of a digest is still a member of its private channel.",
        without="Digests in private channels go on when their owner has left the channel.",
        optional=True,
    ),
    Scope(
        name="im:history",
        why="Direct messages to the app ask it something; after a lost reply from Slack the app looks there whether "
        "its own message arrived, instead of sending it twice.",
        without="Direct messages are not heard.",
    ),
    Scope(
        name="im:write",
        why="Opens the direct message with an asker whose answer can go nowhere else.",
        without="An answer that can go nowhere else than to a direct message is lost.",
    ),
    Scope(
        name="users:read",
        why="Whether someone who asks is a full member of the workspace, or an admin (for /pplx status); the time zone "
        "of a digest's owner, and whether their account is closed.",
        without="Guests are answered like members, only people in ADMIN_USER_IDS can see /pplx status, and digests go "
        "by UTC.",
    ),
)
"""In the order of the manifest."""

HISTORIES = ("channels:history", "groups:history", "mpim:history")
"""Not asked for, and used where they are given, to look in threads too whether the app's own message arrived."""
