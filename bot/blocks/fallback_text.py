"""The top-level text of a message with blocks: the beginning of what the blocks say in full."""

from __future__ import annotations

import html
from collections.abc import Sequence

from bot.blocks.base import Block
from bot.blocks.defusing import defuse
from bot.blocks.direction import runs_right_to_left
from bot.blocks.escaping import JOINER, escape, shorten
from bot.blocks.words import without_signs, words

MOST_CHARACTERS = 3_900
MOST_BYTES = 3_990
"""`chat.update` counts bytes and takes 4,000; one number serves all ways."""


def fallback_text(blocks: Sequence[Block], *, beginning: str = "", ending: str = "") -> str:
    """Return the words of blocks as mrkdwn without links, cut to Slack's limit. Never empty."""
    said = "\n".join(filter(None, (words(block, links=False) for block in blocks)))
    lines = html.unescape(said).replace(JOINER, "").split("\n")
    told = (without_signs(line).strip() for line in lines if line.strip(" -:|"))
    plain = "\n".join(filter(None, told))
    # On a line of their own, words of ours and a text that runs from right to left do not turn each other around.
    apart = runs_right_to_left(plain)
    first = f"{beginning.rstrip()}\n" if apart and beginning else beginning
    last = f"{chr(10) if apart else ' '}({ending})" if ending else ""
    frame = f"{first}{{}}{last}"
    return frame.format(_fitting(plain, room=MOST_CHARACTERS - len(frame))) or "…"


def _fitting(text: str, *, room: int) -> str:
    limit = room
    while True:
        fitting = escape(defuse(shorten(text, limit)))
        if len(fitting) <= room and len(fitting.encode()) <= MOST_BYTES - (MOST_CHARACTERS - room):
            return fitting
        limit = limit * 4 // 5
