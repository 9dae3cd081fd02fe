"""What a person's home tab shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID


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
