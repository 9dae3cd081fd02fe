from __future__ import annotations

import asyncio
import logging
import traceback
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aioresponses import aioresponses

from perplexity.client import PerplexityClient
from perplexity.errors import (
    AuthenticationError,
    BillingError,
    ConnectionFailed,
    InvalidRequest,
    MalformedResponse,
    PerplexityError,
    RateLimitError,
    RunFailed,
    ServerError,
    StreamTruncated,
    TimedOut,
)
from perplexity.filters import Filters
from perplexity.models import Timeouts
from perplexity.retry import RetryPolicy
from perplexity.types import Message, Query, Question
from tests.fakes.perplexity import KEY, MODELS, FakePerplexity, Fault, fixture, json_reply, sse, stream_reply
from tests.fakes.time import Time

HTML = Fault(status=524, chunks=(b"<html>cloudflare</html>",), content_type="text/html")


@asynccontextmanager
async def connected(fake: FakePerplexity, **more: Any) -> AsyncIterator[PerplexityClient]:
    options: dict[str, Any] = {"base_url": fake.base_url, "retry": RetryPolicy(base=0.001), **more}
    async with PerplexityClient(KEY, **options) as client:
        yield client


@pytest.fixture
async def fake() -> AsyncIterator[FakePerplexity]:
    async with FakePerplexity() as server:
        yield server


@pytest.fixture
async def client(fake: FakePerplexity) -> AsyncIterator[PerplexityClient]:
    async with connected(fake) as client:
        yield client


def paths(fake: FakePerplexity) -> list[str]:
    return [request.path for request in fake.requests]


async def test_search__a_text_is_enough(fake: FakePerplexity, client: PerplexityClient) -> None:
    results = await client.search(" python\nwheels ", Filters(recency="week"))

    expected = {
        "query": "python wheels",
        "max_results": 5,
        "max_tokens_per_page": 1024,
        "search_recency_filter": "week",
    }
    assert expected == fake.requests[0].json
    assert [source.title for source in results.results] == ["Example A", "Example B"]
    assert results.seconds > 0


async def test_search__never_gives_more_results_than_were_asked_for(
    fake: FakePerplexity, client: PerplexityClient
) -> None:
    pages = [{"url": f"https://a.example/{number}"} for number in range(9)]
    fake.script("/search", json_reply({"results": pages}), json_reply({"results": [pages[:4], pages[4:]]}))

    for _ in range(2):
        assert len((await client.search(Query(text="x", max_results=3))).results) == 3


async def test_search__a_query_keeps_its_filters(fake: FakePerplexity, client: PerplexityClient) -> None:
    await client.search(Query(text="x", filters=Filters(country="DE"), max_results=20))

    assert (fake.requests[0].json["country"], fake.requests[0].json["max_results"]) == ("DE", 20)


async def test_answer__a_fast_one_is_one_plain_request(fake: FakePerplexity, client: PerplexityClient) -> None:
    answer = await client.answer("why")

    assert fake.requests[0].json == {"effort": "fast", "input": "why", "store": False}
    assert (answer.effort, answer.usage.cost_usd, answer.notes) == ("fast", 0.00114, ())
    assert answer.seconds > 0


async def test_answer__reasoning_is_read_from_a_stream(fake: FakePerplexity, client: PerplexityClient) -> None:
    fast, reasoned = await client.answer("why"), await client.answer("why", reasoning=True)

    assert fake.requests[1].json == {"effort": "medium", "input": "why", "store": False, "stream": True}
    assert (fast.text, fast.sources, fast.usage) == (reasoned.text, reasoned.sources, reasoned.usage)
    assert reasoned.effort == "medium"


async def test_answer__the_effort_of_reasoning_is_a_setting(fake: FakePerplexity) -> None:
    async with connected(fake, reasoning_effort="low") as client:
        await client.answer("why", reasoning=True)

    assert fake.requests[0].json["effort"] == "low"


async def test_answer__a_pinned_model_has_no_effort(fake: FakePerplexity, client: PerplexityClient) -> None:
    answer = await client.answer("why", model="anthropic/claude-sonnet-5-5", reasoning=True)

    assert (answer.effort, answer.model) == (None, "openai/gpt-6-luna")


async def test_answer__everything_can_be_said_at_once(fake: FakePerplexity, client: PerplexityClient) -> None:
    messages = [Message(role="system", content="short"), Message(role="user", content="why")]

    answer = await client.answer(
        messages, model="sonar-pro", filters=Filters(languages=("de",), recency="day"), schema={"type": "object"}
    )

    body = fake.requests[0].json
    assert (body["effort"], body["language_preference"]) == ("fast", "de")
    assert [item["content"] for item in body["input"]] == ["short", "why"]
    assert {"type", "json_schema"} == set(body["response_format"])
    assert "in the language de if possible" in answer.notes[0]


async def test_answer__options_of_none_change_nothing(fake: FakePerplexity, client: PerplexityClient) -> None:
    question = Question(messages=(Message(role="user", content="why"),), model="low", filters=Filters(country="DE"))

    await client.answer(question, filters=None, model=None)

    body = fake.requests[0].json
    assert (body["effort"], body["tools"][0]["user_location"]) == ("low", {"country": "DE"})


async def test_what_is_wrong_is_refused_before_anything_is_sent(fake: FakePerplexity, client: PerplexityClient) -> None:
    wrong = [
        client.search("  "),
        client.search(Query(text="x", max_results=21)),
        client.search("x", Filters(country="XX")),
        client.answer(""),
        client.answer("x", model="gpt"),
        client.answer("x", filters=Filters(mode="academic")),
        client.answer("x", filters=Filters(domains=("https://a.com",))),
        client.answer("x", model="sonar", schema={}),
        client.answer([]),
        anext(client.stream("x", model="gpt")),
    ]

    outcomes = await asyncio.gather(*wrong, return_exceptions=True)

    assert [InvalidRequest] * len(wrong) == [type(outcome) for outcome in outcomes]
    assert fake.requests == []


PATHS = pytest.mark.parametrize(("path", "reasoning"), [("/search", False), ("/v1/agent", False), ("/v1/agent", True)])


async def ask(client: PerplexityClient, path: str, *, reasoning: bool = False) -> str:
    if path == "/search":
        return (await client.search("canary")).results[0].title
    return (await client.answer("canary", reasoning=reasoning)).text[:9]


@PATHS
@pytest.mark.parametrize(
    "fault",
    [
        Fault(status=408),
        Fault(status=409),
        json_reply({"error": {"type": "request_rate_limit_exceeded"}}, status=429),
        json_reply({}, status=500),
        HTML,
        Fault(reset=True),
        Fault(chunks=(b'{"ha',), reset=True),
    ],
    ids=["408", "409", "429", "500", "cloudflare", "no headers", "half a body"],
)
async def test_a_passing_failure_is_tried_again(
    fake: FakePerplexity, client: PerplexityClient, path: str, reasoning: bool, fault: Fault
) -> None:
    fake.script(path, fault, fault)

    assert (await ask(client, path, reasoning=reasoning)).startswith("Example")
    assert [path] * 3 == paths(fake)


@PATHS
@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        (json_reply({"error": {"type": "invalid_request", "message": "no"}}, status=400), InvalidRequest),
        (Fault(status=401, chunks=(fixture("err.401.insufficient_quota.json"),)), BillingError),
        (Fault(chunks=(b"x" * 1024 * 1024,) * 33), MalformedResponse),
    ],
    ids=["400", "no credit", "huge"],
)
async def test_a_lasting_failure_is_raised_at_once(
    fake: FakePerplexity, path: str, reasoning: bool, fault: Fault, expected: type[PerplexityError]
) -> None:
    fake.script(path, fault)

    async with connected(fake) as client:
        with pytest.raises(expected) as caught:
            await ask(client, path, reasoning=reasoning)

    provider = "Perplexity Search" if path == "/search" else "Perplexity"
    assert (provider, [path]) == (caught.value.provider, paths(fake))


UNREADABLE = pytest.mark.parametrize(
    "fault",
    [
        Fault(chunks=(b"<html>", b"</html>"), content_type="text/html"),
        Fault(),
        Fault(chunks=(b"[]",)),
        Fault(chunks=(b'{"results": [',)),
        Fault(chunks=(b"[" * 100_000,)),
    ],
    ids=["html", "empty", "no object", "cut", "deep"],
)


@UNREADABLE
@pytest.mark.parametrize("reasoning", [False, True])
async def test_an_unreadable_answer_may_be_paid_for_and_is_not_asked_for_again(
    fake: FakePerplexity, client: PerplexityClient, reasoning: bool, fault: Fault
) -> None:
    fake.script("/v1/agent", fault)

    with pytest.raises(MalformedResponse) as caught:
        await ask(client, "/v1/agent", reasoning=reasoning)

    assert (caught.value.provider, paths(fake)) == ("Perplexity", ["/v1/agent"])


@UNREADABLE
async def test_an_unreadable_search_is_asked_for_again(
    fake: FakePerplexity, client: PerplexityClient, fault: Fault
) -> None:
    fake.script("/search", fault, fault)

    found = await client.search("canary")

    assert (found.cost_usd, paths(fake)) == (0.005, ["/search"] * 3)


@UNREADABLE
async def test_an_unreadable_search_is_asked_for_again_in_its_time_only(fake: FakePerplexity, fault: Fault) -> None:
    fake.script("/search", *[fault] * 9)
    time = Time()

    async with connected(
        fake, retry=RetryPolicy(attempts=9, base=2.0), clock=time.clock, sleep=time.sleep, random=lambda: 1.0
    ) as client:
        with pytest.raises(MalformedResponse) as caught:
            await client.search(Query(text="canary", seconds=7.0))

    assert (caught.value.provider, time.slept, paths(fake)) == ("Perplexity Search", [2.0, 4.0], ["/search"] * 3)


@UNREADABLE
async def test_an_unreadable_list_of_models_is_asked_for_again(
    fake: FakePerplexity, client: PerplexityClient, fault: Fault
) -> None:
    fake.script("/v1/models", fault, fault)

    assert "perplexity/sonar" in await client.models()


@PATHS
async def test_after_three_attempts_the_failure_is_raised(
    fake: FakePerplexity, client: PerplexityClient, path: str, reasoning: bool
) -> None:
    fake.script(path, *[HTML] * 4)

    with pytest.raises(ServerError) as caught:
        await ask(client, path, reasoning=reasoning)

    assert (caught.value.status, caught.value.request_id, len(fake.requests)) == (524, "req-1", 3)


@PATHS
async def test_a_wait_that_does_not_fit_is_raised_at_once(
    fake: FakePerplexity, client: PerplexityClient, path: str, reasoning: bool
) -> None:
    fake.fail(path, status=429, body={}, headers={"Retry-After": "90"})

    with pytest.raises(RateLimitError) as caught:
        await ask(client, path, reasoning=reasoning)

    assert (caught.value.retry_after, len(fake.requests)) == (90.0, 1)


async def test_the_date_of_retry_after_is_read_by_the_wall_clock(fake: FakePerplexity) -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    fake.fail("/search", status=429, body={}, headers={"Retry-After": "Sat, 21 Nov 2026 10:00:04 GMT"})
    async with connected(fake, sleep=sleep, now=lambda: 1_795_255_201.0, random=lambda: 0.0) as client:
        await client.search("x")

    assert slept == [3.0]


@pytest.mark.parametrize(
    "fault",
    [Fault(hang=True), Fault(chunks=(b'{"a":',), hang=True), Fault(chunks=(b" ",) * 500, pause=0.01)],
    ids=["silent", "half", "drip"],
)
@PATHS
async def test_the_deadline_ends_what_hangs(fake: FakePerplexity, path: str, reasoning: bool, fault: Fault) -> None:
    fake.script(path, *[fault] * 3)
    async with connected(fake, limits=Timeouts(search=0.4, answer=0.4, reasoning=0.4)) as client:
        async with asyncio.timeout(20):
            with pytest.raises(TimedOut):
                await ask(client, path, reasoning=reasoning)

    assert len(fake.requests) == 1


async def test_the_seconds_of_a_query_or_question_count_when_they_are_fewer(fake: FakePerplexity) -> None:
    fake.hold()
    async with connected(fake) as client, asyncio.timeout(20):
        outcomes = await asyncio.gather(
            client.search(Query(text="x", seconds=0.05)),
            client.answer("x", seconds=0.05),
            client.answer("x", seconds=0.05, reasoning=True),
            client.answer("x", seconds=0.05, model="high"),
            return_exceptions=True,
        )

    assert [TimedOut] * 4 == [type(outcome) for outcome in outcomes]


async def test_being_cancelled_is_passed_on(fake: FakePerplexity, client: PerplexityClient) -> None:
    fake.hold()
    asking = asyncio.create_task(client.answer("x"))
    await fake.wait_for(1)
    asking.cancel()

    with pytest.raises(asyncio.CancelledError):
        await asking


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        (json_reply({"status": "failed", "error": {"message": "boom"}, "output": []}), RunFailed),
        (stream_reply(sse({"type": "error", "error": {"message": "boom"}})), RunFailed),
        (stream_reply(sse({"type": "response.failed", "response": {"status": "failed"}})), RunFailed),
        (stream_reply(b"data: {not json\n\n"), MalformedResponse),
        (json_reply({"error": {"message": "boom"}}), RunFailed),
        (json_reply({"surprise": 1}), MalformedResponse),
    ],
    ids=["whole", "bare error", "failed", "not json", "error in a 200", "anything"],
)
async def test_reasoning__a_failure_in_the_stream_is_raised(
    fake: FakePerplexity, client: PerplexityClient, fault: Fault, expected: type[PerplexityError]
) -> None:
    fake.script("/v1/agent", fault)

    with pytest.raises(expected):
        await client.answer("why", reasoning=True)

    assert paths(fake) == ["/v1/agent"]


async def test_reasoning__an_answer_in_one_piece_is_taken_too(fake: FakePerplexity, client: PerplexityClient) -> None:
    fake.script("/v1/agent", Fault(chunks=(fixture("agent.200.json"),)))

    answer = await client.answer("why", reasoning=True)

    assert answer.text.startswith("Example answer")


async def test_reasoning__a_cut_stream_is_tried_again_and_never_a_short_answer(
    fake: FakePerplexity, client: PerplexityClient
) -> None:
    cut = stream_reply(fixture("agent.stream.completed.sse")[:2500])
    fake.script("/v1/agent", cut, cut, cut)

    with pytest.raises(StreamTruncated):
        await client.answer("why", reasoning=True)

    assert paths(fake).count("/v1/agent") == 3


async def test_the_key_is_in_no_error_no_log_and_no_repr(
    fake: FakePerplexity, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    secret = "canary-of-a-key"
    seen = []
    async with PerplexityClient(secret, base_url=fake.base_url, retry=RetryPolicy(attempts=1)) as client:
        fake.fail("/search", status=400, body={"error": {"message": f"Authorization: Bearer {secret} {secret}"}})
        fake.script("/v1/agent", Fault(reset=True))
        for path in ("/search", "/v1/agent", "/search"):
            with pytest.raises(PerplexityError) as caught:
                await ask(client, path)
            seen += [str(caught.value), repr(vars(caught.value)), "".join(traceback.format_exception(caught.value))]
        seen.append(repr(client))

    assert isinstance(caught.value, AuthenticationError)
    assert secret not in "".join(seen) + caplog.text
    assert "canary" not in caplog.text


async def test_requests_go_out_at_the_same_time(fake: FakePerplexity, client: PerplexityClient) -> None:
    fake.hold()
    asking = [asyncio.create_task(client.search(f"x{n}")) for n in range(50)]
    await fake.wait_for(50)
    fake.release()

    assert len(await asyncio.gather(*asking)) == 50


async def test_search__with_the_library_replaced() -> None:
    with aioresponses() as web:
        web.post("https://api.perplexity.ai/search", status=503, headers={"Retry-After": "0"})
        web.post("https://api.perplexity.ai/search", exception=ConnectionResetError())
        web.post("https://api.perplexity.ai/search", payload={"results": [{"url": "https://a.example", "title": "A"}]})
        async with PerplexityClient(KEY, retry=RetryPolicy(base=0.0)) as client:
            results = await client.search("x")

    assert [source.title for source in results.results] == ["A"]


async def test_answer__with_the_library_replaced() -> None:
    with aioresponses() as web:
        web.post("https://api.perplexity.ai/v1/agent", status=200, body="")
        async with PerplexityClient(KEY) as client:
            with pytest.raises(MalformedResponse, match="not JSON"):
                await client.answer("x")


async def test_a_refused_connection_is_a_connection_failure() -> None:
    async with PerplexityClient(KEY, base_url="http://127.0.0.1:9", retry=RetryPolicy(base=0.0)) as client:
        with pytest.raises(ConnectionFailed, match="ClientConnectorError"):
            await client.search("x")


async def test_the_models_are_listed_for_nothing() -> None:
    async with FakePerplexity() as fake, PerplexityClient(KEY, base_url=fake.base_url) as client:
        listed = await client.models()

    assert listed == MODELS
    assert [(request.method, request.path) for request in fake.requests] == [("GET", "/v1/models")]


async def test_a_wrong_key_may_list_nothing() -> None:
    async with FakePerplexity() as fake, PerplexityClient("pplx-another", base_url=fake.base_url) as client:
        with pytest.raises(AuthenticationError):
            await client.models()
