"""The next slot: every local time once, whatever the clocks do."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.model.schedule import DAILY, WEEKDAYS, WEEKENDS, Schedule, latest_slot, next_slot, scheduled_days

ZONES = (
    "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Africa/Cairo", "America/Santiago", "Asia/Kolkata",
    "Pacific/Apia", "America/St_Johns", "America/Nuuk", "Asia/Gaza", "UTC",
)  # fmt: skip


def schedule(zone: str = "Europe/Berlin", at: str = "9:00", *, days: frozenset[int] = DAILY) -> Schedule:
    hour, minute = map(int, at.split(":"))
    return Schedule(days=days, at=time(hour, minute), zone=zone)


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("when", "after", "slot"),
    [
        (schedule(), "2026-11-21 07:59", "2026-11-21 08:00"),
        (schedule(), "2026-11-21 08:00", "2026-11-22 08:00"),
        (schedule(days=WEEKDAYS), "2026-11-20 08:00", "2026-11-23 08:00"),
        (schedule(days=WEEKENDS), "2026-11-22 08:00", "2026-11-28 08:00"),
        (schedule(days=frozenset({2})), "2026-11-25 08:00", "2026-12-02 08:00"),
        # The day is the zone's: Monday morning in Kolkata is Sunday evening in UTC.
        (schedule("Asia/Kolkata", "0:30", days=frozenset({0})), "2026-11-21 12:00", "2026-11-22 19:00"),
        # Berlin skips 2:00 to 3:00 on 29 March 2026 ...
        (schedule(at="2:30"), "2026-03-28 12:00", "2026-03-29 01:00"),
        (schedule(at="2:30"), "2026-03-29 01:00", "2026-03-30 00:30"),
        (schedule(at="9:00"), "2026-03-28 12:00", "2026-03-29 07:00"),
        # ... and has 2:00 to 3:00 twice on 25 October.
        (schedule(at="2:30"), "2026-10-24 12:00", "2026-10-25 00:30"),
        (schedule(at="2:30"), "2026-10-25 00:30", "2026-10-26 01:30"),
        # Lord Howe's clocks jump by half an hour, Cairo's and Santiago's at midnight.
        (schedule("Australia/Lord_Howe", "2:15"), "2026-10-03 12:00", "2026-10-03 15:30"),
        (schedule("Africa/Cairo", "0:30"), "2026-04-23 12:00", "2026-04-23 22:00"),
        (schedule("America/Santiago", "0:00"), "2026-09-05 12:00", "2026-09-06 04:00"),
        # Nuuk's jump from 23:00 into the next day, and fall back from there.
        (schedule("America/Nuuk", "23:30", days=frozenset({5})), "2026-03-28 12:00", "2026-03-29 01:00"),
        (schedule("America/Nuuk", "23:30"), "2026-03-29 01:00", "2026-03-30 00:30"),
        (schedule("America/Nuuk", "23:30"), "2026-10-24 12:00", "2026-10-25 00:30"),
        (schedule("America/Nuuk", "23:30"), "2026-10-25 00:30", "2026-10-26 01:30"),
        # Samoa had no 30 December 2011: what belonged there and what belongs to midnight after it are one moment.
        (schedule("Pacific/Apia", "0:00"), "2011-12-29 11:00", "2011-12-30 10:00"),
        (schedule("Pacific/Apia", "0:00"), "2011-12-30 10:00", "2011-12-31 10:00"),
    ],
)
def test_the_next_slot_is_the_first_one_later(when: Schedule, after: str, slot: str) -> None:
    assert next_slot(when, utc(after)) == utc(slot)


schedules = st.builds(
    Schedule,
    days=st.frozensets(st.integers(0, 6), min_size=1),
    at=st.times().map(lambda at: at.replace(second=0, microsecond=0)),
    zone=st.sampled_from(ZONES),
)
moments = st.datetimes(datetime(2024, 1, 1), datetime(2032, 1, 1)).map(lambda moment: moment.replace(tzinfo=UTC))


@given(schedules, moments)
def test_a_slot_is_later__on_a_day_of_the_schedule__and_nothing_of_the_schedule_lies_between(
    when: Schedule, after: datetime
) -> None:
    slot = next_slot(when, after)

    assert slot > after
    assert slot - after <= timedelta(days=8, hours=2)
    assert slot.second == slot.microsecond == 0
    # A slot that was put off lies less than three hours behind its time, which may be past midnight.
    assert {slot.astimezone(when.tz).weekday(), (slot - timedelta(hours=3)).astimezone(when.tz).weekday()} & when.days
    early = after + (slot - after) / 2
    assert next_slot(when, early) == slot


@given(schedules, moments)
def test_a_slot_belongs_to_days_of_the_schedule(when: Schedule, after: datetime) -> None:
    days = scheduled_days(when, next_slot(when, after))

    assert days
    assert days <= when.days


@pytest.mark.parametrize(
    ("when", "slot", "days"),
    [
        (schedule(), "2026-11-21 08:00", {5}),
        (schedule("Asia/Kolkata", "0:30"), "2026-11-22 19:00", {0}),
        # Put off from 23:30 on Saturday to the first moment of Sunday.
        (schedule("America/Nuuk", "23:30"), "2026-03-29 01:00", {5}),
        (schedule("America/Nuuk", "0:00"), "2026-03-29 01:00", {6}),
        # Samoa's skipped Friday and the Saturday after it.
        (schedule("Pacific/Apia", "0:00"), "2011-12-30 10:00", {4, 5}),
        (schedule("Pacific/Apia", "0:00", days=frozenset({4})), "2011-12-30 10:00", {4}),
        # No slot of this schedule.
        (schedule(), "2026-11-21 08:01", {5}),
    ],
)
def test_the_days_that_a_slot_belongs_to(when: Schedule, slot: str, days: set[int]) -> None:
    assert scheduled_days(when, utc(slot)) == days


@given(schedules, moments)
def test_every_local_day_of_the_schedule_has_one_slot(when: Schedule, begin: datetime) -> None:
    end = begin + timedelta(days=60)
    slots, slot = [], begin
    while (slot := next_slot(when, slot)) <= end:
        slots.append(slot)

    assert slots == sorted(set(slots))
    # The first day's may be over, and the last day's still to come.
    assert 0 <= _days_between(begin, end, when) - len(slots) <= 2


def _days_between(begin: datetime, end: datetime, when: Schedule) -> int:
    first: date = begin.astimezone(when.tz).date()
    days = (end.astimezone(when.tz).date() - first).days
    return sum((first + timedelta(days=offset)).weekday() in when.days for offset in range(days + 1))


@given(schedules, moments)
def test_a_slot_shows_the_wanted_time_wherever_the_clock_has_it(when: Schedule, after: datetime) -> None:
    slot = next_slot(when, after)
    local = slot.astimezone(when.tz)

    jumped = (slot - timedelta(seconds=1)).astimezone(when.tz).utcoffset() != local.utcoffset()
    assert jumped or local.time() == when.at
    assert local.fold == 0 or jumped


def test_what_was_missed_is_caught_up_with_its_last_slot() -> None:
    first = utc("2026-11-16 08:00")

    assert latest_slot(schedule(), first=first, now=utc("2026-11-20 12:00")) == utc("2026-11-20 08:00")
    assert latest_slot(schedule(), first=first, now=first) == first


@pytest.mark.parametrize("zone", ["Nowhere/At_All", "", "../etc/passwd", "Europe/" + "x" * 300])
def test_an_unknown_time_zone_is_utc(zone: str) -> None:
    assert schedule(zone).tz == ZoneInfo("UTC")
