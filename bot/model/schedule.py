"""Days of the week at a local time: the slots of a schedule.

If a clock change skips a local time, the first moment after the gap counts. If a local time occurs twice, its first
occurrence counts (https://peps.python.org/pep-0495/).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

DAY_NAMES = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
"""The days of the week in the order of `date.weekday()`."""


DAILY = frozenset(range(7))
WEEKDAYS = frozenset(range(5))
WEEKENDS = DAILY - WEEKDAYS

_ZONES = """
    Pacific/Honolulu America/Anchorage America/Los_Angeles America/Vancouver America/Phoenix America/Denver
    America/Edmonton America/Chicago America/Winnipeg America/Mexico_City America/Costa_Rica America/New_York
    America/Toronto America/Bogota America/Lima America/Panama America/Caracas America/La_Paz America/Santiago
    America/Halifax America/Puerto_Rico America/St_Johns America/Sao_Paulo America/Argentina/Buenos_Aires
    America/Montevideo Atlantic/Azores Atlantic/Cape_Verde UTC Europe/London Europe/Dublin Europe/Lisbon
    Africa/Casablanca Africa/Accra Africa/Lagos Africa/Algiers Africa/Tunis Europe/Madrid Europe/Paris
    Europe/Brussels Europe/Amsterdam Europe/Berlin Europe/Zurich Europe/Vienna Europe/Rome Europe/Prague
    Europe/Warsaw Europe/Budapest Europe/Belgrade Europe/Copenhagen Europe/Oslo Europe/Stockholm Europe/Helsinki
    Europe/Tallinn Europe/Riga Europe/Vilnius Europe/Kyiv Europe/Bucharest Europe/Sofia Europe/Athens
    Europe/Istanbul Africa/Cairo Africa/Johannesburg Africa/Nairobi Asia/Jerusalem Asia/Beirut Asia/Baghdad
    Asia/Riyadh Europe/Moscow Asia/Tehran Asia/Dubai Asia/Tbilisi Asia/Yerevan Asia/Kabul Asia/Karachi
    Asia/Tashkent Asia/Almaty Asia/Kolkata Asia/Colombo Asia/Kathmandu Asia/Dhaka Asia/Yangon Asia/Bangkok
    Asia/Jakarta Asia/Ho_Chi_Minh Asia/Singapore Asia/Kuala_Lumpur Asia/Manila Asia/Hong_Kong Asia/Shanghai
    Asia/Taipei Australia/Perth Asia/Seoul Asia/Tokyo Australia/Adelaide Australia/Brisbane Australia/Sydney
    Pacific/Auckland
"""
ZONES = tuple(_ZONES.split())
"""Time zones to choose from, from west to east: fewer than the 100 options that a menu allows."""


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """At least one day of the week (0 is Monday), a local time, and an IANA time zone such as Europe/Berlin."""

    days: frozenset[int]
    at: time
    zone: str

    @property
    def tz(self) -> ZoneInfo:
        """The time zone; UTC if this computer does not know it."""
        return zone_of(self.zone)


def zone_of(name: str) -> ZoneInfo:
    """Return the time zone with this name; UTC if this computer does not know it."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return ZoneInfo("UTC")


_DAYS_AHEAD = range(8)
"""The days to search for the next slot: today, whose slot may be over, and the seven days after."""


def next_slot(schedule: Schedule, after: datetime) -> datetime:
    """Return the first moment of the schedule later than `after`, in UTC. `after` must be aware."""
    tz = schedule.tz
    today = after.astimezone(tz).date()
    for ahead in _DAYS_AHEAD:
        day = today + timedelta(days=ahead)
        if day.weekday() in schedule.days and (slot := _moment(day, schedule, tz)) > after:
            return slot
    raise ValueError("a schedule needs a day of the week")


def scheduled_days(schedule: Schedule, slot: datetime) -> frozenset[int]:
    """Return the days of the week to which a slot of the schedule belongs.

    A slot that a clock change moved past midnight belongs to the day before; if a whole day was skipped, one slot
    belongs to two days. For a moment that is not a slot of the schedule, return its local day. `slot` must be aware.
    """
    shown = slot.astimezone(schedule.tz).date()
    days = {day.weekday() for day in (shown - timedelta(days=1), shown) if _moment(day, schedule, schedule.tz) == slot}
    return schedule.days & days or frozenset({shown.weekday()})


def latest_slot(schedule: Schedule, *, first: datetime, now: datetime) -> datetime:
    """Return the last moment of the schedule up to `now`; the search starts at `first`, a moment of the schedule."""
    slot = first
    while (following := next_slot(schedule, slot)) <= now:
        slot = following
    return slot


def _moment(day: date, schedule: Schedule, tz: ZoneInfo) -> datetime:
    wanted = datetime.combine(day, schedule.at)
    moment = wanted.replace(tzinfo=tz).astimezone(UTC)
    exists = moment.astimezone(tz).replace(tzinfo=None) == wanted
    return moment if exists else _after_gap(wanted, tz)


def _after_gap(wanted: datetime, tz: ZoneInfo) -> datetime:
    """Return the moment of the clock change that skips the local time `wanted`, to the second."""
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
