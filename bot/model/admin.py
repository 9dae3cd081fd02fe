"""What admins see of their workspace in the home tab: problems, and the limits of services."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

DIRECT = "D"
"""The name of all direct messages together, instead of a channel's id."""


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
