"""Web search by DuckDuckGo through the `ddgs` library, which needs no key but is unreliable: the last resort.

The library (https://github.com/deedy5/ddgs) scrapes the page of results, and nobody promises that this works. It cannot
tell a refusal, a captcha and an empty page apart, so "no results" never counts as a fact about the web.

DuckDuckGo's regions are the values of the parameter `kl`:
https://duckduckgo.com/duckduckgo-help-pages/settings/params
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from functools import partial
from math import ceil
from typing import Any, Protocol
from urllib.parse import urlsplit

from perplexity import scope
from perplexity.domains import filter_results
from perplexity.errors import (
    ConnectionFailed,
    MalformedResponse,
    NothingFound,
    PerplexityError,
    TimedOut,
)
from perplexity.extras import require
from perplexity.filters import Filters, Recency, in_words, require_web
from perplexity.freshness import DAYS
from perplexity.providers.base import PassageProvider, ProviderConfig, ProviderSpec
from perplexity.scope import say
from perplexity.threads import DaemonThreads
from perplexity.types import Query, SearchResults, Source, validate_query
from perplexity.urls import add_site_operators
from perplexity.wire.json import as_text, encodable_text

TIMELIMIT: Mapping[Recency | None, str | None] = {
    None: None,
    "hour": "d",
    "day": "d",
    "week": "w",
    "month": "m",
    "year": "y",
}

Page = Sequence[Mapping[str, Any]]
"""The entries of one page of results; each holds `title`, `href` and `body`."""


def parse_page(page: Page) -> list[Source]:
    """Return a source with the number 0 for each entry that links to a web page.

    Items that are not mappings are left out. Raises MalformedResponse if the page is not a list, or if it has items but
    none is a mapping.
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


def recency_for(filters: Filters, *, today: date) -> Recency | None:
    """Return the period up to `today` that pages must be from, or None for any time.

    DuckDuckGo cannot search between dates, so a filter `after` alone becomes the shortest period that reaches back to
    the day after it.
    """
    if filters.after is None or filters.before is not None:
        return filters.recency
    passed = (today - filters.after).days - 1
    return next((recency for recency, days in DAYS.items() if recency != "hour" and passed <= days), None)


def ignored_filters(filters: Filters, *, today: date) -> tuple[str, ...]:
    """Return a note for the user on the period or the dates, if DuckDuckGo follows them only in part or not at all."""
    hour = say("DuckDuckGo knows no hour, so these are from the past day.") if filters.recency == "hour" else ""
    return tuple(filter(None, (hour, _about_dates(filters, recency_for(filters, today=today)))))


def deduplicate(found: Sequence[Source]) -> tuple[Source, ...]:
    """Return the sources without those that repeat an earlier address, numbered from 1."""
    once: dict[str, Source] = {}
    for source in found:
        once.setdefault(source.url, source)
    return tuple(replace(source, number=number) for number, source in enumerate(once.values(), start=1))


def _about_dates(filters: Filters, period: Recency | None) -> str:
    if not (filters.after or filters.before):
        return ""
    if not period:
        return say("DuckDuckGo cannot search between dates, so after and before were not applied.")
    said = say("DuckDuckGo cannot search between dates, so these are from the {period}.")
    return said.format(period=in_words(Filters(recency=period))[0])


def _text(entry: Mapping[str, Any], key: str) -> str:
    return " ".join(encodable_text(as_text(entry.get(key))).split())


def _is_web_page(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in {"http", "https"} and bool(parts.hostname)
    except ValueError:
        return False


SERVICE = "duckduckgo.com"
ANYWHERE = "wt-wt"
_REGULAR = (
    "us-en de-de fr-fr es-es pt-pt it-it nl-nl ar-es at-de au-en be-fr be-nl bg-bg br-pt ca-en ca-fr ch-de ch-fr ch-it "
    "cl-es co-es dk-da ee-et fi-fi gr-el hr-hr hu-hu id-id ie-en il-he in-en lt-lt lv-lv mx-es my-en no-no nz-en pe-es "
    "ph-en pl-pl ro-ro ru-ru se-sv sg-en sk-sk th-th tr-tr vn-vi za-en"
)
_OTHERS = {
    ("GB", "en"): "uk-en",
    ("UA", "uk"): "ua-uk",
    ("JP", "ja"): "jp-jp",
    ("KR", "ko"): "kr-kr",
    ("CN", "zh"): "cn-zh",
    ("TW", "zh"): "tw-tzh",
    ("HK", "zh"): "hk-tzh",
    ("CZ", "cs"): "cz-cs",
    ("SI", "sl"): "sl-sl",
}
REGIONS = {(code[:2].upper(), code[3:]): code for code in _REGULAR.split()} | _OTHERS
"""DuckDuckGo's code of each region, by country (ISO 3166-1 alpha-2) and language (ISO 639-1).

A country's main language and a language's main country come first, because `region` takes the first that fits.
"""


def region(country: str | None, languages: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    """Return the code of the region that fits best, and notes for the user on what it does not cover."""
    if country is None and not languages:
        return ANYWHERE, ()
    for (place, language), code in REGIONS.items():
        if country in {None, place} and (not languages or language in languages):
            notes = (say("DuckDuckGo searches in one language at a time."),) if len(languages) > 1 else ()
            return code, notes
    code = next((code for (place, _), code in REGIONS.items() if place == country), ANYWHERE)
    if code == ANYWHERE:
        said = say("DuckDuckGo has no region for {wish}; it searched everywhere.")
    else:
        said = say("DuckDuckGo has no region for {wish}; it searched the region {code}.")
    wish = say(" with ").join(in_words(Filters(country=country, languages=tuple(languages[:1])))[::-1])
    return code, (said.format(wish=wish, code=code),)


TIMEOUT_SECONDS = 10.0
"""The default time limit of one search."""
_PER_PAGE = 10


class SearchOnePage(Protocol):
    """A blocking function that returns one page of results; pages are numbered from 1."""

    def __call__(self, query: str, *, region: str, timelimit: str | None, page: int) -> Page:
        """Return the page's entries. Raises PerplexityError if there are none."""
        ...


class DuckDuckGo(PassageProvider):
    """DuckDuckGo as a provider; it answers with passages.

    `search_page` is the blocking search, `threads` runs it, and `seconds` is the time limit of one search.
    """

    name = "DuckDuckGo"

    def __init__(
        self,
        *,
        search_page: SearchOnePage | None = None,
        threads: DaemonThreads | None = None,
        seconds: float = TIMEOUT_SECONDS,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._search_page = search_page or search_ddgs
        self._threads = threads or DaemonThreads(limit=8)
        self._seconds = seconds
        self._clock, self._now = clock, now

    async def search(self, query: Query) -> SearchResults:
        """Return at most `query.max_results` pages, free of charge.

        Raises NothingFound, ConnectionFailed, TimedOut, MalformedResponse, MissingExtra or InvalidRequest. A mode other
        than web is invalid.
        """
        query = validate_query(query)
        require_web(query.filters, service=self.name)
        started = self._clock()
        code, notes = region(query.filters.country, query.filters.languages)
        sources = await self._sources(query, code)
        if not sources:
            raise NothingFound("no entry of the results leads to a page", provider=self.name)
        found = SearchResults(
            results=sources,
            provider=self.name,
            seconds=self._clock() - started,
            cost_usd=0.0,
            notes=(*ignored_filters(query.filters, today=self._today()), *notes),
        )
        kept = filter_results(found, query.filters.enforced)
        return replace(kept, results=kept.results[: query.max_results])

    async def find(self, query: Query) -> SearchResults:
        """Return the same pages as `search`."""
        return await self.search(query)

    async def _sources(self, query: Query, code: str) -> tuple[Source, ...]:
        """Read as many pages of results as `query.max_results` needs, and return their sources.

        If a later page fails, the sources of the earlier pages are returned.
        """
        found: list[Source] = []
        try:
            async with asyncio.timeout(min(query.seconds or self._seconds, self._seconds)):
                for page in range(1, ceil(query.max_results / _PER_PAGE) + 1):
                    found += parse_page(await self._page(query, code, page))
        except (PerplexityError, TimeoutError) as error:
            if not found:
                raise _as_perplexity_error(error) from error
        return deduplicate(found)

    async def _page(self, query: Query, code: str, page: int) -> Page:
        text = add_site_operators(query.text, query.filters.domains)
        timelimit = TIMELIMIT[recency_for(query.filters, today=self._today())]

        def find() -> Page:
            try:
                return self._search_page(text, region=code, timelimit=timelimit, page=page)
            except BaseException as error:  # noqa: BLE001 - the library's panics are BaseExceptions
                raise _as_perplexity_error(error) from None

        if (log := scope.current().log) is not None:
            # The request is recorded here, because the library sends it itself.
            asked = {"q": text, "region": code, "timelimit": timelimit, "page": page}
            await log.record(SERVICE, "/", json.dumps(asked))
        return await self._threads.run(find)

    def _today(self) -> date:
        return datetime.fromtimestamp(self._now(), UTC).date()


def build(config: ProviderConfig) -> DuckDuckGo:
    """Return the provider, which needs no key."""
    search_page = partial(search_ddgs, ca_bundle=config.ca_bundle)
    return DuckDuckGo(seconds=config.timeouts.search, search_page=search_page)


SPEC = ProviderSpec(title=DuckDuckGo.name, build=build)


def search_ddgs(
    query: str, *, region: str, timelimit: str | None, page: int, timeout: int = 5, ca_bundle: str = ""
) -> Page:
    """Search DuckDuckGo, and no other engine, for one page; `timeout` is in seconds.

    The library trusts the authorities in `ca_bundle` in addition to the system's.

    Raises NothingFound, ConnectionFailed, TimedOut, or, if the library is not installed, MissingExtra. The first search
    imports the library, because it is slow to load.
    """
    require("duckduckgo")
    from ddgs import DDGS
    from ddgs.exceptions import DDGSException, TimeoutException
    from primp import BuilderError

    try:
        # One instance per call, because it caches engines and is not documented as safe to share between threads.
        results = DDGS(timeout=timeout, verify=ca_bundle or True).text(
            query, region=region, timelimit=timelimit, page=page, max_results=None, backend="duckduckgo"
        )
    except TimeoutException:
        raise TimedOut("DuckDuckGo timed out", provider=DuckDuckGo.name) from None
    except BuilderError:  # The library reads the variable DDGS_PROXY itself, and its value is invalid.
        allowed = "it takes http://host:port or socks5://host:port; unset it for none"
        failed = ConnectionFailed(f"DDGS_PROXY: its value is not allowed; {allowed}", provider=DuckDuckGo.name)
        failed.sent = False
        raise failed from None
    except DDGSException as error:
        kind = NothingFound if "No results" in str(error) else ConnectionFailed
        raise kind("the search failed", provider=DuckDuckGo.name) from None
    except Exception as error:  # noqa: BLE001 - such as a thread that cannot start, or an unreadable page
        raise _as_perplexity_error(error) from None
    return results


def _as_perplexity_error(error: BaseException) -> PerplexityError:
    """Return a PerplexityError unchanged, and any other error as one, without its text, which may quote the query."""
    if isinstance(error, PerplexityError):
        return error
    if isinstance(error, TimeoutError):
        return TimedOut("DuckDuckGo timed out", provider=DuckDuckGo.name)
    return ConnectionFailed(f"the search failed ({type(error).__name__})", provider=DuckDuckGo.name)
