"""What admins see of their workspace in the home tab: use and cost, problems and what was recorded."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from bot.model.spending import NO_SPENDING, Spending

DIRECT = "D"
"""The name of all direct messages together, instead of a channel's id."""


@dataclass(frozen=True, kw_only=True)
class Use:
    """The questions of a day, a person or a channel, or the calls of a service; what calls cost, in micro-dollars."""

    name: str
    count: int
    cost: int


@dataclass(frozen=True, kw_only=True)
class WorkspaceUse:
    """The use of this month, and what `today` cost: days latest first, the others most expensive first."""

    days: Sequence[Use] = ()
    people: Sequence[Use] = ()
    channels: Sequence[Use] = ()
    providers: Sequence[Use] = ()
    today: int = 0

    @property
    def cost(self) -> int:
        """What the calls of the month cost, in micro-dollars."""
        return sum(one.cost for one in self.days)


@dataclass(frozen=True, kw_only=True)
class Problem:
    """Something that is wrong, and what an admin can do about it; both are sentences."""

    text: str
    fix: str


FindProblems = Callable[[str], Awaitable[Sequence[Problem]]]
"""Returns what is wrong in a workspace. Raises database errors."""


@dataclass(frozen=True, kw_only=True)
class LaneUse:
    """How many calls of a kind a service takes a minute, and how many left in the fullest minute of the last hour.

    `source` is who said so: `tier` (the smallest), `reply` or `set`. `others` are calls of other programs with the key
    that the service counted in a minute of the last hour; None if it did not.
    """

    lane: str
    per_minute: int
    source: str
    fullest: int = 0
    others: int | None = None


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
    """What admins see."""

    spending: Spending = NO_SPENDING
    use: WorkspaceUse = WorkspaceUse()
    problems: Sequence[Problem] = ()
    recorded: Sequence[Recorded] = ()
