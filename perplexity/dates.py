"""Days in words. Pure."""

from __future__ import annotations

from datetime import date

MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def day_in_words(day: date) -> str:
    """Return a day as "7 Oct 2025"."""
    return f"{day.day} {MONTHS[day.month - 1]} {day.year}"
