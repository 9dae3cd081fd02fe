"""Turns a service's search results into sources, without I/O: each page once, with a number of its own.

Dates are written as in ISO 8601: https://en.wikipedia.org/wiki/ISO_8601#Dates
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import count

from perplexity.types import JSON, Source
from perplexity.wire.json import as_count, as_text

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_NAMES = "january|february|march|april|june|july|august|september|sept|october|november|december"
_MONTH = rf"(?P<name>{_NAMES}|{'|'.join(_MONTHS)})\.?"
_YEAR = r"(?P<year>(?:1\d|2[01])\d\d)(?!\d)"
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?(?!\w)"
_LONGEST = 100
"""The most characters of a text that are read; the longest date has fewer than fifty."""

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
    """Return the date at the beginning of a text as `2024-01-05`, `2024-01` or `2024`; None if there is none.

    In 03/05/2024, either number may be the month, so only the year is returned. In 13/05/2024, the month is certain.
    """
    text = " ".join(written[:_LONGEST].split())
    matches = (form.match(text) for form in _FORMS)
    return next((_iso(match.groupdict()) for match in matches if match), None)


def _iso(parts: dict[str, str | None]) -> str:
    year, month, day = int(parts["year"] or 0), _month(parts), int(parts.get("day") or 0)
    if parts.get("first"):
        month, day = _month_and_day(int(parts["first"] or 0), int(parts["second"] or 0))
    if not 1 <= month <= 12:
        return f"{year:04}"
    try:
        return date(year, month, day).isoformat()
    except ValueError:
        return f"{year:04}-{month:02}"


def _month(parts: dict[str, str | None]) -> int:
    name = parts.get("name")
    return _MONTHS.index(name[:3].lower()) + 1 if name else int(parts.get("month") or 0)


def _month_and_day(first: int, second: int) -> tuple[int, int]:
    """Return the month and the day of two numbers; zeros if they differ and either could be the month."""
    if first == second or second > 12:
        return first, second
    return (second, first) if first > 12 else (0, 0)


_SHORT = 100
"""The most pages of a short list; no service returns so many in one answer."""


def merge(results: Iterable[Mapping[str, JSON]], *, by_id: bool = True) -> tuple[Source, ...]:
    """Return one source for each page in the results, in the order in which the pages first appear.

    The number of a source is the first `id` that the service gave the page, to which the markers in the text refer; the
    page's other ids are its aliases. A page without an id gets its position as its number, or an unused number if that
    is taken, so that no marker shows the wrong page. Fields missing from a page's first entry are taken from later
    ones. Without `by_id`, ids are ignored, and every number is a position.
    """
    pages = _by_url(results)
    if not by_id:
        return tuple([_source(url, page, number, ()) for number, (url, page) in enumerate(pages.items(), start=1)])
    ids = {url: _ids(entries) for url, entries in pages.items()}
    claimed = {own[0] for own in ids.values() if own}
    used: set[int] = set()
    sources = []
    free = 1
    for position, (url, entries) in enumerate(pages.items(), start=1):
        own = ids[url]
        number = own[0] if own else None if position in claimed else position
        if number is None or number in used:
            # The search for an unused number continues from the last one found: positions increase, and a used number
            # stays used.
            free = number = next(n for n in count(max(free, position)) if n not in claimed and n not in used)
        used.add(number)
        aliases = tuple(alias for alias in own[1:] if alias not in claimed and alias not in used)
        claimed.update(aliases)
        sources.append(_source(url, entries, number, aliases))
    return tuple(sources)


@dataclass
class MergeSchedule:
    """Says when to merge a list that grows with every event of a stream.

    A short list is merged after each event. A long list is merged when it has grown by a tenth, since merging takes
    time in proportion to its length and there may be thousands of events. At the end of the stream, the reader merges a
    list that has grown since. `merged` is the length of the list when it was last merged.
    """

    merged: int = 0

    def is_due(self, length: int) -> bool:
        """Return whether to merge a list of this length now; if so, record that it was merged."""
        enough = length <= _SHORT or length - self.merged >= self.merged // 10
        if enough:
            self.merged = length
        return enough


def _by_url(results: Iterable[Mapping[str, JSON]]) -> dict[str, list[Mapping[str, JSON]]]:
    pages: dict[str, list[Mapping[str, JSON]]] = {}
    for page in results:
        url = as_text(page.get("url")).strip()
        if url[:8].lower().startswith(("https://", "http://")):
            pages.setdefault(url, []).append(page)
    return pages


def _ids(entries: Sequence[Mapping[str, JSON]]) -> list[int]:
    """Return the ids that a page was given, each once."""
    given = [as_count(entry.get("id")) for entry in entries]
    return list(dict.fromkeys(number for number in given if number is not None))


def _source(url: str, entries: Sequence[Mapping[str, JSON]], number: int, aliases: tuple[int, ...]) -> Source:
    page = _first_texts(entries)
    return Source(
        number=number,
        title=" ".join(page["title"].split()) or url,
        url=url,
        snippet=page["snippet"],
        date=iso_date(page["date"]),
        last_updated=iso_date(page["last_updated"]),
        aliases=aliases,
    )


def load_source(saved: Mapping[str, JSON]) -> Source:
    """Return the source that was saved as a JSON object."""
    aliases = saved.get("aliases")
    return Source(
        number=as_count(saved.get("number")) or 0,
        title=as_text(saved.get("title")),
        url=as_text(saved.get("url")),
        snippet=as_text(saved.get("snippet")),
        date=as_text(saved.get("date")) or None,
        last_updated=as_text(saved.get("last_updated")) or None,
        aliases=tuple(one for one in aliases if as_count(one) is not None) if isinstance(aliases, list) else (),
    )


def _first_texts(entries: Sequence[Mapping[str, JSON]]) -> dict[str, str]:
    """Return, for each field, the first text that an entry has."""
    found: dict[str, str] = {}
    for entry in entries:
        for name in ("title", "snippet", "date", "last_updated"):
            if not found.get(name):
                found[name] = as_text(entry.get(name))
    return found
