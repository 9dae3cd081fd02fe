from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterator
from datetime import date
from typing import Any

import pytest

from perplexity.errors import (
    AuthenticationError,
    BillingError,
    InvalidRequest,
    MalformedResponse,
    NothingFound,
    PerplexityError,
    RateLimitError,
    ServerError,
    TimedOut,
)
from perplexity.filters import Filters
from perplexity.models import Timeouts
from perplexity.passages import JOINED_QUESTIONS
from perplexity.providers.base import ProviderConfig
from perplexity.providers.brave import Brave, build
from perplexity.retry import RetryPolicy
from perplexity.types import AnswerKind, Done, Message, Passage, Query, Question, Source, Sources, TextDelta
from tests.fakes.brave import KEY, FakeBrave, error, fixture
from tests.fakes.service import Fault, json_reply
from tests.fakes.time import Time

NOVEMBER = 1_795_255_200.0  # 2026-11-21
WEB, NEWS, CONTEXT = "/web/search", "/news/search", "/llm/context"


def question(text: str = "c1", **more: Any) -> Question:
    return Question(messages=(Message(role="user", content=text),), **more)


@pytest.fixture
async def fake() -> AsyncIterator[FakeBrave]:
    async with FakeBrave() as server:
        yield server


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
async def brave(fake: FakeBrave, time: Time) -> AsyncIterator[Brave]:
    retry = RetryPolicy(attempts=3, base=0.001)
    async with Brave(KEY, base_url=fake.base_url, retry=retry, now=lambda: NOVEMBER, sleep=time.sleep) as made:
        yield made


async def test_a_search_finds_pages(fake: FakeBrave, brave: Brave) -> None:
    found = await brave.search(Query(text="rust 100% + c & d", max_results=3))

    assert [(s.title, s.url, s.date) for s in found.results] == [("A b", "https://a.example/1", "2026-11-19")]
    assert (found.provider, found.cost_usd, found.seconds >= 0, found.notes) == ("Brave", 0.005, True, ())
    assert (fake.requests[0].method, fake.requests[0].path) == ("GET", WEB)
    assert (fake.requests[0].query["q"], fake.requests[0].query["count"]) == ("rust 100% + c & d", "3")
    assert fake.requests[0].headers["X-Subscription-Token"] == KEY
    assert "Authorization" not in fake.requests[0].headers


async def test_a_search_for_news_finds_news(fake: FakeBrave, brave: Brave) -> None:
    found = await brave.search(Query(text="rust", news=True))

    assert (fake.requests[0].path, found.results[0].url) == (NEWS, "https://a.example/n1")


async def test_an_answer_is_passages_word_for_word_and_says_so(fake: FakeBrave, brave: Brave) -> None:
    answer = await brave.answer(question())

    assert (answer.kind, answer.text, answer.provider) == (AnswerKind.PASSAGES, "c1 [1]", "Brave")
    assert answer.passages == (Passage(text="c1", source=1),)
    assert (answer.usage.cost_usd, answer.model) == (0.005, None)
    assert fake.requests[0].path == CONTEXT


async def test_a_question_of_a_conversation_is_searched_for_with_the_one_before_it(
    fake: FakeBrave, brave: Brave
) -> None:
    answer = await brave.answer(question("and in c2?", standalone="what is c1? and in c2?"))

    assert fake.requests[0].query["q"] == "what is c1? and in c2?"
    assert answer.notes == (JOINED_QUESTIONS,)


async def test_an_answer_from_news_is_passages_from_news(fake: FakeBrave, brave: Brave) -> None:
    answer = await brave.answer(question(news=True))

    assert (fake.requests[0].path, answer.text) == (NEWS, "d [1]")


async def test_a_stream_yields_the_passages_once_they_are_there(brave: Brave) -> None:
    source = Source(number=1, title="A", url="https://a.example/1", snippet="c1", date="2026-11-19")

    *events, done = [event async for event in brave.stream(question())]

    assert events == [Sources(sources=(source,)), TextDelta(text="c1 [1]")]
    assert isinstance(done, Done)
    assert done.answer.kind is AnswerKind.PASSAGES


async def test_pages_outside_the_domains_are_left_out_of_pages_news_and_answers(brave: Brave) -> None:
    only = Filters(domains=("z.example",))

    pages, news = [await brave.search(Query(text="x", filters=only, news=news)) for news in (False, True)]
    with pytest.raises(NothingFound) as caught:
        await brave.answer(question(filters=only))

    assert (pages.results, news.results) == ((), ())
    assert "outside z.example left out, so no result is left." in pages.notes[0]
    assert caught.value.summary.startswith("gave no results: 1 result outside z.example left out")


@pytest.mark.parametrize(
    "filters",
    [
        Filters(recency="hour", country="KE", languages=("sw", "fr"), domains=("b.com", "a.example")),
        Filters(after=date(2026, 1, 1), country="BR", languages=("pt",), domains=("-b.com",)),
        Filters(before=date(2026, 1, 1), languages=("ja", "zh"), mode="web"),
        Filters(after=date(2027, 1, 1)),
        Filters(domains=("a.example", *(f"site{n}.example" for n in range(14)))),
    ],
)
async def test_brave_takes_whatever_filters_are_sent(brave: Brave, filters: Filters) -> None:
    asked = " ".join(["word"] * 100)

    assert (await brave.search(Query(text=asked, filters=filters, max_results=20))).results
    assert (await brave.search(Query(text=asked, filters=filters, news=True))).results
    assert (await brave.answer(question(asked, filters=filters))).passages


async def test_a_filter_that_is_only_a_preference_is_noted(brave: Brave) -> None:
    notes = ("Brave knows no hour, so these are from the past day.",)
    filters = Filters(recency="hour")

    assert (await brave.search(Query(text="x", filters=filters))).notes == notes
    assert (await brave.answer(question(filters=filters))).notes == notes


async def test_a_question_longer_than_any_query_is_cut(fake: FakeBrave, brave: Brave) -> None:
    await brave.answer(question("long " * 5_000))

    assert len(fake.requests[0].query["q"].split()) == 50


@pytest.mark.parametrize(
    ("query", "field"),
    [
        (Query(text=" "), "query"),
        (Query(text="x", max_results=21), "max_results"),
        (Query(text="x", filters=Filters(mode="sec")), "mode"),
        (Query(text="x", filters=Filters(country="XX")), "country"),
        (Query(text="x", filters=Filters(domains=tuple(f"{'long' * 15}{n}.example" for n in range(8)))), "domain"),
    ],
)
async def test_a_query_that_is_wrong_is_not_sent(fake: FakeBrave, brave: Brave, query: Query, field: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        await brave.search(query)

    assert (caught.value.field, caught.value.provider, fake.requests) == (field, "Brave", [])


ERRORS: list[tuple[int, str, type[PerplexityError]]] = [
    (422, "SUBSCRIPTION_TOKEN_INVALID", AuthenticationError),
    (404, "SUBSCRIPTION_NOT_FOUND", AuthenticationError),
    (403, "RESOURCE_NOT_ALLOWED", AuthenticationError),
    (400, "OPTION_NOT_IN_PLAN", AuthenticationError),
    (429, "QUOTA_LIMITED", BillingError),
    (422, "VALIDATION", InvalidRequest),
    (400, "SOMETHING_NEW", InvalidRequest),
]


@pytest.mark.parametrize("told", ERRORS, ids=lambda told: told[1])
@pytest.mark.parametrize("listed", [False, True], ids=["error", "errors"])
async def test_an_error_is_known_by_its_code_and_not_tried_again(
    fake: FakeBrave, brave: Brave, told: tuple[int, str, type[PerplexityError]], listed: bool
) -> None:
    status, code, kind = told
    body = error(status, code, "Say why.")
    if listed:
        body["errors"] = [body.pop("error")]
    fake.fail(WEB, status=status, body=body, headers={"X-RateLimit-Reset": "1, 1419704"})

    with pytest.raises(PerplexityError) as caught:
        await brave.search(Query(text="x"))

    assert (type(caught.value), caught.value.type, caught.value.status) == (kind, code, status)
    assert (caught.value.message, caught.value.provider, len(fake.requests)) == ("Say why.", "Brave", 1)


async def test_a_wrong_key_is_a_wrong_key(fake: FakeBrave, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, logger="perplexity"):
        async with Brave("BSA-wrong", base_url=fake.base_url) as brave:
            with pytest.raises(AuthenticationError) as caught:
                await brave.search(Query(text="secret words"))

    told = f"{caught.value} {vars(caught.value)} {caplog.text} {vars(brave)}"
    assert ("BSA-wrong" in told, "secret" in told) == (False, False)


async def test_a_limit_is_waited_for_as_long_as_its_first_number_says(
    fake: FakeBrave, brave: Brave, time: Time
) -> None:
    fake.fail(WEB, status=429, body=error(429, "RATE_LIMITED"), headers={"X-RateLimit-Reset": "1, 1419704"})

    assert (await brave.search(Query(text="x"))).results
    assert time.slept == [1.0]


async def test_a_limit_that_does_not_fit_is_not_waited_for(fake: FakeBrave, brave: Brave, time: Time) -> None:
    fake.fail(WEB, status=429, body=error(429, "RATE_LIMITED"), headers={"X-RateLimit-Reset": "20, 1419704"})

    with pytest.raises(RateLimitError) as caught:
        await brave.search(Query(text="x"))

    assert (caught.value.retry_after, time.slept) == (20.0, [])


async def test_a_server_in_trouble_is_asked_again(fake: FakeBrave, brave: Brave) -> None:
    fake.script(CONTEXT, *[json_reply({}, status=503)] * 3)

    with pytest.raises(ServerError):
        await brave.answer(question())

    assert len(fake.requests) == 3


@pytest.mark.parametrize("body", [{"grounding": {"generic": []}}, {"grounding": {}, "sources": {}}])
async def test_an_answer_without_passages_is_nothing_found(fake: FakeBrave, brave: Brave, body: object) -> None:
    fake.script(CONTEXT, json_reply(body))

    with pytest.raises(NothingFound) as caught:
        await brave.answer(question())

    assert caught.value.provider == "Brave"


@pytest.mark.parametrize("chunks", [(), (b'{"web": ',), (b"<html></html>",)], ids=["empty", "cut", "html"])
async def test_an_unreadable_reply_is_asked_for_again(fake: FakeBrave, brave: Brave, chunks: tuple[bytes, ...]) -> None:
    for path in (WEB, CONTEXT):
        fake.script(path, *[Fault(chunks=chunks)] * 2)

    found, answer = await brave.search(Query(text="python")), await brave.answer(question())

    assert (bool(found.results), bool(answer.passages)) == (True, True)
    assert [request.path for request in fake.requests] == [WEB] * 3 + [CONTEXT] * 3


async def test_another_shape_is_malformed(fake: FakeBrave, brave: Brave) -> None:
    fake.script(WEB, json_reply(json.loads(fixture("brave.news.200.json"))))

    with pytest.raises(MalformedResponse) as caught:
        await brave.search(Query(text="x"))

    assert caught.value.provider == "Brave"


async def test_it_keeps_to_the_seconds_it_is_given(fake: FakeBrave) -> None:
    fake.hold()
    async with Brave(KEY, base_url=fake.base_url, timeouts=Timeouts(search=0.05)) as brave:
        with pytest.raises(TimedOut):
            await brave.search(Query(text="x"))
        with pytest.raises(TimedOut):
            await brave.answer(question())
    async with Brave(KEY, base_url=fake.base_url) as brave:
        with pytest.raises(TimedOut):
            await brave.answer(question(seconds=0.05))


def test_it_is_made_where_there_is_a_key() -> None:
    assert build(ProviderConfig()) is None
    assert isinstance(build(ProviderConfig(keys={"brave": KEY})), Brave)
