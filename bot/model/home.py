"""What features add to the home tab."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from bot.model.message import Block

Place = Literal["top", "page", "end", "admin", "admin_end"]
"""Parts of a home tab: the first row, a person's own page and its last row, and above and below the use of a workspace
on the page for admins.
"""


@dataclass(frozen=True, kw_only=True)
class HomeSection:
    """A part of a home tab, by its place; in a row, `blocks` are buttons.

    `blocks` takes the ids of the workspace and the person. Who asks for a section for admins has checked that the
    person is one; buttons among its blocks go into the row for all that the page has no room for.
    """

    place: Place
    blocks: Callable[[str, str], Awaitable[Sequence[Block]]]


def always(*blocks: Block) -> Callable[[str, str], Awaitable[Sequence[Block]]]:
    """Return the `blocks` of a section that are the same for everyone."""

    async def shown(_: str, __: str) -> Sequence[Block]:
        return blocks

    return shown
