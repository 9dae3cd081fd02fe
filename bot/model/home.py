"""What a person's home tab shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from bot.model.spending import OwnSpending


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
    cost_usd: float | None
    sources: int
    kept: bool


@dataclass(frozen=True, kw_only=True)
class Used:
    """What a person has asked with a command this month (in UTC); `cost_usd` is the known part, None without any."""

    command: str
    questions: int
    cost_usd: float | None


@dataclass(frozen=True, kw_only=True)
class HomeData:
    """What a person's home tab shows besides digests."""

    running: Sequence[Running] = ()
    recent: Sequence[Recent] = ()
    used: Sequence[Used] = ()
    spending: OwnSpending | None = None
