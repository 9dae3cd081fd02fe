"""The moments at which a schedule comes due. Pure.

A local time that a change of the clocks skips is made up for at the first moment after it; one that occurs twice counts
the first time (https://peps.python.org/pep-0495/ says how Python tells the two apart).
"""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

from bot.digests.schedule import Schedule

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
