"""When a digest runs: on which days of the week, at what time, by whose clock.

A local time that a change of the clocks skips is made up for at the first moment after it; one that occurs twice counts
the first time (https://peps.python.org/pep-0495/ says how Python tells the two apart).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from enum import StrEnum
from itertools import groupby
from typing import Protocol
from uuid import UUID
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from perplexity.news.stories import Story
from perplexity.news.summary import NewsSummary

DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
"""A day of the week is its place in this list, as `date.weekday()` counts."""

DAILY = frozenset(range(7))
WEEKDAYS = frozenset(range(5))
WEEKENDS = DAILY - WEEKDAYS

_DAY_SET_NAMES = {DAILY: "every day", WEEKDAYS: "weekdays", WEEKENDS: "weekends"}


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """Some days of the week, at least one, at one local time of a zone of the IANA database such as Europe/Berlin."""

    days: frozenset[int]
    at: time
    zone: str

    @property
    def tz(self) -> ZoneInfo:
        """The zone's rules; UTC where this computer does not know the zone."""
        return zone_of(self.zone)

    @property
    def text(self) -> str:
        """Return it as people say it: "weekdays at 9:00"."""
        return f"{format_days(self.days)} at {format_time(self.at)}"

    @property
    def text_with_zone(self) -> str:
        """Return it with whose clock that is by: "weekdays at 9:00 (Europe/Berlin)"."""
        return f"{self.text} ({self.tz.key})"


def zone_of(name: str) -> ZoneInfo:
    """Return the rules of a zone; those of UTC, which say their name, for one that this computer does not know."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return ZoneInfo("UTC")


def format_time(at: time) -> str:
    """Return a time of day as "9:00"."""
    return f"{at.hour}:{at.minute:02}"


def format_days(days: Collection[int]) -> str:
    """Return days of the week as "weekdays", or "Monday, Wednesday to Friday"."""
    return _DAY_SET_NAMES.get(frozenset(days)) or ", ".join(_day_ranges(sorted(days)))


def format_slot(moment: datetime, *, tz: ZoneInfo) -> str:
    """Return a moment by a zone's clock: "Monday, 23 November at 9:00"."""
    local = moment.astimezone(tz)
    return f"{DAYS[local.weekday()]}, {local.day} {local:%B} at {format_time(local.time())}"


def _day_ranges(days: list[int]) -> Iterator[str]:
    """Yield the days, three or more in a row as a range."""
    for _, run in groupby(enumerate(days), key=lambda place: place[1] - place[0]):
        names = [DAYS[day] for _, day in run]
        if len(names) > 2:
            yield f"{names[0]} to {names[-1]}"
        else:
            yield from names


EXAMPLE = 'technology "open source databases" weekdays 9:00'
"""How a digest is asked for."""


class DigestAction(StrEnum):
    """What its owner can do with a digest that there is; the value is the word to type."""

    PAUSE = "pause"
    RESUME = "resume"
    DELETE = "delete"
    RUN = "run"


class Trigger(StrEnum):
    """Why a digest runs: it is time, it was time while nothing ran, or its owner wants it now."""

    SCHEDULED = "due"
    LATE = "late"
    MANUAL = "asked"


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
class DigestSpec:
    """A digest as somebody asks for it.

    `topic` may be empty; `report_empty_on` are the days of the week on which it says that nothing is new. The
    schedule's zone is the owner's; it is empty as long as the command was only parsed.
    """

    category: str
    topic: str
    schedule: Schedule
    report_empty_on: frozenset[int] = frozenset()


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
    spec: DigestSpec
    state: State = State.ACTIVE
    next_at: datetime | None = None
    runs: int = 0
    cost_usd: float | None = None
    unpriced: int = 0

    @property
    def title(self) -> str:
        """What it is about: "Technology: open source databases"."""
        return ": ".join(filter(None, (self.spec.category.capitalize(), self.spec.topic)))


@dataclass(frozen=True, kw_only=True)
class Created:
    """There is a new digest. It goes by UTC where `zone_known` is false: nobody could tell its owner's zone."""

    digest: Digest
    zone_known: bool = True


@dataclass(frozen=True, kw_only=True)
class LimitReached:
    """The limit of digests is reached: of the owner, of the `channel`, or, if `share`, of the owner in the channel."""

    limit: int
    channel: bool
    share: bool = False


@dataclass(frozen=True, kw_only=True)
class DigestList:
    """All digests of their owner, by number."""

    digests: Sequence[Digest]


@dataclass(frozen=True, kw_only=True)
class Updated:
    """What was wanted is done; the digest is as it is now, or as it was before it was deleted."""

    action: DigestAction
    digest: Digest


@dataclass(frozen=True, kw_only=True)
class AlreadyRunning:
    """It is being made just now, so it is not made once more."""

    digest: Digest


@dataclass(frozen=True, kw_only=True)
class DigestNotFound:
    """The owner has none of this number; `numbers` are those that there are. A button names no number."""

    number: int | None = None
    numbers: Sequence[int] = ()


@dataclass(frozen=True, kw_only=True)
class NotOwner:
    """The digest behind a button belongs to somebody else."""


DigestResult = Created | LimitReached | DigestList | Updated | AlreadyRunning | DigestNotFound | NotOwner


class DigestService(Protocol):
    """Where digests are kept. Everything raises like the database."""

    @property
    def command_label(self) -> str:
        """How people call the command: "/pplx watch"."""
        ...

    async def create(self, wish: DigestSpec, *, id: UUID, owner: Owner, channel_id: str) -> Created | LimitReached:
        """Keep a new digest that posts to a channel; the same `id` once more is the same digest."""
        ...

    async def list_digests(self, owner: Owner) -> DigestList:
        """Return what somebody has."""
        ...

    async def apply(self, verb: DigestAction, number: int, *, owner: Owner, by: str) -> DigestResult:
        """Do something with the owner's digest of this number; `by` identifies what asked for it."""
        ...

    async def apply_button(
        self, verb: DigestAction, id: UUID, *, user_id: str, teams: Collection[str], by: str
    ) -> DigestResult:
        """Act on the digest of a button; only its owner may.

        `teams` are the ids by which Slack names the workspace of the click.
        """
        ...


_DAYS_AHEAD = range(8)
"""A week, and the day that `after` lies on: its slot may be over."""


def next_slot(schedule: Schedule, after: datetime) -> datetime:
    """Return the first moment of the schedule that is later than `after`, in UTC. `after` needs a zone of its own."""
    tz = schedule.tz
    today = after.astimezone(tz).date()
    for ahead in _DAYS_AHEAD:
        day = today + timedelta(days=ahead)
        if day.weekday() in schedule.days and (slot := _moment(day, schedule, tz)) > after:
            return slot
    raise ValueError("a schedule needs a day of the week")


def scheduled_days(schedule: Schedule, slot: datetime) -> frozenset[int]:
    """Return the days of the week that a slot belongs to, whatever day the clock shows then.

    A slot that a clock change moved past midnight belongs to the day before; if a whole day was skipped, one slot
    belongs to two. For a moment that is not a slot of the schedule, it is the clock's day. `slot` must be aware.
    """
    shown = slot.astimezone(schedule.tz).date()
    days = {day.weekday() for day in (shown - timedelta(days=1), shown) if _moment(day, schedule, schedule.tz) == slot}
    return schedule.days & days or frozenset({shown.weekday()})


def latest_slot(schedule: Schedule, *, first: datetime, now: datetime) -> datetime:
    """Return the last moment of the schedule from `first`, which is one, up to `now`: the one to catch up with."""
    slot = first
    while (following := next_slot(schedule, slot)) <= now:
        slot = following
    return slot


def _moment(day: date, schedule: Schedule, tz: ZoneInfo) -> datetime:
    wanted = datetime.combine(day, schedule.at)
    moment = wanted.replace(tzinfo=tz).astimezone(UTC)
    return moment if _exists(wanted, moment, tz) else _after_gap(wanted, tz)


def _exists(wanted: datetime, moment: datetime, tz: ZoneInfo) -> bool:
    return moment.astimezone(tz).replace(tzinfo=None) == wanted


def _after_gap(wanted: datetime, tz: ZoneInfo) -> datetime:
    """Return the moment at which the clocks jumped over `wanted`, found between the readings before and after it."""
    before = wanted.replace(tzinfo=tz, fold=1).astimezone(UTC)
    after = wanted.replace(tzinfo=tz, fold=0).astimezone(UTC)
    old = before.astimezone(tz).utcoffset()
    while after - before > timedelta(seconds=1):
        middle = before + timedelta(seconds=int((after - before).total_seconds()) // 2)
        if middle.astimezone(tz).utcoffset() == old:
            before = middle
        else:
            after = middle
    return after


_DAY = timedelta(days=1)
_MONTH = timedelta(days=30)


@dataclass(frozen=True, kw_only=True)
class DigestReport:
    """The outcome of a run: `stories` are those of the `summary` that are new, and `since` is the last post's moment.

    `summary` is None where no story at all was found; `cost_usd` is what the search cost in either case, None where
    nobody says. `slot` is when it was due, `earliest_slot` when the earliest of the slots was that it stands for.
    One that is `suppressed` is not posted, whatever it found: its digest is deleted, paused, or cannot be posted.
    """

    digest: Digest
    trigger: Trigger
    earliest_slot: datetime
    slot: datetime
    now: datetime
    summary: NewsSummary | None = None
    cost_usd: float | None = None
    stories: tuple[Story, ...] = ()
    since: datetime | None = None
    suppressed: bool = False

    @property
    def should_post(self) -> bool:
        """Whether it is posted: with news always, without when somebody waits for it or a day is set to say so."""
        return not self.suppressed and (
            bool(self.stories) or self.trigger is Trigger.MANUAL or self._covers_reporting_day
        )

    @property
    def _covers_reporting_day(self) -> bool:
        """Whether a slot it stands for, up to those that came due while it waited, is of a day set to tell silence."""
        schedule, slot = self.digest.spec.schedule, self.earliest_slot
        days = set(scheduled_days(schedule, slot))
        while (slot := next_slot(schedule, slot)) <= self.now:
            days |= scheduled_days(schedule, slot)
        return bool(days & self.digest.spec.report_empty_on)

    def with_stories(self, stories: Sequence[Story], *, since: datetime | None) -> DigestReport:
        """Return it with the stories that are new since a moment."""
        return replace(self, stories=tuple(stories), since=since)


def format_since(moment: datetime, *, now: datetime, tz: ZoneInfo) -> str:
    """Return "since Tuesday": the time and zone of a moment today, the weekday of one this week, or else the day."""
    then = moment.astimezone(tz)
    days = (now.astimezone(tz).date() - then.date()).days
    if days < 1:
        return f"since {format_time(then.time())} today ({tz.key})"
    if days == 1:
        return "since yesterday"
    return f"since {DAYS[then.weekday()]}" if days < len(DAYS) else f"since {then.day} {then:%B}"


def search_window_start(last_run_at: datetime | None, *, now: datetime) -> datetime:
    """Return since when to look, so that nothing between two runs is missed: for a day at least, and at most a month.

    A day also where the run before was an hour ago: of what that one found, only so much was posted as fits.
    """
    return min(max(last_run_at or now, now - _MONTH), now - _DAY)
