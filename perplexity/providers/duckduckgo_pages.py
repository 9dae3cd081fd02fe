"""What DuckDuckGo is asked for and how its pages are read; pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date, timedelta
from typing import Any
from urllib.parse import urlsplit

from perplexity.errors import InvalidRequest, MalformedResponse
from perplexity.filters import Filters, Recency
from perplexity.types import Source
from perplexity.wire.reading import text

TIMELIMIT: Mapping[Recency | None, str | None] = {
    None: None,
    "hour": "d",
    "day": "d",
    "week": "w",
    "month": "m",
    "year": "y",
}
_LONG: Mapping[Recency, timedelta] = {
    "day": timedelta(days=1),
    "week": timedelta(weeks=1),
    "month": timedelta(days=31),
    "year": timedelta(days=366),
}

Page = Sequence[Mapping[str, Any]]
"""The entries of one page of results; each holds `title`, `href` and `body`."""


def read(page: Page) -> list[Source]:
    """Return the entries that lead to a web page; all are numbered 0.

    Raises MalformedResponse for a page that is no list; what it holds beside entries is left out.
    """
    if not isinstance(page, (list, tuple)):
        raise MalformedResponse("the page of results is not a list", provider="DuckDuckGo")
    entries = [entry for entry in page if isinstance(entry, Mapping)]
    if page and not entries:
        raise MalformedResponse("the page of results holds no results", provider="DuckDuckGo")
    sources = (
        Source(number=0, title=_text(r, "title"), url=_text(r, "href"), snippet=_text(r, "body")) for r in entries
    )
    return [source for source in sources if _is_web_page(source.url)]


def check(filters: Filters) -> None:
    """Raise InvalidRequest for a filter that would change the question if it were dropped."""
    if filters.mode not in {None, "web"}:
        raise InvalidRequest.of("mode", filters.mode, "DuckDuckGo searches the open web only (mode web)")


def period(filters: Filters, *, today: date) -> Recency | None:
    """Return how recent pages must be: for those from after a day, the shortest time that reaches the day behind it."""
    if filters.after is None or filters.before is not None:
        return filters.recency
    passed = today - filters.after - timedelta(days=1)
    return next((recency for recency, long in _LONG.items() if passed <= long), None)


def not_applied(filters: Filters, *, today: date) -> tuple[str, ...]:
    """Return a note for the user for each filter that DuckDuckGo takes only in part or not at all."""
    hour = "DuckDuckGo knows no hour, so these are from the past day." if filters.recency == "hour" else ""
    return tuple(filter(None, (hour, _about_dates(filters, period(filters, today=today)))))


def numbered(found: Sequence[Source]) -> tuple[Source, ...]:
    """Return each address once, its first place, numbered from 1."""
    once: dict[str, Source] = {}
    for source in found:
        once.setdefault(source.url, source)
    return tuple(replace(source, number=number) for number, source in enumerate(once.values(), start=1))


def _about_dates(filters: Filters, period: Recency | None) -> str:
    if not (filters.after or filters.before):
        return ""
    instead = f"these are from the past {period}" if period else "after and before were not applied"
    return f"DuckDuckGo cannot search between dates, so {instead}."


def _text(entry: Mapping[str, Any], key: str) -> str:
    return " ".join(text(entry.get(key)).split())


def _is_web_page(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in {"http", "https"} and bool(parts.hostname)
    except ValueError:
        return False
