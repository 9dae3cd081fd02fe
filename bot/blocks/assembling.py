"""Blocks to messages: as few as Slack's limits allow, numbered when there are several."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from bot.blocks.base import Block, OutgoingMessage
from bot.blocks.elements import context
from bot.blocks.fallback_text import fallback_text
from bot.blocks.paging import rendered_blocks
from bot.blocks.weights import MESSAGE, MESSAGE_BLOCKS, counted


def messages(blocks: Sequence[Block], *, summary: str, quote: str = "") -> tuple[OutgoingMessage, ...]:
    """Put blocks into messages in order; `summary` ends the first one's text, such as "3 sources".

    `quote` is the question as the blocks' footer quotes it; every part without that footer quotes it with its number.
    """
    groups: list[list[Block]] = []
    last: list[_Measured] = []
    for block in map(_Measured, blocks):
        if groups and _fits([*last, block]):
            last.append(block)
            groups[-1].append(block.block)
        else:
            last = [block]
            groups.append([block.block])
    return tuple(_message(group, part, len(groups), summary, quote) for part, group in enumerate(groups, 1))


def _message(group: list[Block], part: int, parts: int, summary: str, quote: str) -> OutgoingMessage:
    if parts == 1:
        return OutgoingMessage(text=fallback_text(group, ending=summary), blocks=tuple(group))
    has_footer = any(text.startswith(quote) for block in group if block["type"] == "context" for text in texts(block))
    number = f"Part {part} of {parts}"
    numbered = [*group, context(" · ".join(filter(None, ["" if has_footer else quote, number])))]
    text = fallback_text(group, beginning=f"Part {part} of {parts}: ", ending=summary if part == parts else "")
    return OutgoingMessage(text=text, blocks=tuple(numbered))


class _Measured:
    """A block with what it takes of a message, found out once and only if it matters."""

    def __init__(self, block: Block) -> None:
        self.block = block

    @cached_property
    def weight(self) -> int:
        """The characters that Slack counts."""
        return sum(counted(text) for text in texts(self.block))

    @cached_property
    def rendered(self) -> int:
        """The blocks that Slack makes of it."""
        return rendered_blocks(self.block["text"]) if self.block["type"] == "markdown" else 1


def _fits(group: Sequence[_Measured]) -> bool:
    weighs = sum(block.weight for block in group) <= MESSAGE
    return weighs and sum(block.rendered for block in group) <= MESSAGE_BLOCKS


def texts(block: object) -> list[str]:
    """Return every text in a block, in order."""
    if isinstance(block, dict):
        own = [block["text"]] if isinstance(block.get("text"), str) else []
        return [*own, *(text for value in block.values() for text in texts(value))]
    if isinstance(block, list):
        return [text for item in block for text in texts(item)]
    return []
