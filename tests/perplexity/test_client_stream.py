from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import replace

import pytest

from perplexity.client import PerplexityClient
from perplexity.errors import ConnectionFailed, InvalidRequest, PerplexityError, RunFailed, StreamTruncated, TimedOut
from perplexity.filters import Filters
from perplexity.retry import RetryPolicy
from perplexity.types import Done, Event, Message, Question, Restarted, RunStarted, SearchQueries, Sources, TextDelta
from tests.fakes.perplexity import KEY, FakePerplexity, Fault, fixture, sse, stream_reply

RUN = "resp_00000000-0000-4000-8000-000000000001"
RECORDED = fixture("agent.stream.completed.sse")
CREATED = sse({"type": "response.created", "response": {"id": RUN}})
SOME = CREATED + sse({"type": "response.output_text.delta", "delta": "half", "item_id": "m"})
CANCEL = f"/v1/agent/{RUN}/cancel"


@pytest.fixture
async def fake() -> AsyncIterator[FakePerplexity]:
    async with FakePerplexity() as server:
        yield server


@pytest.fixture
async def client(fake: FakePerplexity) -> AsyncIterator[PerplexityClient]:
    async with PerplexityClient(KEY, base_url=fake.base_url, retry=RetryPolicy(base=0.001)) as client:
        yield client


async def collect(
    client: PerplexityClient, *, seconds: float | None = None, into: list[Event] | None = None
) -> list[Event]:
    events = [] if into is None else into
    async for event in client.stream("why", seconds=seconds):
        events.append(event)
    return events


def asked(events: list[Event]) -> Question:
    return Question(messages=(Message(role="user", content="why"),), on_event=events.append)


async def test_events_come_in_order_and_done_is_the_last(fake: FakePerplexity, client: PerplexityClient) -> None:
    events = [event async for event in client.stream("why", filters=Filters(languages=("de",)))]

    kinds = [type(event) for event in events]
    assert [RunStarted, SearchQueries, Sources, TextDelta, TextDelta, TextDelta, Done] == kinds
    done = events[-1]
    assert isinstance(done, Done)
    assert done.answer.text == "".join(event.text for event in events if isinstance(event, TextDelta))
    assert (done.answer.effort, done.answer.seconds > 0) == ("fast", True)
    assert "in the language de if possible" in done.answer.notes[0]
    assert fake.requests[0].json["stream"]


async def test_a_stream_keeps_to_the_domains(client: PerplexityClient) -> None:
    events = [event async for event in client.stream("why", filters=Filters(domains=("b.example",)))]

    *_, done = events
    assert isinstance(done, Done)
    assert [source.number for source in done.answer.sources] == [2]
    assert done.answer.text == "Example answer with a claim. Another claim — ü.[2]"
    assert done.answer.text == "".join(event.text for event in events if isinstance(event, TextDelta))
    assert done.answer.notes == ("1 source outside b.example left out, with 1 reference to it.",)
    for event in events:
        if isinstance(event, Sources):
            assert {source.url for source in event.sources} == {"https://b.example/2"}


@pytest.mark.parametrize(
    "fault",
    [
        stream_reply(*(RECORDED[n : n + 1] for n in range(0, len(RECORDED), 1))),
        stream_reply(RECORDED.replace(b"\n", b"\r\n")),
        stream_reply(b": ping\n\n" + RECORDED + b"data: [DONE]\n\n"),
        stream_reply(RECORDED.removesuffix(b"\n")),
        stream_reply(RECORDED + b"data: [DONE]\n"),
        stream_reply(
            RECORDED.replace(b'data: {"type": "response.completed"', b'event: response.completed\ndata: {"kind": ""')
        ),
        stream_reply(RECORDED, hang=True),
        stream_reply(b"data:\n\n" + RECORDED),
        stream_reply(b'data: 1\n\ndata: "ping"\n\ndata: [1]\n\ndata: ping\n\n' + RECORDED),
        stream_reply(RECORDED + b"data:\n"),
    ],
    ids=[
        "bytewise",
        "crlf",
        "comments and DONE",
        "no last line",
        "DONE cut",
        "named events",
        "left open",
        "empty event",
        "heartbeats",
        "empty event cut",
    ],
)
async def test_a_stream_is_read_however_it_is_written(
    fake: FakePerplexity, client: PerplexityClient, fault: Fault
) -> None:
    fake.script("/v1/agent", fault)

    events = await collect(client)

    assert isinstance(events[-1], Done)
    assert events[-1].answer.text == "Example answer with a claim.[1] Another claim — ü.[2]"


async def test_before_the_first_event_a_failure_is_tried_again(fake: FakePerplexity, client: PerplexityClient) -> None:
    fake.script("/v1/agent", Fault(status=503), stream_reply(b": ping\n\n", reset=True))

    events = await collect(client)

    assert (len(fake.requests), sum(isinstance(event, RunStarted) for event in events)) == (3, 1)


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        (stream_reply(SOME), StreamTruncated),
        (stream_reply(SOME + b'data: {"type": "response.compl'), StreamTruncated),
        (stream_reply(SOME + b'data: {"type": "response.compl\n'), StreamTruncated),
        (stream_reply(SOME + b"data: [DONE]\n\n"), StreamTruncated),
        (stream_reply(SOME + b"data: [DONE]\n"), StreamTruncated),
        (stream_reply(SOME, reset=True), ConnectionFailed),
        (stream_reply(SOME + sse({"type": "error", "error": {"message": "boom"}})), RunFailed),
    ],
    ids=["ended", "cut", "cut line", "DONE", "DONE cut", "reset", "error"],
)
async def test_after_the_first_event_a_failure_is_raised_and_nothing_is_tried_again(
    fake: FakePerplexity, client: PerplexityClient, fault: Fault, expected: type[PerplexityError]
) -> None:
    fake.script("/v1/agent", fault)
    events: list[Event] = []

    with pytest.raises(expected) as caught:
        await collect(client, into=events)

    assert [RunStarted(id=RUN), TextDelta(text="half")] == events
    assert (caught.value.provider, [r.path for r in fake.requests].count("/v1/agent")) == ("Perplexity", 1)


async def test_an_answer_reports_its_events(fake: FakePerplexity, client: PerplexityClient) -> None:
    events: list[Event] = []

    answer = await client.answer(asked(events))

    kinds = [type(event) for event in events]
    assert kinds == [RunStarted, SearchQueries, Sources, TextDelta, TextDelta, TextDelta]
    assert answer.text == "".join(event.text for event in events if isinstance(event, TextDelta))
    assert fake.requests[0].json["stream"]


async def test_an_answer_that_broke_off_begins_anew_and_says_so(fake: FakePerplexity, client: PerplexityClient) -> None:
    fake.script("/v1/agent", stream_reply(SOME))
    events: list[Event] = []

    answer = await client.answer(asked(events))

    begun = events.index(Restarted())
    assert [event.text for event in events[:begun] if isinstance(event, TextDelta)] == ["half"]
    assert answer.text == "".join(event.text for event in events[begun:] if isinstance(event, TextDelta))
    assert len(fake.requests) >= 2


@pytest.mark.parametrize("began", [True, False])
async def test_an_answer_of_which_text_was_shown_does_not_begin_anew(
    fake: FakePerplexity, client: PerplexityClient, began: bool
) -> None:
    created = sse({"type": "response.created", "response": {"id": RUN}})
    fake.script("/v1/agent", stream_reply(SOME if began else created))
    events: list[Event] = []

    with pytest.raises(StreamTruncated) as caught:
        await client.answer(replace(asked(events), text_shown=lambda: True))

    assert Restarted() not in events
    assert caught.value.began is began
    assert [request.path for request in fake.requests].count("/v1/agent") == 1


async def test_a_stream_that_is_left_early_is_cancelled_at_the_service(fake: FakePerplexity) -> None:
    fake.script("/v1/agent", stream_reply(SOME, hang=True))
    async with PerplexityClient(KEY, base_url=fake.base_url) as client, aclosing(client.stream("why")) as events:
        assert RunStarted(id=RUN) == await anext(events)

    assert fake.cancelled == [RUN]


async def test_a_task_that_is_cancelled_cancels_its_run(fake: FakePerplexity) -> None:
    fake.script("/v1/agent", stream_reply(SOME, hang=True))
    async with PerplexityClient(KEY, base_url=fake.base_url) as client:
        told = asyncio.Event()

        async def listen() -> None:
            async for _ in client.stream("why"):
                told.set()

        listening = asyncio.create_task(listen())
        await asyncio.wait_for(told.wait(), 60)
        listening.cancel()
        with pytest.raises(asyncio.CancelledError):
            await listening

    assert fake.cancelled == [RUN]


async def test_a_reasoned_answer_whose_time_is_up_is_cancelled_at_the_service(fake: FakePerplexity) -> None:
    fake.script("/v1/agent", stream_reply(SOME, hang=True))
    async with PerplexityClient(KEY, base_url=fake.base_url) as client:
        with pytest.raises(TimedOut):
            await client.answer("why", reasoning=True, seconds=0.8)

    assert fake.cancelled == [RUN]


async def test_a_finished_stream_is_not_cancelled(fake: FakePerplexity) -> None:
    async with PerplexityClient(KEY, base_url=fake.base_url) as client:
        await collect(client)
        fake.script("/v1/agent", stream_reply(SOME + sse({"type": "response.failed"})))
        with pytest.raises(RunFailed):
            await collect(client)

    assert fake.cancelled == []


async def test_a_service_that_does_not_cancel_delays_no_caller(fake: FakePerplexity) -> None:
    fake.script("/v1/agent", stream_reply(SOME, hang=True))
    fake.fail(CANCEL, status=404, body={})
    async with PerplexityClient(KEY, base_url=fake.base_url) as client, aclosing(client.stream("why")) as events:
        await anext(events)

    assert fake.requests[-1].path == CANCEL


async def test_a_stream_past_its_deadline_is_reported_as_a_timeout(
    fake: FakePerplexity, client: PerplexityClient
) -> None:
    fake.script("/v1/agent", stream_reply(SOME, hang=True))

    with pytest.raises(TimedOut):
        await collect(client, seconds=0.2)


async def test_cancel__stops_a_run(fake: FakePerplexity, client: PerplexityClient) -> None:
    await client.cancel(RUN)

    assert fake.cancelled == [RUN]


async def test_cancel__a_run_that_has_ended_is_no_error_and_an_unknown_one_is(
    fake: FakePerplexity, client: PerplexityClient
) -> None:
    fake.fail(CANCEL, status=400, body={"error": {"type": "invalid_request", "message": "already terminal"}})
    await client.cancel(RUN)
    fake.fail(CANCEL, status=404, body={"error": {"type": "not_found", "message": "no such run"}})

    with pytest.raises(PerplexityError) as caught:
        await client.cancel(RUN)
    assert (caught.value.status, isinstance(caught.value, InvalidRequest)) == (404, False)


async def test_cancel__an_id_stays_one_part_of_the_path(fake: FakePerplexity, client: PerplexityClient) -> None:
    fake.script("/v1/agent/../../search?x/cancel", Fault(status=400))

    await client.cancel("../../search?x")

    assert [request.path for request in fake.requests] == ["/v1/agent/../../search?x/cancel"]
