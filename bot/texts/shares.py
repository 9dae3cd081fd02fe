"""What became of an answer that a person shared in a channel."""

from __future__ import annotations

NOT_TAKEN = "Slack didn’t accept what you shared. Please share again in a minute."


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
