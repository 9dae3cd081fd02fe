"""Renders the pages of the part for admins: rows for which the home tab has no room. A modal has no tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC
from typing import Any

from bot.blocks.admin import MAX_DAYS, MAX_DIGESTS, MAX_RECORDED, MAX_ROWS, change_text, digest_blocks, doer
from bot.blocks.elements import actions, bullets, button, channel, context, leaf, name, page_turns, person
from bot.blocks.words import used
from bot.model.admin import AdminData, Recorded, Use
from bot.model.message import Block

OPEN_PAGE = "admin_page:"
"""What the `action_id` of a button that shows a page begins with; the part and the number of the page follow."""

PAGE_ROWS = 40


@dataclass(frozen=True, kw_only=True)
class Part:
    """Rows that may not fit: their title, those of a workspace, and how many the home tab shows.

    One is an `item` of a list, or has `blocks` of its own.
    """

    title: str
    rows: Callable[[AdminData], Sequence[Any]]
    shown: int
    item: Callable[[Any], list[Block]] | None = None
    blocks: Callable[[Any], Iterable[Block]] | None = None


def page_buttons(data: AdminData) -> list[Block]:
    """Return the buttons for all rows of the tables that the home tab shows the beginning of; none without any."""
    buttons = [
        button(f"{part.title} ({len(part.rows(data)):,})", f"{OPEN_PAGE}{name}:0", "admin")
        for name, part in PARTS.items()
        if len(part.rows(data)) > part.shown
    ]
    return [context("All of it"), actions(*buttons)] if buttons else []


def page_blocks(data: AdminData, name: str, page: int) -> list[Block]:
    """Return the blocks of a page of a part, counted from 0; of the last one if there are no more so many."""
    part = PARTS[name]
    rows = part.rows(data)
    page = max(0, min(page, (len(rows) - 1) // PAGE_ROWS))
    first = page * PAGE_ROWS
    shown = rows[first : first + PAGE_ROWS]
    blocks = [context(f"{first + 1 if rows else 0:,} to {first + len(shown):,} of {len(rows):,}")]
    if part.blocks is not None:
        blocks += [block for row in shown for block in part.blocks(row)]
    elif part.item is not None and shown:
        blocks.append(bullets(map(part.item, shown)))
    turns = {"Previous": page - 1} if page else {}
    turns |= {"Next": page + 1} if first + PAGE_ROWS < len(rows) else {}
    return [*blocks, *page_turns(f"{OPEN_PAGE}{name}:", turns)]


def _use(what: str, shown: Callable[[str], Block]) -> Callable[[Use], list[Block]]:
    return lambda one: [shown(one.name), leaf(f": {used(one.count, what, one.cost)}")]


def _recorded(one: Recorded) -> list[Block]:
    place = [channel(one.channel_id)] if one.channel_id else []
    moment = leaf(f"{one.at.astimezone(UTC):%Y-%m-%d %H:%M}")
    parts = [moment, doer(one.user_id), name(one.what), *place, name(change_text(one))]
    return [block for part in parts for block in (leaf(" · "), part)][1:]


PARTS: Mapping[str, Part] = {
    "days": Part(title="Use by day", rows=lambda data: data.use.days, shown=MAX_DAYS, item=_use("question", name)),
    "people": Part(
        title="Use by person", rows=lambda data: data.use.people, shown=MAX_ROWS, item=_use("question", person)
    ),
    "channels": Part(
        title="Use by channel", rows=lambda data: data.use.channels, shown=MAX_ROWS, item=_use("question", channel)
    ),
    "services": Part(
        title="Use by service", rows=lambda data: data.use.providers, shown=MAX_ROWS, item=_use("call", name)
    ),
    "digests": Part(
        title="Everyone’s digests", rows=lambda data: data.digests, shown=MAX_DIGESTS, blocks=digest_blocks
    ),
    "changes": Part(title="Audit log", rows=lambda data: data.recorded, shown=MAX_RECORDED, item=_recorded),
}
"""The parts by the names in `action_id`s; `shown` are the rows of `bot/blocks/admin.py`."""
