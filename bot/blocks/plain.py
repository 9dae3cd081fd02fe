"""A message as text alone, for when Slack refuses its blocks."""

from __future__ import annotations

from bot.blocks.base import OutgoingMessage
from bot.blocks.words import words


def plain(message: OutgoingMessage) -> OutgoingMessage:
    """Return the same words, and the same links, without blocks.

    Slack shows a long text as several messages, up to 40,000 characters
    (https://docs.slack.dev/reference/methods/chat.postMessage); a message's blocks hold far less.
    """
    said = "\n\n".join(filter(None, (words(block, links=True) for block in message.blocks)))
    return OutgoingMessage(text=said or message.text, private=message.private)
