"""The features' parts of the home tab."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from bot.model.message import Block

Place = Literal["top", "page", "end", "admin", "admin_end"]
"""The place of a section in the home tab.

`top` is the first row, `page` the person's own page, and `end` the last row of that page. On the page for admins,
`admin` is above the workspace's use, and `admin_end` below it.
"""


@dataclass(frozen=True, kw_only=True)
class HomeSection:
    """A section of the home tab; `blocks` returns its blocks, given the ids of the workspace and the person.

    At a place that is a row, the blocks are buttons. `blocks` of a section for admins is called only after a check that
    the person is an admin; buttons among its blocks go into the row of buttons that open complete lists.
    """

    place: Place
    blocks: Callable[[str, str], Awaitable[Sequence[Block]]]


def always(blocks: Callable[[], Sequence[Block]]) -> Callable[[str, str], Awaitable[Sequence[Block]]]:
    """Return the `blocks` function of a section whose blocks differ between people only in their language."""

    async def shown(_: str, __: str) -> Sequence[Block]:
        return blocks()

    return shown
