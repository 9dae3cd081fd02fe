"""Schedules in words, in the language of who reads them."""

from __future__ import annotations

from datetime import UTC, datetime, time

import pytest

from bot.features.digests.model import format_slot, text_with_zone
from bot.model.schedule import DAILY, WEEKDAYS, WEEKENDS, Schedule
from bot.translation import speaking


@pytest.mark.parametrize(
    ("days", "words", "german"),
    [
        (DAILY, "every day", "jeden Tag"),
        (WEEKDAYS, "weekdays", "montags bis freitags"),
        (WEEKENDS, "weekends", "am Wochenende"),
        (frozenset({0}), "Monday", "Montag"),
        (frozenset({0, 2, 3, 4}), "Monday, Wednesday to Friday", "Montag, Mittwoch bis Freitag"),
        (frozenset({0, 1, 6}), "Monday, Tuesday, Sunday", "Montag, Dienstag, Sonntag"),
    ],
)
def test_a_schedule_says_itself(days: frozenset[int], words: str, german: str) -> None:
    schedule = Schedule(days=days, at=time(9, 5), zone="Europe/Berlin")
    assert text_with_zone(schedule) == f"{words} at 9:05 (Europe/Berlin)"
    with speaking("de"):
        assert text_with_zone(schedule) == f"{german} um 9:05 Uhr (Europe/Berlin)"


def test_a_slot_is_a_moment_by_the_clock_of_the_schedule() -> None:
    tz, moment = Schedule(days=DAILY, at=time(9), zone="Europe/Berlin").tz, datetime(2026, 11, 23, 8, tzinfo=UTC)
    assert format_slot(moment, tz=tz) == "Monday, 23 November at 9:00"
    with speaking("de"):
        assert format_slot(moment, tz=tz) == "Montag, 23. November um 9:00 Uhr"
