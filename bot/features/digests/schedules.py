"""Schedules in words."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from datetime import datetime
from itertools import groupby
from zoneinfo import ZoneInfo

from babel.dates import format_datetime, get_day_names

from bot.model.membership import current_scope
from bot.model.schedule import DAILY, WEEKDAYS, WEEKENDS, Schedule
from bot.translation import N_
from bot.translation import gettext as _

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
