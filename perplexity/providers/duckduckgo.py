"""DuckDuckGo through the `ddgs` library: web search without a key, best effort, last resort.

It scrapes a page that promises nothing: https://github.com/deedy5/ddgs. A refusal, a captcha and an empty page look
the same to it, so no results is never taken for a fact about the web.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable
from dataclasses import replace
from datetime import UTC, date, datetime
from math import ceil
from typing import Protocol

from perplexity.computing import computed
from perplexity.domains import keep_results
from perplexity.errors import ConnectionFailed, NothingFound, PerplexityError, TimedOut
from perplexity.extras import require
from perplexity.passages import events, passages_answer
from perplexity.providers.base import BOTH
from perplexity.providers.duckduckgo_pages import TIMELIMIT, Page, check, not_applied, numbered, period, read
from perplexity.providers.duckduckgo_regions import region
from perplexity.providers.setup import Setup
from perplexity.queries import LONGEST_QUERY, checked_query
from perplexity.sites import with_sites
from perplexity.threads import Threads
from perplexity.types import Answer, Event, Query, Question, SearchResults, Source

SECONDS = 10.0
"""The time one search may take when its query names none."""
_PER_PAGE = 10
_PASSAGE_PAGES, _NEWS_PAGES = 10, 20


class Find(Protocol):
    """One blocking search of one page (from 1); each entry holds `title`, `href` and `body`."""

    def __call__(self, query: str, *, region: str, timelimit: str | None, page: int) -> Page:
        """Return the page's entries; raise PerplexityError when there are none."""
        ...


class DuckDuckGo:
    """DuckDuckGo as a provider; it answers with passages.

    `find` is the blocking search, `threads` where it runs, `seconds` what one request may take at most.
    """

    name = "DuckDuckGo"
    offers = BOTH
    search_only = True

    def __init__(
        self,
        *,
        find: Find | None = None,
        threads: Threads | None = None,
        seconds: float = SECONDS,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._find = find or through_ddgs
        self._threads = threads or Threads(limit=8)
        self._seconds = seconds
        self._clock, self._now = clock, now

    async def search(self, query: Query) -> SearchResults:
        """Return at most `max_results` pages, free of charge.

        Raises InvalidRequest, also for a mode other than web, NothingFound, ConnectionFailed, TimedOut or MissingExtra.
        """
        query = checked_query(query)
        check(query.filters)
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
            notes=(*not_applied(query.filters, today=self._today()), *notes),
        )
        kept = keep_results(found, query.filters.domains)
        return replace(kept, results=kept.results[: query.max_results])

    async def answer(self, question: Question) -> Answer:
        """Return the passages that fit the question best, word for word. Raises as `search` does."""
        query = Query(
            text=question.text[:LONGEST_QUERY],
            filters=question.filters,
            max_results=_NEWS_PAGES if question.news else _PASSAGE_PAGES,
            seconds=question.seconds,
        )
        return await computed(passages_answer, await self.search(query), question.text)

    async def stream(self, question: Question) -> AsyncGenerator[Event, None]:
        """Yield the passages once they are all there. Raises as `search` does."""
        for event in events(await self.answer(question)):
            yield event

    async def _sources(self, query: Query, code: str) -> tuple[Source, ...]:
        """Read as many pages as the results want; a later page that fails does not undo an earlier one."""
        found: list[Source] = []
        try:
            async with asyncio.timeout(min(query.seconds or self._seconds, self._seconds)):
                for page in range(1, ceil(query.max_results / _PER_PAGE) + 1):
                    found += read(await self._page(query, code, page))
        except (PerplexityError, TimeoutError) as error:
            if not found:
                raise _own(error) from error
        return numbered(found)

    async def _page(self, query: Query, code: str, page: int) -> Page:
        text, timelimit = (
            with_sites(query.text, query.filters.domains),
            TIMELIMIT[period(query.filters, today=self._today())],
        )

        def find() -> Page:
            try:
                return self._find(text, region=code, timelimit=timelimit, page=page)
            except BaseException as error:  # noqa: BLE001 - a thread of its own: nothing else can stop it, a panic can
                raise _own(error) from None

        return await self._threads.run(find)

    def _today(self) -> date:
        return datetime.fromtimestamp(self._now(), UTC).date()


def build(setup: Setup) -> DuckDuckGo:
    """Return the provider, which needs no key."""
    return DuckDuckGo(seconds=setup.limits.search)


def through_ddgs(query: str, *, region: str, timelimit: str | None, page: int, timeout: int = 5) -> Page:
    """Search DuckDuckGo, and no other engine, for one page; `timeout` is in seconds.

    Raises NothingFound, ConnectionFailed, TimedOut, or MissingExtra without the library, which is slow to load: it is
    loaded by the first search.
    """
    require("duckduckgo")
    from ddgs import DDGS
    from ddgs.exceptions import DDGSException, TimeoutException
    from primp import BuilderError

    try:
        # One instance a call: it caches engines and is not documented as safe to share between threads.
        results = DDGS(timeout=timeout).text(
            query, region=region, timelimit=timelimit, page=page, max_results=None, backend="duckduckgo"
        )
    except TimeoutException:
        raise TimedOut("DuckDuckGo timed out", provider=DuckDuckGo.name) from None
    except BuilderError:  # the library reads its variable itself, and hands on what it makes of it
        allowed = "it takes http://host:port or socks5://host:port; unset it for none"
        failed = ConnectionFailed(f"DDGS_PROXY: its value is not allowed; {allowed}", provider=DuckDuckGo.name)
        failed.sent = False
        raise failed from None
    except DDGSException as error:
        kind = NothingFound if "No results" in str(error) else ConnectionFailed
        raise kind("the search failed", provider=DuckDuckGo.name) from None
    except Exception as error:  # noqa: BLE001 - no thread left for the library's own, a page that it cannot read
        raise _own(error) from None
    return results


def _own(error: BaseException) -> PerplexityError:
    """Return the error as one of ours; of any other only the class is told, since its words may quote the query."""
    if isinstance(error, PerplexityError):
        return error
    if isinstance(error, TimeoutError):
        return TimedOut("DuckDuckGo timed out", provider=DuckDuckGo.name)
    return ConnectionFailed(f"the search failed ({type(error).__name__})", provider=DuckDuckGo.name)
