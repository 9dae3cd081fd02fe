"""Search results as the services list them → sources, each page once, none under another page's number. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import count

from perplexity.types import JSON, Source
from perplexity.wire.reading import text, whole

_DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)


def merge(results: Iterable[Mapping[str, JSON]]) -> tuple[Source, ...]:
    """Return the sources of all result lists together, in their order.

    A source keeps the service's `id`, which the markers in the text refer to; the other ids of the same page are its
    aliases. One without an id gets its position.
    Where another page has that number already, it gets one that no page has, so that no marker shows the wrong page.
    """
    pages = _by_address(results)
    claimed = {number for page, *_ in pages.values() if (number := _id(page)) is not None}
    used: set[int] = set()
    sources = []
    for position, (page, *again) in enumerate(pages.values(), start=1):
        own = _id(page)
        wanted = position if own is None and position not in claimed else own
        number = wanted if wanted is not None and wanted not in used else _free(claimed | used, at_least=position)
        used.add(number)
        aliases = [alias for other in again if (alias := _id(other)) is not None and alias not in claimed | used]
        sources.append(_source(page, number, aliases))
        claimed.update(aliases)
    return tuple(sources)


def _by_address(results: Iterable[Mapping[str, JSON]]) -> dict[str, list[Mapping[str, JSON]]]:
    pages: dict[str, list[Mapping[str, JSON]]] = {}
    for page in results:
        url = text(page.get("url")).strip()
        if url.lower().startswith(("https://", "http://")):
            pages.setdefault(url, []).append(page)
    return pages


def _id(page: Mapping[str, JSON]) -> int | None:
    return whole(page.get("id"))


def _free(taken: set[int], *, at_least: int) -> int:
    return next(number for number in count(max(1, at_least)) if number not in taken)


def _source(page: Mapping[str, JSON], number: int, aliases: Sequence[int]) -> Source:
    url = text(page["url"]).strip()
    return Source(
        number=number,
        title=" ".join(text(page.get("title")).split()) or url,
        url=url,
        snippet=text(page.get("snippet")),
        date=_day(page.get("date")),
        last_updated=_day(page.get("last_updated")),
        aliases=tuple(aliases),
    )


def _day(value: JSON) -> str | None:
    """Return the day that a date or a timestamp begins with."""
    match = _DAY.match(text(value))
    return match[0] if match else None
