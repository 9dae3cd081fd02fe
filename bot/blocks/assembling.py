"""Blocks to messages: as few as Slack's limits allow, numbered when there are several."""

from __future__ import annotations

from collections.abc import Sequence

from bot.blocks.base import Block, OutgoingMessage
from bot.blocks.elements import context
from bot.blocks.fallback_text import fallback_text
from bot.blocks.weights import MESSAGE, MESSAGE_BLOCKS, PART_BLOCKS, counted


def messages(blocks: Sequence[Block], *, summary: str) -> tuple[OutgoingMessage, ...]:
    """Put blocks into messages in order; `summary` ends the first one's text, such as "3 sources"."""
    groups: list[list[Block]] = []
    for block in blocks:
        if groups and _fits([*groups[-1], block]):
            groups[-1].append(block)
        else:
            groups.append([block])
    return tuple(_message(group, part, len(groups), summary) for part, group in enumerate(groups, 1))


def _message(group: list[Block], part: int, parts: int, summary: str) -> OutgoingMessage:
    if parts == 1:
        return OutgoingMessage(text=fallback_text(group, ending=summary), blocks=tuple(group))
    numbered = [*group, context(f"Part {part} of {parts}")]
    text = fallback_text(group, beginning=f"Part {part} of {parts}: ", ending=summary if part == parts else "")
    return OutgoingMessage(text=text, blocks=tuple(numbered))


def _fits(group: Sequence[Block]) -> bool:
    weight = sum(counted(text) for block in group for text in texts(block))
    rendered = sum(PART_BLOCKS if block["type"] == "markdown" else 1 for block in group)
    return weight <= MESSAGE and rendered <= MESSAGE_BLOCKS


def texts(block: object) -> list[str]:
    """Return every text in a block, in order."""
    if isinstance(block, dict):
        own = [block["text"]] if isinstance(block.get("text"), str) else []
        return [*own, *(text for value in block.values() for text in texts(value))]
    if isinstance(block, list):
        return [text for item in block for text in texts(item)]
    return []
