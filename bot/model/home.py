"""The features' parts of the home tab."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from bot.model.message import Block

Place = Literal["top", "page", "end", "admin", "admin_end"]
"""Parts of a home tab.

These are the first row, a person's own page and its last row, and, on the page for admins, above and below the
workspace's use.
"""


@dataclass(frozen=True, kw_only=True)
class HomeSection:
    """A part of a home tab, by its place; in a row, `blocks` are buttons.

    `blocks` takes the ids of the workspace and the person. For a section for admins, the caller has checked that the
    person is one; buttons among its blocks go into the row that opens complete lists.
    """

    place: Place
    blocks: Callable[[str, str], Awaitable[Sequence[Block]]]


def always(blocks: Callable[[], Sequence[Block]]) -> Callable[[str, str], Awaitable[Sequence[Block]]]:
    """Return the `blocks` of a section that are the same for everyone but for their language."""

    async def shown(_: str, __: str) -> Sequence[Block]:
        return blocks()

    return shown
