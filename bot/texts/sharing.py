"""Sharing an answer: the preview, what everyone reads above and below the answer, and its result."""

from __future__ import annotations

from collections.abc import Sequence

from bot.texts.answers import warning
from bot.texts.times import ago

TITLE = "Share this answer"
SHARE = "Share"
CANCEL = "Cancel"
YOUR_COMMENT = "Your comment"
COMMENT_EXAMPLE = "Say why you share it"
WHAT_TO_SHARE = "What to share"
PREVIEW = "Preview: your comment comes above it"
UNNAMED_MEMBER = "a member"
UNNAMED_CHANNEL = "that channel"

ALREADY_PUBLIC = "Everyone here sees this answer already."
ALREADY_SHARED = "You’ve shared this answer already."
MAYBE_SHARED = "You’ve shared this answer already, but Slack didn’t confirm it. Look in the channel."
TOO_LONG = "This answer is too long for a preview, so I can’t share it. Ask for a shorter one, and share that."
NO_PARTS = "Choose at least one part."
NOT_TAKEN = "Slack didn’t accept what you shared. Please share again in a minute."
NOTHING_CHOSEN = "Nothing is chosen, so nothing would be shared."


def share_in(channel: str) -> str:
    """Return the title of the preview, with the name of the channel."""
    return f"Share in #{channel}"


def left_out(sections: Sequence[str]) -> str:
    """Return which sections the preview leaves out, by their names."""
    listed = ", ".join(f"“{section}”" for section in sections)
    return warning(f"Too long for one share, so these are left out: {listed}")


def and_more(section: str, more: int) -> str:
    """Return the name of several sections together, by the first one's."""
    return f"{section} + {more} more"


def shared_by(name: str, provider: str, seconds: float, count: str) -> str:
    """Return the line above a shared answer; it was asked so long ago, and `count` is "3 sources"."""
    return f"Shared by *{name}* · asked of {provider} {ago(seconds)} · {count}"


def original_cost(cost: str) -> str:
    """Return what the answer cost that is shared."""
    return f"the original cost {cost}"


def shared(channel: str) -> str:
    """Return that the answer is in the channel."""
    return f"I shared your answer in {channel}."


def incomplete(channel: str, *, posted: int, of: int) -> str:
    """Return that only the first messages are in the channel, of so many."""
    return f"Slack accepted only the first {posted} of {of} messages that you shared in {channel}."


def unconfirmed(channel: str) -> str:
    """Return that the answer may be in the channel."""
    return f"Slack didn’t confirm that it posted what you shared. Look in {channel}: I won’t post it a second time."


def not_a_member(channel: str, *, app: str) -> str:
    """Return that the app, of this name, is not in the channel."""
    return f"I’m not in {channel}. Type `/invite @{app}` there, then share again."


def not_allowed(channel: str) -> str:
    """Return that Slack refused the answer in this channel."""
    return f"Slack doesn’t let me post in {channel}, so I didn’t share the answer."


def asker_left(channel: str) -> str:
    """Return that the asker is no member of the channel any more."""
    return f"You’re not a member of {channel}, so I didn’t share the answer. Join it, then share again."


def asker_not_checked(channel: str) -> str:
    """Return that Slack does not say whether the asker is a member."""
    return f"I can’t check that you’re a member of {channel}, so I didn’t share the answer. Ask again there."
