"""Digests as values: their schedules, their slots, and the results of actions and runs.

A local time that a clock change skips is replaced by the first moment after the gap; of one that occurs twice, the
first counts (https://peps.python.org/pep-0495/).
"""

from __future__ import annotations

import re
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
"""The days of the week in the order of `date.weekday()`."""

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
        """The time zone; UTC if this computer does not know it."""
        return zone_of(self.zone)

    @property
    def text(self) -> str:
        """Return the schedule in words: "weekdays at 9:00"."""
        return f"{format_days(self.days)} at {format_time(self.at)}"

    @property
    def text_with_zone(self) -> str:
        """Return the schedule in words with its zone: "weekdays at 9:00 (Europe/Berlin)"."""
        return f"{self.text} ({self.tz.key})"


def zone_of(name: str) -> ZoneInfo:
    """Return the time zone with this name; UTC if this computer does not know it."""
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
"""An example of the arguments of `watch`."""


class DigestAction(StrEnum):
    """What an owner can do with an existing digest; the value is the word to type."""

    PAUSE = "pause"
    RESUME = "resume"
    DELETE = "delete"
    RUN = "run"


class Trigger(StrEnum):
    """Why a digest runs: it is due, it was due while the app did not run, or its owner asked for it."""

    SCHEDULED = "due"
    LATE = "late"
    MANUAL = "asked"


class State(StrEnum):
    """Whether a digest runs: the owner paused it, or the app stopped it."""

    ACTIVE = "active"
    PAUSED = "paused"
    STOPPED = "stopped"


@dataclass(frozen=True, kw_only=True)
class Owner:
    """A person in a workspace."""

    team_id: str
    user_id: str


@dataclass(frozen=True, kw_only=True)
class DigestSpec:
    """A digest as its owner asks for it.

    `topic` may be empty; `report_empty_on` are the days of the week on which it says that nothing is new. The
    schedule's zone is the owner's; it is empty as long as the command was only parsed.
    """

    category: str
    topic: str
    schedule: Schedule
    report_empty_on: frozenset[int] = frozenset()


@dataclass(frozen=True, kw_only=True)
class Digest:
    """A stored digest: `number` identifies it for its owner, `next_at` is None unless it is active.

    `runs` and `cost_usd` count the last 30 days; `unpriced` is how many finished runs have no known cost.
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
    """A digest was created. If `zone_known` is false, its owner's time zone is unknown and UTC is used."""

    digest: Digest
    zone_known: bool = True


@dataclass(frozen=True, kw_only=True)
class LimitReached:
    """The limit of digests is reached: of the owner, of the `channel`, or, if `share`, of the owner in the channel."""

    limit: int
    channel: bool
    share: bool = False


@dataclass(frozen=True, kw_only=True)
class DigestLimits:
    """How many digests a person and a channel may have; if either is 0, digests are `disabled`."""

    per_user: int
    per_channel: int

    @property
    def disabled(self) -> bool:
        """Whether digests are disabled; existing ones do not run."""
        return not (self.per_user and self.per_channel)

    def reached(self, *, of_owner: int, in_channel: int, of_owner_in_channel: int, direct: bool) -> LimitReached | None:
        """Return the limit that these numbers of digests have reached, if any.

        One person may have at most half of a channel's digests, rounded up, to leave some for others; this does not
        apply to a `direct` message.
        """
        share = (self.per_channel + 1) // 2
        if of_owner >= self.per_user:
            return LimitReached(limit=self.per_user, channel=False)
        if in_channel >= self.per_channel:
            return LimitReached(limit=self.per_channel, channel=True)
        if of_owner_in_channel >= share and not direct:
            return LimitReached(limit=share, channel=True, share=True)
        return None


@dataclass(frozen=True, kw_only=True)
class DigestList:
    """All digests of their owner, by number."""

    digests: Sequence[Digest]


@dataclass(frozen=True, kw_only=True)
class Updated:
    """The action was applied. `digest` is as it is now, or as it was before it was deleted."""

    action: DigestAction
    digest: Digest


@dataclass(frozen=True, kw_only=True)
class AlreadyRunning:
    """The digest is running already, so no other run was started."""

    digest: Digest


@dataclass(frozen=True, kw_only=True)
class DigestNotFound:
    """The owner has no digest with this number; `numbers` are the existing ones. A button has no number."""

    number: int | None = None
    numbers: Sequence[int] = ()


@dataclass(frozen=True, kw_only=True)
class NotOwner:
    """The digest of a button belongs to another person."""


DigestResult = Created | LimitReached | DigestList | Updated | AlreadyRunning | DigestNotFound | NotOwner


class DigestService(Protocol):
    """Creates and changes digests. Every method raises database errors."""

    @property
    def command_label(self) -> str:
        """What people type for the command: "/pplx watch"."""
        ...

    async def create(self, spec: DigestSpec, *, id: UUID, owner: Owner, channel_id: str) -> Created | LimitReached:
        """Create a digest that posts to a channel; the same `id` again is the same digest."""
        ...

    async def list_digests(self, owner: Owner) -> DigestList:
        """Return the digests of an owner."""
        ...

    async def apply(self, verb: DigestAction, number: int, *, owner: Owner, by: str) -> DigestResult:
        """Apply an action to the owner's digest with this number; `by` identifies the request."""
        ...

    async def apply_button(
        self, verb: DigestAction, id: UUID, *, user_id: str, teams: Collection[str], by: str
    ) -> DigestResult:
        """Apply the action of a button to its digest; only its owner may.

        `teams` are the ids by which Slack names the workspace of the click.
        """
        ...


_DAYS_AHEAD = range(8)
"""A week and the day of `after` itself, whose slot may be over."""


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


LATE_AFTER = timedelta(minutes=15)
"""A run that starts this long after its slot is marked as late."""

_RUN_TEXT = re.compile(r"(?P<id>\S+) (?P<why>\S+) (?P<first>\S+) (?P<slot>\S+) (?P<title>.*)", re.DOTALL)


@dataclass(frozen=True, kw_only=True)
class DigestRun:
    """One run of a digest for the moment `slot`. `title` is what the digest is about.

    `earliest_slot` is the first slot that the run covers: it is before `slot` if slots were missed.
    """

    digest_id: UUID
    trigger: Trigger
    earliest_slot: datetime
    slot: datetime
    title: str

    def trigger_at(self, now: datetime) -> Trigger:
        """Return the trigger if the run starts now: a scheduled run may be late by then."""
        return Trigger.LATE if self.trigger is Trigger.SCHEDULED and now - self.slot > LATE_AFTER else self.trigger

    @property
    def text(self) -> str:
        """Return the run as a question's text, which `parse_run` reads."""
        return f"{self.digest_id} {self.trigger} {self.earliest_slot.isoformat()} {self.slot.isoformat()} {self.title}"


def parse_run(text: str) -> DigestRun:
    """Parse the text of a run. Raises ValueError."""
    match = _RUN_TEXT.fullmatch(text)
    if match is None:
        raise ValueError("not a run of a digest")
    return DigestRun(
        digest_id=UUID(match["id"]),
        trigger=Trigger(match["why"]),
        earliest_slot=datetime.fromisoformat(match["first"]),
        slot=datetime.fromisoformat(match["slot"]),
        title=match["title"],
    )


@dataclass(frozen=True, kw_only=True)
class DigestReport:
    """The result of a run: `stories` are the new ones of the `summary`, `since` is when the last ones were posted.

    `summary` is None if no story was found. `cost_usd` is what the search cost, None if that is unknown. `slot` is when
    the run was due, `earliest_slot` the first slot that it covers. A report that is `suppressed` is not posted: its
    digest is deleted or paused, or cannot be posted.
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
        """Whether to post the report: it has news, its run is manual, or it covers a day of `report_empty_on`."""
        return not self.suppressed and (
            bool(self.stories) or self.trigger is Trigger.MANUAL or self._covers_reporting_day
        )

    @property
    def _covers_reporting_day(self) -> bool:
        """Whether a slot that the run covers, up to now, is on a day of `report_empty_on`."""
        schedule, slot = self.digest.spec.schedule, self.earliest_slot
        days = set(scheduled_days(schedule, slot))
        while (slot := next_slot(schedule, slot)) <= self.now:
            days |= scheduled_days(schedule, slot)
        return bool(days & self.digest.spec.report_empty_on)

    def with_stories(self, stories: Sequence[Story], *, since: datetime | None) -> DigestReport:
        """Return the report with the stories that are new since a moment."""
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
    """Return the start of the search: the last run, but at least a day and at most a month ago.

    A day even if the last run was an hour ago, because a run posts only its first stories.
    """
    return min(max(last_run_at or now, now - _MONTH), now - _DAY)
