from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from time import monotonic
from typing import Any

import pytest

from perplexity.api import ApiClient
from perplexity.api import Runs as PollingRuns
from perplexity.client import PerplexityClient
from perplexity.errors import (
    AuthenticationError,
    ConnectionFailed,
    MalformedResponse,
    PerplexityError,
    RateLimitError,
    RequestCancelled,
    RunFailed,
    ServerError,
    TimedOut,
)
from perplexity.retry import Deadline, Retrier, RetryPolicy
from perplexity.transport import Transport
from perplexity.types import Done, Message, Question, RunStarted, SearchQueries, Sources, TextDelta
from tests.fakes.perplexity import KEY, FakePerplexity, Fault, json_reply, sse, stream_reply
from tests.fakes.time import Time

RUN = "/v1/agent/resp_1"


class Runs:
    """Remembers the ids it is told, and how many requests had been made by then."""

    def __init__(self, fake: FakePerplexity) -> None:
        self._fake = fake
        self.told: list[tuple[str, int]] = []

    async def __call__(self, run_id: str) -> None:
        await asyncio.sleep(0)
        self.told.append((run_id, len(self._fake.requests)))


@pytest.fixture
async def fake() -> AsyncIterator[FakePerplexity]:
    async with FakePerplexity(polls=3) as server:
        yield server


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
async def client(fake: FakePerplexity, time: Time) -> AsyncIterator[PerplexityClient]:
    options: dict[str, Any] = {"clock": time.clock, "sleep": time.sleep, "random": lambda: 0.0}
    async with PerplexityClient(KEY, base_url=fake.base_url, retry=RetryPolicy(), **options) as client:
        yield client


def calls(fake: FakePerplexity) -> list[str]:
    return [f"{request.method} {request.path}" for request in fake.requests]


async def test_a_deep_answer_is_started_once_and_asked_for_until_it_is_there(
    fake: FakePerplexity, client: PerplexityClient, time: Time
) -> None:
    runs = Runs(fake)

    answer = await client.answer("why", model="sonar-deep-research", on_run=runs)

    assert fake.requests[0].json == {"effort": "high", "input": "why", "store": True, "background": True}
    assert ["POST /v1/agent", *[f"GET {RUN}"] * 4] == calls(fake)
    assert runs.told == [("resp_1", 1)]
    assert time.slept == [1, 2, 3, 4]
    assert (answer.effort, answer.id) == ("high", "resp_1")
    assert answer.text.startswith("Example answer")


async def test_a_run_is_resumed_by_its_id_and_not_paid_twice(fake: FakePerplexity, client: PerplexityClient) -> None:
    await client.answer("why", model="high")
    fake.requests.clear()
    runs = Runs(fake)

    answer = await client.answer("why", model="high", run_id="resp_1", on_run=runs)

    assert ([f"GET {RUN}"], []) == (calls(fake), runs.told)
    assert answer.text.startswith("Example answer")


async def test_a_run_that_the_service_does_not_know_has_failed_and_no_other_is_started(
    fake: FakePerplexity, client: PerplexityClient
) -> None:
    with pytest.raises(RunFailed, match="does not know"):
        await client.answer("why", model="high", run_id="resp_9")

    assert calls(fake) == ["GET /v1/agent/resp_9"]


async def test_a_run_is_resumed_whatever_the_effort_is_now(fake: FakePerplexity, client: PerplexityClient) -> None:
    await client.answer("why", model="high")

    answer = await client.answer("why", run_id="resp_1")

    assert answer.id == "resp_1"


async def test_a_service_outage_does_not_lose_the_run(fake: FakePerplexity, client: PerplexityClient) -> None:
    fake.script(RUN, *[Fault(status=502)] * 4, Fault(reset=True), Fault(status=429, headers={"Retry-After": "7"}))

    answer = await client.answer("why", model="high")

    assert answer.id == "resp_1"
    assert calls(fake).count("POST /v1/agent") == 1


async def test_nonsense_in_between_does_not_lose_the_run(fake: FakePerplexity, client: PerplexityClient) -> None:
    fake.script(RUN, Fault(chunks=(b"<html>",)), Fault(chunks=(b"[]",)), Fault(chunks=(b"",)))

    answer = await client.answer("why", model="high")

    assert answer.id == "resp_1"
    assert fake.cancelled == []


async def test_one_question_for_the_state_that_hangs_does_not_use_up_the_run_s_time(fake: FakePerplexity) -> None:
    fake.script(RUN, Fault(hang=True), Fault(hang=True))
    transport = Transport(KEY, base_url=fake.base_url)
    retries = Retrier(policy=RetryPolicy(), sleep=Time().sleep, random=lambda: 0.0)
    asked = ApiClient(transport=transport, retries=retries, now=lambda: 0.0)
    runs = PollingRuns(api=asked, path="/v1/agent", sleep=Time().sleep, poll_seconds=0.2)
    deadline = Deadline.after(20, monotonic)

    begun = await runs.create({"effort": "high", "input": "why", "background": True, "store": True}, deadline=deadline)
    states = [state async for state in runs.states("resp_1", state=begun, deadline=deadline)]
    await transport.close()

    assert (states[-1]["status"], deadline.remaining() > 15) == ("completed", True)


async def refuse(run_id: str) -> None:
    raise RequestCancelled("not wanted")


async def test_a_run_that_is_taken_back_is_cancelled(fake: FakePerplexity) -> None:
    async with PerplexityClient(KEY, base_url=fake.base_url) as client:
        with pytest.raises(RequestCancelled):
            await client.answer("why", model="high", on_run=refuse)

    assert fake.cancelled == ["resp_1"]


async def test_a_run_whose_time_is_up_is_cancelled(fake: FakePerplexity, time: Time) -> None:
    fake.script(RUN, *[json_reply({"id": "resp_1", "status": "in_progress"})] * 500)
    async with PerplexityClient(KEY, base_url=fake.base_url, clock=time.clock, sleep=time.sleep) as client:
        with pytest.raises(TimedOut):
            await client.answer("why", model="high")

    assert fake.cancelled == ["resp_1"]
    assert 590 < time.now <= 600


async def test_a_run_that_has_ended_badly_is_not_cancelled(fake: FakePerplexity) -> None:
    fake.script(RUN, json_reply({"id": "resp_1", "status": "failed"}))
    async with PerplexityClient(KEY, base_url=fake.base_url) as client:
        with pytest.raises(RunFailed):
            await client.answer("why", model="high", on_run=None)

    assert fake.cancelled == []


async def test_a_run_with_an_unknown_state_is_cancelled(fake: FakePerplexity) -> None:
    fake.script(RUN, json_reply({"id": "resp_1", "status": "requires_action"}))
    async with PerplexityClient(KEY, base_url=fake.base_url) as client:
        with pytest.raises(MalformedResponse):
            await client.answer("why", model="high")

    assert fake.cancelled == ["resp_1"]


async def test_a_refusal_while_asking_is_raised(fake: FakePerplexity, client: PerplexityClient) -> None:
    fake.fail(RUN, status=401, body={"error": {"type": "invalid_api_key"}})

    with pytest.raises(AuthenticationError):
        await client.answer("why", model="high")


async def test_a_run_that_takes_too_long_times_out(fake: FakePerplexity, client: PerplexityClient, time: Time) -> None:
    fake.runs["resp_7"] = [{"id": "resp_7", "status": "in_progress"}]

    with pytest.raises(TimedOut) as caught:
        await client.answer("why", model="high", run_id="resp_7")

    assert caught.value.provider == "Perplexity"
    assert 590 < time.now <= 600
    assert max(time.slept) == 5


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        (Fault(reset=True), ConnectionFailed),
        (Fault(status=500), ServerError),
        (Fault(status=524), ServerError),
        (json_reply({"status": "queued"}), MalformedResponse),
        (json_reply({"id": 7, "status": "queued"}), MalformedResponse),
    ],
)
async def test_a_run_that_may_have_been_started_is_not_started_again(
    fake: FakePerplexity, client: PerplexityClient, fault: Fault, expected: type[PerplexityError]
) -> None:
    fake.script("/v1/agent", fault)

    with pytest.raises(expected):
        await client.answer("why", model="high")

    assert calls(fake) == ["POST /v1/agent"]


@pytest.mark.parametrize("status", [429, 503, 522])
async def test_a_run_that_was_surely_not_started_is_tried_again(
    fake: FakePerplexity, client: PerplexityClient, status: int
) -> None:
    fake.script("/v1/agent", Fault(status=status))

    answer = await client.answer("why", model="high")

    assert (answer.id, calls(fake).count("POST /v1/agent")) == ("resp_1", 2)


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        ({"status": "failed", "error": {"message": "boom"}}, RunFailed),
        ({"status": "cancelled"}, RunFailed),
        ({"status": "requires_action"}, MalformedResponse),
        ({}, MalformedResponse),
        ({"status": ["odd"]}, MalformedResponse),
    ],
)
async def test_a_run_that_ends_badly_is_an_error(
    fake: FakePerplexity, client: PerplexityClient, state: dict[str, Any], expected: type[PerplexityError]
) -> None:
    fake.script(RUN, json_reply({"id": "resp_1", **state}))

    with pytest.raises(expected):
        await client.answer("why", model="high")


async def test_a_run_that_is_finished_at_once_is_not_asked_for(fake: FakePerplexity, client: PerplexityClient) -> None:
    output = [{"type": "message", "content": [{"type": "output_text", "text": "done"}]}]
    fake.script("/v1/agent", json_reply({"id": "resp_5", "status": "completed", "output": output}))

    answer = await client.answer("why", model="xhigh")

    assert (answer.text, calls(fake)) == ("done", ["POST /v1/agent"])


async def test_a_stream_of_a_deep_answer_has_the_same_events(fake: FakePerplexity, client: PerplexityClient) -> None:
    runs = Runs(fake)

    events = [event async for event in client.stream("why", model="high", on_run=runs)]

    assert [RunStarted, SearchQueries, Sources, TextDelta, Done] == [type(event) for event in events]
    assert RunStarted(id="resp_1") == events[0]
    assert runs.told == [("resp_1", 1)]


async def test_a_run_says_what_it_searches_for_while_it_runs(fake: FakePerplexity, client: PerplexityClient) -> None:
    searched = {"type": "search_results", "queries": ["q1"], "results": []}
    running = {"id": "resp_4", "status": "in_progress", "output": [searched]}
    text = {"type": "message", "content": [{"type": "output_text", "text": "done"}]}
    fake.runs["resp_4"] = [running, running, {"id": "resp_4", "status": "completed", "output": [searched, text]}]

    events = [event async for event in client.stream("why", model="high", run_id="resp_4")]

    assert [RunStarted, SearchQueries, TextDelta, Done] == [type(event) for event in events]
    assert events[1] == SearchQueries(queries=("q1",))


async def test_a_deep_answer_without_sources_has_none(fake: FakePerplexity, client: PerplexityClient) -> None:
    output = [{"type": "message", "content": [{"type": "output_text", "text": "done"}]}]
    fake.runs["resp_3"] = [{"id": "resp_3", "status": "completed", "output": output}]

    events = [event async for event in client.stream("why", model="high", run_id="resp_3")]

    assert [RunStarted, TextDelta, Done] == [type(event) for event in events]


async def test_a_shutdown_leaves_the_run_alone_so_that_it_can_be_resumed(fake: FakePerplexity) -> None:
    begun = asyncio.Event()

    async def on_run(run_id: str) -> None:
        begun.set()

    async with PerplexityClient(KEY, base_url=fake.base_url) as client:
        asking = asyncio.create_task(client.answer("why", model="high", on_run=on_run))
        await asyncio.wait_for(begun.wait(), 60)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking

    assert fake.cancelled == []


@pytest.mark.parametrize("hangs", [False, True])
async def test_an_abandoned_run_is_cancelled_even_while_its_id_is_handed_on(fake: FakePerplexity, hangs: bool) -> None:
    begun = asyncio.Event()

    async def on_run(run_id: str) -> None:
        begun.set()
        if hangs:
            await asyncio.Event().wait()

    async with PerplexityClient(KEY, base_url=fake.base_url) as client:
        question = Question(messages=(Message(role="user", content="why"),), model="high", resumable=False)
        asking = asyncio.create_task(client.answer(question, on_run=on_run))
        await asyncio.wait_for(begun.wait(), 60)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking

    assert fake.cancelled == ["resp_1"]


async def test_an_abandoned_quick_answer_is_cancelled_too(fake: FakePerplexity) -> None:
    begun = sse({"type": "response.created", "response": {"id": "resp_1"}})
    question = Question(messages=(Message(role="user", content="why"),), resumable=False)
    async with PerplexityClient(KEY, base_url=fake.base_url) as client:
        # Nothing tells from outside when the id has arrived, so a slow machine is given more and more time.
        for seconds in (0.1, 1.0, 5.0):
            fake.script("/v1/agent", stream_reply(begun, hang=True))
            asking = asyncio.create_task(client.answer(question))
            await asyncio.wait([asking], timeout=seconds)
            asking.cancel()
            await asyncio.wait([asking])
            await asyncio.wait([asyncio.create_task(fake.cancel_requested.wait())], timeout=seconds)
            if fake.cancelled:
                break

    assert fake.cancelled == ["resp_1"]


@pytest.mark.parametrize("asked", ["7200", "300", "Fri, 31 Dec 9999 23:59:59 GMT", "9" * 40])
async def test_a_long_limit_before_the_run_began_is_raised_at_once(
    fake: FakePerplexity, client: PerplexityClient, time: Time, asked: str
) -> None:
    fake.script("/v1/agent", Fault(status=429, headers={"Retry-After": asked}))

    with pytest.raises(RateLimitError):
        await client.answer("why", model="high")

    assert (time.slept, calls(fake)) == ([], ["POST /v1/agent"])


@pytest.mark.parametrize("asked", ["7200", "Fri, 31 Dec 9999 23:59:59 GMT", "9" * 40])
async def test_a_limit_that_outlasts_the_run_s_time_ends_it_at_once(
    fake: FakePerplexity, client: PerplexityClient, time: Time, asked: str
) -> None:
    fake.script(RUN, Fault(status=429, headers={"Retry-After": asked}))

    with pytest.raises(RateLimitError):
        await client.answer("why", model="high")
    await asyncio.wait_for(fake.cancel_requested.wait(), 60)

    assert (time.slept, fake.cancelled) == ([1.0], ["resp_1"])
