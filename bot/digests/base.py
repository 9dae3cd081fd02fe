"""What a digest is, what can be done with one, and what comes of that; frozen values."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol
from uuid import UUID

from bot.digests.schedule import Schedule

EXAMPLE = 'technology "open source databases" weekdays 9:00'
"""How a digest is asked for."""


class Verb(StrEnum):
    """What its owner can do with a digest that there is; the value is the word to type."""

    PAUSE = "pause"
    RESUME = "resume"
    DELETE = "delete"
    RUN = "run"


class Why(StrEnum):
    """Why a digest runs: it is time, it was time while nothing ran, or its owner wants it now."""

    DUE = "due"
    LATE = "late"
    ASKED = "asked"


class State(StrEnum):
    """Whether a digest runs: `STOPPED` is what it did itself, `PAUSED` what its owner wanted."""

    ACTIVE = "active"
    PAUSED = "paused"
    STOPPED = "stopped"


@dataclass(frozen=True, kw_only=True)
class Owner:
    """Somebody in a workspace."""

    team_id: str
    user_id: str


@dataclass(frozen=True, kw_only=True)
class Wish:
    """A digest as somebody asks for it.

    `topic` may be empty; `silence` are the days of the week on which it says that nothing is new. The schedule's zone
    is the owner's; where the wish was only read it is not known yet, and empty.
    """

    category: str
    topic: str
    schedule: Schedule
    silence: frozenset[int] = frozenset()


@dataclass(frozen=True, kw_only=True)
class Digest:
    """A digest as it is kept: `number` is how its owner calls it, `next_at` None unless it runs.

    `runs` and `cost_usd` count what it did in the last 30 days; `unpriced` of the runs came to an end, and nobody knows
    what they cost.
    """

    id: UUID
    number: int
    owner: Owner
    channel_id: str
    wish: Wish
    state: State = State.ACTIVE
    next_at: datetime | None = None
    runs: int = 0
    cost_usd: float | None = None
    unpriced: int = 0

    @property
    def title(self) -> str:
        """What it is about: "Technology: open source databases"."""
        return ": ".join(filter(None, (self.wish.category.capitalize(), self.wish.topic)))


@dataclass(frozen=True, kw_only=True)
class Added:
    """There is a new digest. It goes by UTC where `zone_known` is false: nobody could tell its owner's zone."""

    digest: Digest
    zone_known: bool = True


@dataclass(frozen=True, kw_only=True)
class Full:
    """The limit of digests is reached: of the owner, of the `channel`, or, if `share`, of the owner in the channel."""

    limit: int
    channel: bool
    share: bool = False


@dataclass(frozen=True, kw_only=True)
class Listed:
    """All digests of their owner, by number."""

    digests: Sequence[Digest]


@dataclass(frozen=True, kw_only=True)
class Changed:
    """What was wanted is done; the digest is as it is now, or as it was before it was deleted."""

    verb: Verb
    digest: Digest


@dataclass(frozen=True, kw_only=True)
class AlreadyRunning:
    """It is being made just now, so it is not made once more."""

    digest: Digest


@dataclass(frozen=True, kw_only=True)
class NoSuchDigest:
    """The owner has none of this number; `numbers` are those that there are. A button names no number."""

    number: int | None = None
    numbers: Sequence[int] = ()


@dataclass(frozen=True, kw_only=True)
class SomebodyElses:
    """The digest behind a button belongs to somebody else."""


WatchReply = Added | Full | Listed | Changed | AlreadyRunning | NoSuchDigest | SomebodyElses


class Watching(Protocol):
    """Where digests are kept. Everything raises like the database."""

    @property
    def call(self) -> str:
        """How people call the command: "/pplx watch"."""
        ...

    async def add(self, wish: Wish, *, id: UUID, owner: Owner, channel_id: str) -> Added | Full:
        """Keep a new digest that posts to a channel; the same `id` once more is the same digest."""
        ...

    async def listed(self, owner: Owner) -> Listed:
        """Return what somebody has."""
        ...

    async def change(self, verb: Verb, number: int, *, owner: Owner, by: str) -> WatchReply:
        """Do something with the owner's digest of this number; `by` identifies what asked for it."""
        ...

    async def press(self, verb: Verb, id: UUID, *, user_id: str, teams: Collection[str], by: str) -> WatchReply:
        """Act on the digest of a button; only its owner may.

        `teams` are the ids by which Slack names the workspace of the click.
        """
        ...
