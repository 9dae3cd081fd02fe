"""Judge what is shown as it leaves: messages with and without their blocks, and views."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from bot.blocks.elements import REST
from bot.blocks.escaping import sanitize_message, sanitize_view
from bot.blocks.messages import without_blocks
from bot.model.message import OutgoingMessage
from tests.fakes.judge import harms_of_message
from tests.fakes.spoken import left_out

Harms = Iterator[list[str]]


def of_messages(messages: Iterable[OutgoingMessage], allowed: Iterable[str] = ()) -> Harms:
    """Judge messages as they are posted: with blocks, and without them if Slack refuses those."""
    known = set(allowed)
    for message in messages:
        one = sanitize_message(message)
        yield harms_of_message({"text": one.text, "blocks": list(one.blocks)}, known)
        yield [] if one.text.endswith(REST) else [f"text without {word}" for word in left_out(one)]
        yield harms_of_message({"text": sanitize_message(without_blocks(one)).text}, known)


def of_view(view: Mapping[str, Any], allowed: Iterable[str] = ()) -> Harms:
    yield harms_of_message(sanitize_view(dict(view)), allowed)


def texts_in(block: object) -> list[str]:
    """Return every text in a block, in order."""
    if isinstance(block, dict):
        own = [block["text"]] if isinstance(block.get("text"), str) else []
        return [*own, *(text for value in block.values() for text in texts_in(value))]
    if isinstance(block, list):
        return [text for item in block for text in texts_in(item)]
    return []
