"""When a digest runs: on which days of the week, at what time, by whose clock."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import datetime, time
from itertools import groupby
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
"""A day of the week is its place in this list, as `date.weekday()` counts."""

DAILY = frozenset(range(7))
WEEKDAYS = frozenset(range(5))
WEEKENDS = DAILY - WEEKDAYS

_NAMED = {DAILY: "every day", WEEKDAYS: "weekdays", WEEKENDS: "weekends"}


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
    def words(self) -> str:
        """Return it as people say it: "weekdays at 9:00"."""
        return f"{days_in_words(self.days)} at {clock(self.at)}"

    @property
    def words_with_zone(self) -> str:
        """Return it with whose clock that is by: "weekdays at 9:00 (Europe/Berlin)"."""
        return f"{self.words} ({self.tz.key})"


def zone_of(name: str) -> ZoneInfo:
    """Return the rules of a zone; those of UTC, which say their name, for one that this computer does not know."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return ZoneInfo("UTC")


def clock(at: time) -> str:
    """Return a time of day as "9:00"."""
    return f"{at.hour}:{at.minute:02}"


def days_in_words(days: Collection[int]) -> str:
    """Return days of the week as "weekdays", or "Monday, Wednesday to Friday"."""
    return _NAMED.get(frozenset(days)) or ", ".join(_runs(sorted(days)))


def moment_in_words(moment: datetime, *, tz: ZoneInfo) -> str:
    """Return a moment by a zone's clock: "Monday, 23 November at 9:00"."""
    local = moment.astimezone(tz)
    return f"{DAYS[local.weekday()]}, {local.day} {local:%B} at {clock(local.time())}"


def _runs(days: list[int]) -> Iterator[str]:
    """Yield the days, three or more in a row as a range."""
    for _, run in groupby(enumerate(days), key=lambda place: place[1] - place[0]):
        names = [DAYS[day] for _, day in run]
        if len(names) > 2:
            yield f"{names[0]} to {names[-1]}"
        else:
            yield from names
