"""What a person's home tab shows."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Literal
from uuid import UUID

from bot.model.message import Block


@dataclass(frozen=True, kw_only=True)
class Running:
    """A question that is not answered yet; `age` is in seconds."""

    id: UUID
    command: str
    text: str
    state: str
    age: float


@dataclass(frozen=True, kw_only=True)
class Recent:
    """A question of the past; `at` is in seconds since 1970, `kept` is whether its answer is kept as a value."""

    id: UUID
    command: str
    text: str
    state: str
    at: float
    sources: int
    kept: bool


@dataclass(frozen=True, kw_only=True)
class HomeData:
    """What a person's home tab shows besides digests; `questions` and `cost` in micro-dollars are of this month.

    `page` is that of the `recent` ones, `earlier` is whether there are more.
    `for_admins` is whether the person has turned to the page for admins.
    """

    running: Sequence[Running] = ()
    recent: Sequence[Recent] = ()
    page: int = 0
    earlier: bool = False
    questions: int = 0
    cost: int = 0
    for_admins: bool = False


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
