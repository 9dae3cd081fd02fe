"""Sources as a reader sees them: number, linked title, site, date."""

from __future__ import annotations

from collections.abc import Sequence

from bot.blocks.base import Block
from bot.blocks.defusing import defuse
from bot.blocks.direction import LEFT_TO_RIGHT, runs_right_to_left
from bot.blocks.elements import context, lines, link
from bot.blocks.escaping import escape, one_line, shorten
from perplexity.addresses import linkable, site
from perplexity.footer import day
from perplexity.types import Source

__all__ = ["address_of", "day", "place_and_day", "source_blocks", "titled"]

_TITLE = 120
_ADDRESS = 200
_ESCAPED_ADDRESS = 2_200


def source_blocks(cited: Sequence[Source], others: Sequence[Source]) -> list[Block]:
    """List the cited sources, one line each, and count the others. Without a cited one, all are listed."""
    listed, more = (cited, len(others)) if cited else (others, 0)
    rows = [f"{number} {titled(source)}{_beside(source)}" for number, source in enumerate(listed, 1)]
    if not rows:
        return []
    if runs_right_to_left(listed[0].title):
        rows.insert(0, "*Sources*")
    else:
        rows[0] = f"*Sources*  {rows[0]}"
    if more:
        rows.append(f"{more} more source{'s' if more > 1 else ''}")
    return [context(text) for text in lines(rows)]


def address_of(source: Source) -> str | None:
    """Return the address to link, None for one that is not to be trusted or too long once escaped."""
    address = linkable(source.url)
    return address if address and len(escape(address)) <= _ESCAPED_ADDRESS else None


def titled(source: Source) -> str:
    """Return the title as mrkdwn, linked where that may be; otherwise the address follows as text."""
    title = shorten(one_line(source.title) or site(source.url) or one_line(source.url) or "untitled", _TITLE)
    address = address_of(source)
    if address:
        return link(address, title)
    return " · ".join(filter(None, (escape(title), escape(defuse(shorten(one_line(source.url), _ADDRESS))))))


def place_and_day(source: Source) -> str:
    """Return site and date as mrkdwn, as far as they are known."""
    known = " · ".join(filter(None, (escape(site(source.url)), day(source.date))))
    return f"{LEFT_TO_RIGHT}{known}" if known and runs_right_to_left(source.title) else known


def _beside(source: Source) -> str:
    known = place_and_day(source)
    return f" · {known}" if known else ""
