"""Renders the limits of a workspace, as `/pplx limits` shows them."""

from __future__ import annotations

from collections.abc import Iterable

from bot.blocks.elements import section
from bot.blocks.escaping import escape
from bot.budgets.limits import limit_line
from bot.model.limits import Limit
from bot.model.message import Block, OutgoingMessage


def limits_message(limits: Iterable[Limit], *, slash: str, note: str = "") -> OutgoingMessage:
    """Render limits; `slash` is the umbrella command, `note` is what was done, not escaped."""
    heading = f"*Limits*  (`{slash} limits help` shows how to set them)"
    blocks: list[Block] = [section(escape(note))] if note else []
    blocks.append(section("\n".join([heading, *map(limit_line, limits)])))
    return OutgoingMessage(text=escape(note) or heading, blocks=tuple(blocks))
