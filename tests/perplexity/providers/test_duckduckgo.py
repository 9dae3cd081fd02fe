from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime
from functools import partial
from typing import Literal

import pytest

from perplexity.errors import ConnectionFailed, InvalidRequest, NothingFound, TimedOut
from perplexity.filters import Filters
from perplexity.providers.duckduckgo import DuckDuckGo, Page, parse_page, region, search_ddgs
from perplexity.threads import DaemonThreads
from perplexity.types import AnswerKind, Done, Message, Query, Question, Source, Sources, TextDelta
from tests.fakes.duckduckgo import FakeDuckDuckGo, Hit, PointDdgsAt

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)

PYTHON = Hit(
    title="Python &amp; <b>friends</b>", url="https://python.org/a?b=1", body="Free   threads\n are <b>here</b>."
)
OTHER = Hit(title="Other", url="http://other.org/")


def hits(count: int, *, start: int = 0) -> list[Hit]:
    return [Hit(title=f"Page {n}", url=f"https://example.com/{n}") for n in range(start, start + count)]


async def test_results_are_read_cleaned_and_numbered(point_ddgs_at: PointDdgsAt) -> None:
    async with FakeDuckDuckGo([PYTHON, OTHER, PYTHON]) as fake:
        point_ddgs_at(fake.url)

        found = await DuckDuckGo(clock=lambda: 3.0).search(Query(text="python"))

    assert found.results == (
        Source(number=1, title="Python & friends", url="https://python.org/a?b=1", snippet="Free threads are here."),
        Source(number=2, title="Other", url="http://other.org/", snippet="What the page says."),
    )
    assert (found.provider, found.cost_usd, found.seconds, found.notes) == ("DuckDuckGo", 0.0, 0.0, ())


@pytest.fixture
def no_new_threads() -> Iterator[Callable[[], int]]:
    """Let no thread be started, for want of memory for its stack, until the given function is called."""
    usual = threading.stack_size(1 << 46)
    yield lambda: threading.stack_size(usual)
    threading.stack_size(usual)


async def test_places_are_given_back_where_no_thread_can_be_started(no_new_threads: Callable[[], int]) -> None:
    provider = DuckDuckGo(search_page=lambda query, **_: [{"title": query, "href": "https://a.org/", "body": ""}])
    for _ in range(20):
        with pytest.raises(ConnectionFailed) as caught:
            await provider.search(Query(text="python", seconds=1))
        assert not caught.value.sent
    no_new_threads()

    found = await asyncio.gather(*(provider.search(Query(text=str(n))) for n in range(8)))
    assert [one.results[0].title for one in found] == [str(n) for n in range(8)]


@pytest.mark.usefixtures("no_new_threads")
def test_the_library_s_own_threads_that_cannot_be_started_are_a_failed_connection() -> None:
    with pytest.raises(ConnectionFailed):
        search_ddgs("python", region="us-en", timelimit=None, page=1)


async def test_what_is_asked_goes_out_once_and_to_duckduckgo_alone(point_ddgs_at: PointDdgsAt) -> None:
    filters = Filters(recency="week", domains=("a.org", "b.org"), country="DE")
    async with FakeDuckDuckGo([Hit(title="A", url="https://www.a.org/")]) as fake:
        point_ddgs_at(fake.url)

        await DuckDuckGo().search(Query(text="python", filters=filters, max_results=1))

    assert fake.forms == [{"q": "python (site:a.org OR site:b.org)", "b": "", "l": "de-de", "df": "w"}]


async def test_more_results_than_a_page_holds_come_from_the_next_page(point_ddgs_at: PointDdgsAt) -> None:
    async with FakeDuckDuckGo(hits(10), hits(15, start=8)) as fake:
        point_ddgs_at(fake.url)

        found = await DuckDuckGo().search(Query(text="python", max_results=20))

    assert [source.url for source in found.results] == [f"https://example.com/{n}" for n in range(20)]
    assert len(fake.forms) == 2


async def test_a_second_page_that_fails_leaves_the_first(point_ddgs_at: PointDdgsAt) -> None:
    async with FakeDuckDuckGo(hits(10)) as fake:
        point_ddgs_at(fake.url)

        found = await DuckDuckGo().search(Query(text="python", max_results=20))

    assert len(found.results) == 10


@pytest.mark.parametrize("html", ["", "<div class='anomaly-modal'>Are you human?</div>"])
async def test_an_empty_page_proves_nothing(point_ddgs_at: PointDdgsAt, html: str) -> None:
    async with FakeDuckDuckGo(html=html, status=202) as fake:
        point_ddgs_at(fake.url)

        with pytest.raises(NothingFound):
            await DuckDuckGo().search(Query(text="python"))


async def test_an_unreachable_service_is_reported(point_ddgs_at: PointDdgsAt) -> None:
    fake = FakeDuckDuckGo()
    async with fake:
        pass
    point_ddgs_at(fake.url)

    with pytest.raises(ConnectionFailed):
        await DuckDuckGo().search(Query(text="python"))


async def test_a_service_that_hangs_is_left_after_the_query_s_seconds(point_ddgs_at: PointDdgsAt) -> None:
    async with FakeDuckDuckGo(hangs=True) as fake:
        point_ddgs_at(fake.url)
        started = time.monotonic()

        with pytest.raises(TimedOut):
            await DuckDuckGo().search(Query(text="python", seconds=0.3))

    assert time.monotonic() - started < 2


async def test_a_timeout_of_the_library_is_reported(point_ddgs_at: PointDdgsAt) -> None:
    async with FakeDuckDuckGo(hangs=True) as fake:
        point_ddgs_at(fake.url)

        with pytest.raises(TimedOut):
            await DuckDuckGo(search_page=partial(search_ddgs, timeout=1)).search(Query(text="python"))


async def test_a_question_is_answered_with_passages(point_ddgs_at: PointDdgsAt) -> None:
    question = Question(messages=(Message(role="user", content="free threads in python?"),))
    async with FakeDuckDuckGo([PYTHON, OTHER]) as fake:
        point_ddgs_at(fake.url)

        answer = await DuckDuckGo().answer(question)
        events = [event async for event in DuckDuckGo().stream(question)]

    assert (answer.kind, answer.text, answer.usage.cost_usd) == (AnswerKind.PASSAGES, "Free threads are here. [1]", 0.0)
    assert [type(event) for event in events] == [Sources, TextDelta, Done]


@pytest.mark.parametrize(
    ("filters", "note"),
    [
        (Filters(recency="hour"), "DuckDuckGo knows no hour, so these are from the past day."),
        (Filters(after=date(2026, 11, 19)), "DuckDuckGo cannot search between dates, so these are from the past day."),
        (
            Filters(after=date(2025, 11, 1)),
            "DuckDuckGo cannot search between dates, so after and before were not applied.",
        ),
        (
            Filters(before=date(2026, 1, 1)),
            "DuckDuckGo cannot search between dates, so after and before were not applied.",
        ),
        (Filters(languages=("de", "fr")), "DuckDuckGo searches in one language at a time."),
        (
            Filters(country="DE", languages=("en",)),
            "DuckDuckGo has no region for country DE with language en; it searched the region de-de.",
        ),
        (Filters(country="AQ"), "DuckDuckGo has no region for country AQ; it searched everywhere."),
        (Filters(languages=("la",)), "DuckDuckGo has no region for language la; it searched everywhere."),
    ],
)
async def test_a_filter_that_is_not_applied_is_noted(filters: Filters, note: str) -> None:
    found = await DuckDuckGo(search_page=one_page, now=NOW.timestamp).search(Query(text="python", filters=filters))

    assert found.notes == (note,)


@pytest.mark.parametrize(
    ("filters", "limit"),
    [
        (Filters(after=date(2026, 11, 21)), "d"),
        (Filters(after=date(2026, 11, 19)), "d"),
        (Filters(after=date(2026, 11, 18)), "w"),
        (Filters(after=date(2026, 11, 10)), "m"),
        (Filters(after=date(2026, 1, 1)), "y"),
        (Filters(after=date(2025, 11, 1)), None),
        (Filters(after=date(2026, 11, 19), before=date(2026, 11, 20)), None),
        (Filters(recency="week"), "w"),
    ],
)
async def test_pages_from_after_a_day_are_searched_for_in_the_shortest_time_that_reaches_it(
    filters: Filters, limit: str | None
) -> None:
    limits = []

    def find(query: str, *, region: str, timelimit: str | None, page: int) -> Page:
        limits.append(timelimit)
        return one_page(query, region=region, timelimit=timelimit, page=page)

    await DuckDuckGo(search_page=find, now=NOW.timestamp).search(Query(text="python", filters=filters))

    assert set(limits) == {limit}


@pytest.mark.parametrize("mode", ["academic", "sec"])
async def test_a_mode_that_it_cannot_search_is_refused_before_anything_is_sent(
    mode: Literal["academic", "sec"],
) -> None:
    with pytest.raises(InvalidRequest) as caught:
        await DuckDuckGo(search_page=never).search(Query(text="python", filters=Filters(mode=mode)))

    assert (caught.value.field, caught.value.value) == ("mode", mode)


async def test_a_query_that_no_provider_accepts_is_refused_before_anything_is_sent() -> None:
    with pytest.raises(InvalidRequest):
        await DuckDuckGo(search_page=never).search(Query(text=" "))


async def test_the_web_mode_is_its_own() -> None:
    found = await DuckDuckGo(search_page=one_page).search(Query(text="python", filters=Filters(mode="web")))

    assert len(found.results) == 1


async def test_results_off_the_domains_that_were_asked_for_are_left_out_and_counted() -> None:
    found = await DuckDuckGo(search_page=one_page).search(Query(text="python", filters=Filters(domains=("else.org",))))

    assert (found.results, found.notes) == ((), ("1 result outside else.org left out, so no result is left.",))


async def test_an_answer_from_domains_without_a_page_says_why_there_is_none() -> None:
    messages = (Message(role="user", content="python"),)
    asked = Question(messages=messages, filters=Filters(domains=("else.org",)))

    with pytest.raises(NothingFound) as caught:
        await DuckDuckGo(search_page=one_page).answer(asked)

    assert caught.value.summary == "gave no results: 1 result outside else.org left out, so no result is left"


@pytest.mark.parametrize(
    ("url", "kept"),
    [
        ("https://a.org/x", True),
        ("http://A.org:443/x", True),
        ("ftp://a.org/", False),
        ("javascript:alert(1)", False),
        ("//a.org/", False),
        ("https://", False),
        ("https://[broken/", False),
        ("", False),
    ],
)
def test_only_web_pages_are_read(url: str, kept: bool) -> None:
    assert bool(parse_page([{"href": url, "title": "T", "body": None}])) is kept


@pytest.mark.parametrize(
    ("country", "languages", "code"),
    [
        (None, (), "wt-wt"),
        (None, ("en",), "us-en"),
        (None, ("de",), "de-de"),
        (None, ("zh",), "cn-zh"),
        ("GB", (), "uk-en"),
        ("UA", ("uk",), "ua-uk"),
        ("CH", (), "ch-de"),
        ("CH", ("fr",), "ch-fr"),
        ("CA", ("fr", "en"), "ca-en"),
        ("JP", ("en",), "jp-jp"),
        ("AQ", ("en",), "wt-wt"),
    ],
)
def test_country_and_language_choose_the_region(country: str | None, languages: tuple[str, ...], code: str) -> None:
    assert region(country, languages)[0] == code


async def test_searches_that_never_return_do_not_take_every_thread() -> None:
    release = threading.Event()

    def find(query: str, *, region: str, timelimit: str | None, page: int) -> Page:
        release.wait()
        return []

    provider = DuckDuckGo(search_page=find, threads=DaemonThreads(limit=1))
    with pytest.raises(TimedOut):
        await provider.search(Query(text="one", seconds=0.05))
    with pytest.raises(TimedOut):
        await provider.search(Query(text="two", seconds=0.05))

    assert await asyncio.to_thread(lambda: "the loop's own pool is free") == "the loop's own pool is free"
    release.set()


def one_page(query: str, *, region: str, timelimit: str | None, page: int) -> Page:
    return [{"title": "T", "href": f"https://example.com/{page}", "body": "B"}]


def never(query: str, *, region: str, timelimit: str | None, page: int) -> Page:
    raise AssertionError(query)


async def test_a_question_longer_than_a_query_is_searched_for_by_its_beginning(point_ddgs_at: PointDdgsAt) -> None:
    async with FakeDuckDuckGo([PYTHON]) as fake:
        point_ddgs_at(fake.url)
        answer = await DuckDuckGo().answer(Question(messages=(Message(role="user", content="free threads? " * 500),)))

    assert answer.passages[0].text


async def test_one_search_has_a_limit_of_its_own_whatever_time_is_left() -> None:
    stuck = threading.Event()

    def find(query: str, *, region: str, timelimit: str | None, page: int) -> Page:
        stuck.wait(10)
        return []

    with pytest.raises(TimedOut):
        await DuckDuckGo(search_page=find, seconds=0.05).search(Query(text="python", seconds=600.0))
    stuck.set()
