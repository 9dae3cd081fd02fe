"""The one gate that every message passes on its way out: whatever made it, no text in it mentions anyone."""

from __future__ import annotations

import re
from typing import Any

from bot.blocks.base import Block, OutgoingMessage
from bot.blocks.escaping import break_mentions, clean

# Our own moments; the form without a link, so that nobody else's can be more than a date.
_DATE = re.compile(r"(<!date\^\d{1,12}\^[^<>|^]*\|[^<>|]*>)")
_LIVE = frozenset({"mrkdwn", "markdown"})
"""Types whose text Slack reads for mentions; plain_text and rich_text are shown as they are."""


def seal(message: OutgoingMessage) -> OutgoingMessage:
    """Return the message with every mention broken and no character that JSON or Slack refuses. Idempotent."""
    return OutgoingMessage(
        text=_unmentioning(message.text) or "…",
        blocks=tuple(_sealed_block(block) for block in message.blocks),
        private=message.private,
    )


def _unmentioning(text: str) -> str:
    pieces = _DATE.split(clean(text))
    return "".join(piece if place % 2 else break_mentions(piece) for place, piece in enumerate(pieces))


def _sealed_block(block: Block) -> Block:
    return {name: _sealed(value, live=block.get("type") in _LIVE) for name, value in block.items()}


def _sealed(value: Any, *, live: bool) -> Any:
    match value:
        case str():
            return _unmentioning(value) if live else clean(value)
        case dict():
            return _sealed_block(value)
        case list() | tuple():
            return [_sealed(item, live=live) for item in value]
    return value
