"""The admins' view of their workspace in the home tab: problems, and the limits of services."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

DIRECT = "D"
"""Stands for all direct messages together, in place of a channel's id."""


@dataclass(frozen=True, kw_only=True)
class Problem:
    """A problem, and an admin's remedy; both are sentences."""

    text: str
    fix: str


FindProblems = Callable[[str], Awaitable[Sequence[Problem]]]
"""Returns the problems of a workspace. Raises database errors."""


@dataclass(frozen=True, kw_only=True)
class LaneUse:
    """A service's limit of calls per minute for a kind of call, and the calls in the fullest minute of the last hour.

    `source` is the origin of the limit: `tier` (the smallest), `reply` (of the service) or `set` (in the settings).
    `others` is how many calls in one minute of the last hour came from other programs with the same key, according to
    the service; None if the service reported no such calls.
    """

    lane: str
    per_minute: int
    source: str
    fullest: int = 0
    others: int | None = None
