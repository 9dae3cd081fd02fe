"""Which days pages may be of, to be news of the time that was asked for. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timedelta

from perplexity.filters import Filters, Recency

_LONG: dict[Recency, timedelta] = {
    "hour": timedelta(hours=1),
    "day": timedelta(days=1),
    "week": timedelta(weeks=1),
    "month": timedelta(days=31),
    "year": timedelta(days=366),
}
_WESTERNMOST = timedelta(hours=12)
"""A page is dated by its own zone, and there it may still be the day before."""


@dataclass(frozen=True, kw_only=True)
class Span:
    """The days from `first` to `last`, both included; None leaves an end open."""

    first: date | None = None
    last: date | None = None

    def __contains__(self, day: date) -> bool:
        return (self.first is None or self.first <= day) and (self.last is None or day <= self.last)


ALWAYS = Span()


def after(moment: datetime) -> date:
    """Return the day `after` which to search, for what is news since a moment (in UTC).

    It is the day before: whether the named day counts, services do not say, and a page is dated by its own zone.
    """
    return moment.date() - timedelta(days=1)


def span_of(filters: Filters, *, now: datetime) -> Span:
    """Return the days that the filters allow at this moment (in UTC)."""
    if filters.recency:
        return Span(first=(now - _LONG[filters.recency] - _WESTERNMOST).date())
    return Span(first=filters.after, last=filters.before)
