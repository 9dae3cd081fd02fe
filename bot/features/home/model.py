"""The contents of the home tab: a person's questions, and a workspace's use and changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from bot.model.admin import Problem
from bot.model.spending import NO_SPENDING, Spending


@dataclass(frozen=True, kw_only=True)
class RunningQuestion:
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
    """The contents of a person's home tab besides digests.

    `questions` and `cost` (in micro-dollars) are those of this month.

    `page` is the page of `recent` questions; `earlier` is whether there are more. `for_admins` is whether the person
    has opened the page for admins.
    """

    running: Sequence[RunningQuestion] = ()
    recent: Sequence[Recent] = ()
    page: int = 0
    earlier: bool = False
    questions: int = 0
    cost: int = 0
    for_admins: bool = False


@dataclass(frozen=True, kw_only=True)
class Use:
    """A count and its cost in micro-dollars: questions of a day, a person or a channel, or calls of a service."""

    name: str
    count: int
    cost: int


@dataclass(frozen=True, kw_only=True)
class WorkspaceUse:
    """The use of this month, and `today`'s cost: days latest first, the others most expensive first."""

    days: Sequence[Use] = ()
    people: Sequence[Use] = ()
    channels: Sequence[Use] = ()
    providers: Sequence[Use] = ()
    today: int = 0

    @property
    def cost(self) -> int:
        """The cost of the month's calls in micro-dollars."""
        return sum(one.cost for one in self.days)


@dataclass(frozen=True, kw_only=True)
class Recorded:
    """An entry of the audit log. `user_id` is empty for the app itself, None if the person was erased."""

    at: datetime
    user_id: str | None
    what: str
    channel_id: str
    decision: str
    before: str | None = None
    after: str | None = None


@dataclass(frozen=True, kw_only=True)
class AdminData:
    """The data for admins."""

    spending: Spending = NO_SPENDING
    use: WorkspaceUse = WorkspaceUse()
    problems: Sequence[Problem] = ()
    recorded: Sequence[Recorded] = ()
