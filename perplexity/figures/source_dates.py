"""Reads the dates, times and durations in a source's text, the source's own date and the date in its address."""

from __future__ import annotations

import re
from decimal import Decimal
from functools import cached_property

from perplexity.figures.dates import (
    CLOCK_TIME,
    COLONS,
    PartialDate,
    WrittenDate,
    all_durations,
    find_dates,
    find_worded_times,
    minutes_of,
)
from perplexity.figures.matching import contains
from perplexity.lexicon.numbers import DECADES
from perplexity.types import Source

_DATE_IN_ADDRESS = re.compile(r"[/_-]((?:19|20)\d\d)[/_-]?(0[1-9]|1[0-2])(?:[/_-]?([0-3]\d))?(?!\d)")
_ISO_DATE = re.compile(r"(\d{4})(?:-(\d\d)(?:-(\d\d))?)?")
_TWO_YEARS = re.compile(r"(?<!\d)([12]\d{3})(?:[/–]|-(?=1[3-9]|[2-9]))(\d\d)(?!\d)")
_TIME_WORDS = re.compile(r"\b(?:noon|midnight|mitternacht)\b")
_WRITTEN_YEAR = re.compile(r"(?<!\d)\d{4}(?!\d)")
_EDGES: dict[tuple[int | None, int | None], tuple[str, ...]] = {
    (12, 31): ("end of", "ende", "ende des jahres", "jahresende", "year-end", "through", "until", "bis"),
    (1, 1): ("start of", "beginning of", "anfang", "beginn des jahres", "from", "since", "ab", "seit"),
}
"""Words, in lower case, that mean a day of the year that follows them. A key is the month and the day."""

_CENTURIES = ("th century", "th-century", "st century", ". jahrhundert")
_DAY_ALONE = re.compile(r"(?<![\w.,])([0-3]?\d)(?:\.(?=\s)|st|nd|rd|th)(?!\w)")
_ORDINALS = {
    1: ("first", "1st", "erste", "1. "), 2: ("second", "2nd", "zweite", "2. "), 3: ("third", "3rd", "dritte", "3. "),
    4: ("fourth", "4th", "vierte", "4. "),
}  # fmt: skip
_PARTS = {"Q": ("quarter", "quartal", "three months", "drei monate"), "H": ("half", "halbjahr", "six months")}


class SourceDates:
    """The dates, times and durations of a source, each kind read when a figure first needs it."""

    def __init__(self, source: Source, text: str, lower: str) -> None:
        self.text = text
        self._lower = lower
        self._source = source

    def has_year(self, year: int) -> bool:
        """Return whether the source has a year, alone, shortened as in "'24", or as part of a date."""
        short = [f"{mark}{year % 100:02}" for mark in "'’"]
        return contains(self.text, str(year)) or year in self.years or any(one in self.text for one in short)

    def has_duration(self, seconds: frozenset[Decimal]) -> bool:
        """Return whether the text has one of these durations, in seconds."""
        return not self.durations.isdisjoint(seconds)

    def has_time(self, minutes: tuple[int, ...], *, within: int = 0) -> bool:
        """Return whether the text has one of these times of day, or a time at most `within` minutes away from one.

        The times of day are in minutes since midnight.
        """
        return any(abs(time - one) <= within for time in self._times for one in minutes)

    def has_decade(self, written: str) -> bool:
        """Return whether the text has a decade or a year of the decade; `written` is "1990" or "90" for the 1990s."""
        if any(contains(self.text, one) for one in (written, *(f"{written[-2:]}{end}" for end in ("s", "er", "ern")))):
            return True
        tens = int(f"{written[-2]}0") if written[:2] not in {"18", "20"} else 0
        words = [word for word, number in DECADES.items() if number == tens]
        if written.endswith("00"):
            words += [f"{int(written[:2]) + 1}{end}" for end in _CENTURIES]
        first = written[: 2 if written.endswith("00") else 3]
        begun = (first,) if len(written) > 2 else tuple(f"{century}{written[0]}" for century in ("18", "19", "20"))
        return any(word in self._lower for word in words) or any(year.startswith(begun) for year in self._written_years)

    def has_century(self, number: int) -> bool:
        """Return whether the text has a century, as its number or as in "1800s", or a year of the century."""
        first = f"{number - 1:02}"
        is_said = contains(self.text, str(number)) or contains(self.text, f"{first}00s")
        return is_said or any(year.startswith(first) for year in self._written_years)

    def has(self, partial: PartialDate) -> bool:
        """Return whether the text, the source's date or the source's address has this date.

        The date may be written without its year if the source has the year elsewhere, or has no year at all. It may
        also be written as in `_EDGES`, or as a period that `_wider` returns.
        """
        if partial in self._partials:
            return True
        if not (partial.part and any(other.part for other in self._partials)) and _wider(partial) & self._partials:
            return True
        if partial.year is None:
            return self._has_part_of(partial)
        if partial.month is None and not partial.part:
            return self.has_year(partial.year)
        if any(f"{edge} {partial.year}" in self._lower for edge in _EDGES.get((partial.month, partial.day), ())):
            return True
        yearless = PartialDate(None, *partial[1:])
        is_said = yearless in self._yearless or self._has_part_of(yearless)
        has_years = bool(self.years) or any("1900" <= year < "2100" for year in self._written_years)
        # If no year of the source is known, the year of the date cannot be checked.
        return is_said and (self.has_year(partial.year) or not has_years)

    def _has_part_of(self, partial: PartialDate) -> bool:
        """Return whether the text has the parts of a date apart from each other, such as a month and "am 20."."""
        if partial.part:
            ordinals, name = _ORDINALS[int(partial.part[1])], _PARTS[partial.part[0]]
            return any(part in self._lower for part in name) and any(f" {one}" in self._lower for one in ordinals)
        days = {int(day) for day in _DAY_ALONE.findall(self.text)}
        return PartialDate(None, partial.month) in self._partials and partial.day in days

    def counts_months(self, count: Decimal) -> bool:
        """Return whether the text says a number of months as "9M", a quarter, half a year or a range of months."""
        part = {3: "Q", 6: "H"}.get(int(count))
        if contains(self.text, f"{count}M") or any(partial.part[:1] == part for partial in self._partials):
            return True
        ends = [(date.readings[0], date.readings[-1]) for date in self._dates if date.is_range]
        return any(
            not first.day and first.month and last.month and last.month - first.month + 1 == count
            for first, last in ends
        )

    def is_in_date(self, place: int) -> bool:
        """Return whether a place of the text is inside a date."""
        return any(date.start <= place < date.end for date in self._dates)

    @cached_property
    def _dates(self) -> list[WrittenDate]:
        return find_dates(self.text, bare_months=True)

    @cached_property
    def _partials(self) -> frozenset[PartialDate]:
        """The dates of the text, the source and its address; each also without day, without year, and without both."""
        partials = [partial for date in self._dates for partial in date.readings]
        written = [_ISO_DATE.match(date) for date in (self._source.date, self._source.last_updated) if date]
        for match in (*written, _DATE_IN_ADDRESS.search(self._source.url)):
            if match:
                year, month, day = [int(part) if part else None for part in match.groups()]
                partials.append(PartialDate(year, month, day))
        dated = {*partials, *[PartialDate(year, month, None, part) for year, month, _, part in partials]}
        return frozenset(dated | {PartialDate(None, month, day, part) for _, month, day, part in dated})

    @cached_property
    def _yearless(self) -> frozenset[PartialDate]:
        """The dates that the text has without a year; each also without its day."""
        partials = [partial for date in self._dates for partial in date.readings if partial.year is None]
        return frozenset([*partials, *[PartialDate(None, month, None, part) for _, month, _, part in partials]])

    @cached_property
    def years(self) -> frozenset[int]:
        """The years of dates, and the second years of pairs such as "2023/24"."""
        seconds = [one[1][:2] + one[2] for one in _TWO_YEARS.finditer(self.text) if one[1][2:] < one[2]]
        return frozenset(partial.year for partial in self._partials if partial.year is not None).union(
            map(int, seconds)
        )

    @cached_property
    def _times(self) -> frozenset[int]:
        times = {minutes for match in CLOCK_TIME.finditer(self.text) for minutes in minutes_of(match)}
        for match in _TIME_WORDS.findall(self._lower):
            times |= {720} if match == "noon" else {0, 1440}
        times.update(one for _, _, minutes in find_worded_times(self._lower) for one in minutes)
        return frozenset(times)

    @cached_property
    def durations(self) -> frozenset[Decimal]:
        """The durations of the text in seconds: each exact, and also truncated and rounded to whole seconds."""
        durations = all_durations(self.text)
        return durations | {Decimal(int(one)) for one in durations} | {Decimal(round(one)) for one in durations}

    @cached_property
    def clock_parts(self) -> frozenset[int]:
        """The numbers in times and durations such as "2:41"."""
        parts = [part for written in COLONS.findall(self.text) for part in written.replace(",", ".").split(":")]
        return frozenset(int(float(part)) for part in parts)

    @cached_property
    def _written_years(self) -> frozenset[str]:
        return frozenset(_WRITTEN_YEAR.findall(self.text))


def _wider(partial: PartialDate) -> set[PartialDate]:
    """Return the quarter and the half-year of a month, or the last month of a quarter; empty for any other date."""
    year, month, day, part = partial
    if part.startswith("Q"):
        return {PartialDate(year, 3 * int(part[1]))}
    if month is None or day is not None:
        return set()
    return {PartialDate(year, part=f"Q{(month + 2) // 3}"), PartialDate(year, part=f"H{(month + 5) // 6}")}
