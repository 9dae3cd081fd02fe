"""Days of the week, times of day and schedules in words."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, time

DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
"""The days of the week in the order of `date.weekday()`."""

EVERY_DAY = "every day"
WEEKDAYS = "weekdays"
WEEKENDS = "weekends"

SINCE_YESTERDAY = "since yesterday"


def time_of_day(at: time) -> str:
    """Return a time of day as "9:00"."""
    return f"{at.hour}:{at.minute:02}"


def day_range(first: int, last: int) -> str:
    """Return three days or more in a row: "Monday to Friday"."""
    return f"{DAYS[first]} to {DAYS[last]}"


def list_days(days: Sequence[str]) -> str:
    """Return several days and ranges of days: "Monday, Wednesday to Friday"."""
    return ", ".join(days)


def days_at(days: str, at: time) -> str:
    """Return a schedule: "weekdays at 9:00"."""
    return f"{days} at {time_of_day(at)}"


def in_zone(schedule: str, zone: str) -> str:
    """Return a schedule with its time zone: "weekdays at 9:00 (Europe/Berlin)"."""
    return f"{schedule} ({zone})"


def slot(local: datetime) -> str:
    """Return a moment by the clock that it has: "Monday, 23 November at 9:00"."""
    return f"{DAYS[local.weekday()]}, {_day_and_month(local)} at {time_of_day(local.time())}"


def since_today(at: time, zone: str) -> str:
    """Return a moment of today: "since 9:00 today (Europe/Berlin)"."""
    return f"since {time_of_day(at)} today ({zone})"


def since_weekday(day: int) -> str:
    """Return a day of the last week: "since Tuesday"."""
    return f"since {DAYS[day]}"


def since_day(day: date) -> str:
    """Return a day before that: "since 7 October"."""
    return f"since {_day_and_month(day)}"


def _day_and_month(day: date) -> str:
    return f"{day.day} {day:%B}"
