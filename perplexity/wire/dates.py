"""The day of a page, as services and pages write it → ISO 8601, as far as it can be read. Pure.

https://en.wikipedia.org/wiki/ISO_8601#Dates
"""

from __future__ import annotations

import re
from datetime import date

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_NAMES = "january|february|march|april|june|july|august|september|sept|october|november|december"
_MONTH = rf"(?P<name>{_NAMES}|{'|'.join(_MONTHS)})\.?"
_YEAR = r"(?P<year>(?:1\d|2[01])\d\d)(?!\d)"
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?(?!\w)"
_LONGEST = 100
"""Characters that are looked at; the longest date has under fifty."""

_FORMS = tuple(
    re.compile(form, re.ASCII | re.IGNORECASE)
    for form in (
        rf"{_YEAR}(?:(?P<sign>[-/.])(?P<month>\d{{1,2}})(?!\d)(?:(?P=sign)(?P<day>\d{{1,2}})(?!\d))?)?",
        r"(?P<year>(?:1\d|2[01])\d\d)(?P<month>\d\d)(?P<day>\d\d)(?!\d)",
        rf"(?:[a-z]{{3,9}}\.?,? )?{_MONTH} {_DAY},? {_YEAR}",
        rf"(?:[a-z]{{3,9}}\.?,? )?{_DAY}(?: |\. |-)(?:of )?{_MONTH}(?:,? |-){_YEAR}",
        rf"{_MONTH},? {_YEAR}",
        rf"(?P<first>\d{{1,2}})(?P<sign>[-/.])(?P<second>\d{{1,2}})(?P=sign){_YEAR}",
    )
)


def iso_date(written: str) -> str | None:
    """Return `2024-01-05`, `2024-01` or `2024`, as far as a date or a timestamp at the beginning says; None for none.

    Which of 03/05/2024 is the month is known only if the other number cannot be one: else the year is what is kept.
    """
    text = " ".join(written[:_LONGEST].split())
    matches = (form.match(text) for form in _FORMS)
    return next((_iso(match.groupdict()) for match in matches if match), None)


def _iso(parts: dict[str, str | None]) -> str:
    year, month, day = int(parts["year"] or 0), _month(parts), int(parts.get("day") or 0)
    if parts.get("first"):
        month, day = _placed(int(parts["first"] or 0), int(parts["second"] or 0))
    if not 1 <= month <= 12:
        return f"{year:04}"
    try:
        return date(year, month, day).isoformat()
    except ValueError:
        return f"{year:04}-{month:02}"


def _month(parts: dict[str, str | None]) -> int:
    name = parts.get("name")
    return _MONTHS.index(name[:3].lower()) + 1 if name else int(parts.get("month") or 0)


def _placed(first: int, second: int) -> tuple[int, int]:
    """Return month and day of two numbers, zeros if either could be the month."""
    if first == second or second > 12:
        return first, second
    return (second, first) if first > 12 else (0, 0)
