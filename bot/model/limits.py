"""The limits of a workspace: what the settings say, and what its admins have set instead."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

LimitName = Literal["open", "user", "channel", "thread", "workspace"]
"""Open questions of a person; questions a minute of a person, in a channel, in a thread; a workspace's in progress."""

NAMES: tuple[LimitName, ...] = get_args(LimitName)

HIGHEST = 1_000_000
"""The highest limit that admins can set if the settings bound it no lower."""


@dataclass(frozen=True, kw_only=True)
class Limit:
    """One limit; 0 is none.

    `value` counts. `own` is what admins have set, None for nothing, `host` that of the settings. If it is `bounded`,
    because the app serves other workspaces, too, admins can set no higher one than `host`.
    """

    name: LimitName
    value: int
    own: int | None
    host: int
    bounded: bool

    @property
    def bound(self) -> int | None:
        """The highest number that admins can set; None if they can set any, and no limit."""
        return self.host if self.bounded and self.host else None
