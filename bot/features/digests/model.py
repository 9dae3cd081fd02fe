"""Digests as values, and in words: requests of owners, results of actions, runs with their reports, schedules."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import groupby
from uuid import UUID
from zoneinfo import ZoneInfo

from babel.dates import format_datetime, get_day_names

from bot.model.membership import current_scope
from bot.model.schedule import DAILY, WEEKDAYS, WEEKENDS, Schedule, next_slot, scheduled_days
from bot.translation import N_, dated
from bot.translation import gettext as _
from perplexity.filters import NO_FILTERS, Filters
from perplexity.news.stories import Story
from perplexity.news.summary import NewsSummary

CATEGORY_NAMES = (
    N_("World"), N_("Business"), N_("Technology"), N_("Science"), N_("Health"), N_("Sports"), N_("Entertainment"),
    N_("Politics"),
)  # fmt: skip
"""The news categories with a capital letter, listed here so that their names are translated."""


class DigestAction(StrEnum):
    """An owner's actions on an existing digest; the value is the word to type."""

    PAUSE = "pause"
    RESUME = "resume"
    DELETE = "delete"
    RUN = "run"


class Trigger(StrEnum):
    """Why a digest runs: on time, after a missed time, or at its owner's request."""

    SCHEDULED = "due"
    LATE = "late"
    MANUAL = "asked"


class State(StrEnum):
    """Whether a digest runs on its schedule, was paused by its owner, or was stopped by an admin or the app."""

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
    """A digest as its owner requests it.

    `category` or `topic` may be empty. On the days of the week in `report_empty_on`, the digest also reports that
    nothing is new. If the owner names no zone, the schedule's zone is empty until the owner's time zone has been looked
    up.
    """

    category: str
    topic: str
    schedule: Schedule
    report_empty_on: frozenset[int] = frozenset()


@dataclass(frozen=True, kw_only=True)
class Digest:
    """A stored digest. `number` identifies it for its owner; `next_at` is None unless the digest is active.

    `runs` is the number of runs in the last 30 days. `unpriced` is the number of these runs that are finished and have
    no known cost. `cost_usd` is the known cost of these runs, None if there is none. `failed` is whether the last
    finished run failed.
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
    failed: bool = False

    @property
    def title(self) -> str:
        """The category and topic: "Technology: open source databases"."""
        return ": ".join(filter(None, (_(self.spec.category.capitalize()), self.spec.topic)))


@dataclass(frozen=True, kw_only=True)
class Created:
    """A digest was created. If `zone_known` is false, its owner's time zone is unknown and UTC is used."""

    digest: Digest
    zone_known: bool = True


@dataclass(frozen=True, kw_only=True)
class LimitReached:
    """There can be no further digest: the owner has reached `limit`, the most digests that one person may have.

    With `channel`, `limit` is the most digests that the channel may have. With `share`, it is the most digests that one
    person may have in the channel. A `limit` of 0 means that digests are disabled.
    """

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
        """Whether digests are disabled; existing digests then do not run."""
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
    """The owner has no digest with this `number`; `numbers` are the numbers of the digests that the owner has.

    `number` is None if the digest of a button was deleted.
    """

    number: int | None = None
    numbers: Sequence[int] = ()


@dataclass(frozen=True, kw_only=True)
class NotOwner:
    """The digest of a button belongs to another person."""


DigestResult = Created | LimitReached | DigestList | Updated | AlreadyRunning | DigestNotFound | NotOwner


LATE_AFTER = timedelta(minutes=15)
"""How long after its slot a run may start without being marked as late."""

_RUN_TEXT = re.compile(r"(?P<id>\S+) (?P<why>\S+) (?P<first>\S+) (?P<slot>\S+) (?P<title>.*)", re.DOTALL)


@dataclass(frozen=True, kw_only=True)
class DigestRun:
    """One run of a digest for the moment `slot`. `title` is the digest's category and topic.

    `earliest_slot` is the first slot that the run covers; it is before `slot` if slots were missed. The `filters` come
    from the settings of the digest's owner and channel.
    """

    digest_id: UUID
    trigger: Trigger
    earliest_slot: datetime
    slot: datetime
    title: str
    filters: Filters = NO_FILTERS

    def trigger_at(self, now: datetime) -> Trigger:
        """Return the trigger of a run that starts now; a scheduled run may be late."""
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
    """The result of a run. `stories` are the new stories of the `summary` that the report posts.

    `since` is when the digest last posted stories, None if it has posted none. `summary` is None if no story was found.
    `cost_usd` is the cost of the search, None if unknown. `slot` is when the run was due, `earliest_slot` the first
    slot that it covers. A `suppressed` report is not posted: its digest was deleted or paused, or cannot be posted.
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


def format_since(moment: datetime, *, now: datetime, tz: ZoneInfo) -> str:
    """Return text such as "since Tuesday".

    For a moment today, it has the time and the zone; for a moment a week ago or earlier, the date.
    """
    then = moment.astimezone(tz)
    days = (now.astimezone(tz).date() - then.date()).days
    if days < 1:
        return _("since {time} today ({zone})").format(time=f"{then:%-H:%M}", zone=tz.key)
    if days == 1:
        return _("since yesterday")
    if days < 7:
        return _("since {day}").format(day=dated(then, "EEEE"))
    # The pattern is one of Babel: https://babel.pocoo.org/en/latest/dates.html
    return _("since {date}").format(date=dated(then, _("d MMMM")))


_DAY_SET_NAMES = {DAILY: N_("every day"), WEEKDAYS: N_("weekdays"), WEEKENDS: N_("weekends")}


def schedule_text(schedule: Schedule) -> str:
    """Return a schedule in words: "weekdays at 9:00"."""
    return _("{days} at {time}").format(days=format_days(schedule.days), time=f"{schedule.at:%-H:%M}")


def text_with_zone(schedule: Schedule) -> str:
    """Return a schedule in words with its zone: "weekdays at 9:00 (Europe/Berlin)"."""
    return f"{schedule_text(schedule)} ({schedule.tz.key})"


def format_days(days: Collection[int]) -> str:
    """Return days of the week as "weekdays", or "Monday, Wednesday to Friday"."""
    return _(_DAY_SET_NAMES.get(frozenset(days), "")) or ", ".join(_day_ranges(sorted(days)))


def format_slot(moment: datetime, *, tz: ZoneInfo) -> str:
    """Return a moment by a zone's clock: "Monday, 23 November at 9:00"."""
    # The text is a pattern of Babel: https://babel.pocoo.org/en/latest/dates.html
    return format_datetime(moment, _("EEEE, d MMMM 'at' H:mm"), tzinfo=tz, locale=current_scope().language)


def _day_ranges(days: list[int]) -> Iterator[str]:
    """Yield the days, three or more in a row as a range."""
    names = get_day_names("wide", locale=current_scope().language)
    for __, run in groupby(enumerate(days), key=lambda place: place[1] - place[0]):
        in_row = [names[day] for _place, day in run]
        if len(in_row) > 2:
            yield _("{first} to {last}").format(first=in_row[0], last=in_row[-1])
        else:
            yield from in_row
