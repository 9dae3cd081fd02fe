"""Search results as the services list them → sources, each page once, none under another page's number. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import count

from perplexity.types import JSON, Source
from perplexity.wire.reading import text, whole

_DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)


def merge(results: Iterable[Mapping[str, JSON]]) -> tuple[Source, ...]:
    """Return the sources of all result lists together, each page where it stands first.

    A source keeps the first `id` that the service gave the page, which the markers in the text refer to; the page's
    other ids are its aliases. One without an id gets its position. Where another page has that number already, it gets
    one that no page has, so that no marker shows the wrong page. What one entry of a page leaves out, a later one says.
    """
    pages = _by_address(results)
    ids = {url: _ids(entries) for url, entries in pages.items()}
    claimed = {own[0] for own in ids.values() if own}
    used: set[int] = set()
    sources = []
    for position, (url, entries) in enumerate(pages.items(), start=1):
        own = next(iter(ids[url]), None)
        wanted = position if own is None and position not in claimed else own
        number = wanted if wanted is not None and wanted not in used else _free(claimed | used, at_least=position)
        used.add(number)
        aliases = [alias for alias in ids[url][1:] if alias not in claimed | used]
        sources.append(_source(entries, number, aliases))
        claimed.update(aliases)
    return tuple(sources)


def _by_address(results: Iterable[Mapping[str, JSON]]) -> dict[str, list[Mapping[str, JSON]]]:
    pages: dict[str, list[Mapping[str, JSON]]] = {}
    for page in results:
        url = text(page.get("url")).strip()
        if url.lower().startswith(("https://", "http://")):
            pages.setdefault(url, []).append(page)
    return pages


def _ids(entries: Sequence[Mapping[str, JSON]]) -> list[int]:
    """Return the ids that a page was given, each once."""
    given = (whole(entry.get("id")) for entry in entries)
    return list(dict.fromkeys(number for number in given if number is not None))


def _free(taken: set[int], *, at_least: int) -> int:
    return next(number for number in count(max(1, at_least)) if number not in taken)


def _source(entries: Sequence[Mapping[str, JSON]], number: int, aliases: Sequence[int]) -> Source:
    url = text(entries[0]["url"]).strip()

    def first(name: str) -> str:
        return next((said for entry in entries if (said := text(entry.get(name)))), "")

    return Source(
        number=number,
        title=" ".join(first("title").split()) or url,
        url=url,
        snippet=first("snippet"),
        date=_day(first("date")),
        last_updated=_day(first("last_updated")),
        aliases=tuple(aliases),
    )


def _day(value: JSON) -> str | None:
    """Return the day that a date or a timestamp begins with."""
    match = _DAY.match(text(value))
    return match[0] if match else None
