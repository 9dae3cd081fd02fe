from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from contextlib import nullcontext
from typing import Any

import pytest

from perplexity.client import PerplexityClient
from perplexity.errors import EndpointRetired, InvalidRequest, MalformedResponse, ServerError, StreamTruncated, TimedOut
from perplexity.filters import Filters
from perplexity.models import Timeouts
from perplexity.retry import RetryPolicy
from perplexity.types import Answer, Done, Event, Message, Question, Restarted, RunStarted, Sources, TextDelta
from tests.fakes.perplexity import KEY, FakePerplexity, Fault, fixture, json_reply, sse, stream_reply

CHAT, AGENT = "/chat/completions", "/v1/agent"
RETIRED = json.loads(fixture("err.403.chat_completions_not_available.json"))
MIGRATE = {
    "error": {"message": "Migrate.", "type": "agent_api_migration_required", "code": "agent_api_migration_required"}
}
LONG = Timeouts(reasoning=90.0)
"""More than the minute after which silent connections are cut."""


@pytest.fixture
async def fake() -> AsyncIterator[FakePerplexity]:
    async with FakePerplexity() as server:
        yield server


@pytest.fixture
async def retired() -> AsyncIterator[FakePerplexity]:
    async with FakePerplexity(retired=True) as server:
        yield server


def sonar(fake: FakePerplexity, **more: Any) -> PerplexityClient:
    options: dict[str, Any] = {"api": "sonar", "base_url": fake.base_url, "retry": RetryPolicy(base=0.001), **more}
    return PerplexityClient(KEY, **options)


def paths(fake: FakePerplexity) -> list[str]:
    return [request.path for request in fake.requests]


def chunk(piece: str, *, finish: str | None = None, kind: str = "chat.completion.chunk") -> dict[str, Any]:
    return {"object": kind, "choices": [{"delta": {"content": piece}, "finish_reason": finish}]}


def completion(content: str) -> Fault:
    return json_reply({"object": "chat.completion", "choices": [{"message": {"content": content}}]})


async def stream_events(client: PerplexityClient, **options: Any) -> list[Event]:
    return [event async for event in client.stream("why", **options)]


def text(told: list[Event]) -> str:
    return "".join(event.text for event in told if isinstance(event, TextDelta))


def answer_in(told: list[Event]) -> Answer:
    assert isinstance(told[-1], Done)
    return told[-1].answer


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.message for record in caplog.records if record.levelno == logging.WARNING]


async def test_an_unknown_interface_is_refused() -> None:
    api: Any = "chat"
    with pytest.raises(InvalidRequest, match="agent or sonar"):
        PerplexityClient(KEY, api=api)


async def test_a_question_is_one_plain_request(fake: FakePerplexity) -> None:
    async with sonar(fake) as client:
        answer = await client.answer("why")

    assert paths(fake) == [CHAT]
    assert (answer.text, answer.reasoning, answer.model) == ("Answer.[1]", "plan", "sonar-pro")
    assert (answer.usage.cost_usd, len(answer.sources), answer.notes) == (0.0051, 1, ())


async def test_every_filter_is_taken(fake: FakePerplexity) -> None:
    async with sonar(fake) as client:
        answer = await client.answer("why", filters=Filters(mode="academic", languages=("de",)))

    assert (fake.requests[0].json["search_mode"], answer.notes) == ("academic", ())


async def test_a_search_stays_a_search(fake: FakePerplexity) -> None:
    async with sonar(fake) as client:
        await client.search("why")

    assert paths(fake) == ["/search"]


@pytest.mark.parametrize(("limits", "streams"), [(Timeouts(), None), (LONG, True)])
async def test_only_requests_that_may_take_over_a_minute_are_streamed(
    fake: FakePerplexity, limits: Timeouts, streams: Any
) -> None:
    async with sonar(fake, limits=limits) as client:
        answer = await client.answer("why", reasoning=True)

    assert fake.requests[0].json.get("stream") is streams
    assert (answer.text, answer.effort) == ("Answer.[1]", None)


async def test_deep_research_is_streamed_and_not_run_in_the_background(fake: FakePerplexity) -> None:
    async with sonar(fake) as client:
        await client.answer("why", model="high")

    body = fake.requests[0].json
    assert (body["model"], body["stream"], paths(fake)) == ("sonar-deep-research", True, [CHAT])


async def test_a_stream_gives_sources_and_text_and_the_whole_answer(fake: FakePerplexity) -> None:
    async with sonar(fake) as client:
        told = await stream_events(client)

    assert [type(event) for event in told] == [Sources, TextDelta, TextDelta, TextDelta, Done]
    assert text(told) == answer_in(told).text == "Answer.[1]"
    assert answer_in(told).seconds > 0


async def test_a_stream_may_end_with_a_reason_and_done(fake: FakePerplexity) -> None:
    fake.script(CHAT, stream_reply(sse(chunk("Answer"), chunk("", finish="stop")) + b"data: [DONE]\n\n"))

    async with sonar(fake) as client:
        told = await stream_events(client)

    assert answer_in(told).text == "Answer"


@pytest.mark.parametrize("tail", [b"", b"data: [DONE]\n\n"])
async def test_a_stream_without_a_reason_is_cut(fake: FakePerplexity, tail: bytes) -> None:
    fake.script(CHAT, stream_reply(sse(chunk("Half")) + tail))

    async with sonar(fake) as client:
        with pytest.raises(StreamTruncated):
            await stream_events(client)


async def test_an_error_in_a_stream_before_its_text_is_tried_again(fake: FakePerplexity) -> None:
    fake.script(CHAT, stream_reply(sse({"error": {"message": "no", "code": 502}})))

    async with sonar(fake) as client:
        told = await stream_events(client)

    assert answer_in(told).text == "Answer.[1]"


async def test_an_error_in_a_stream_after_text_is_raised(fake: FakePerplexity) -> None:
    fake.script(CHAT, stream_reply(sse(chunk("Half"), {"error": {"message": "no", "code": 502}})))

    async with sonar(fake) as client:
        with pytest.raises(ServerError):
            await stream_events(client)

    assert paths(fake) == [CHAT]


@pytest.mark.parametrize(
    "pieces",
    [
        ["<think>plan</think>", "Answer"],
        ["<thi", "nk>pl", "an</th", "ink>\n", "\nAns", "wer"],
        ["pl", "an</think>Answer"],
        list("<think>plan</think>Answer"),
    ],
)
async def test_what_a_model_thinks_is_never_a_part_of_the_stream(fake: FakePerplexity, pieces: list[str]) -> None:
    ended = {"object": "chat.completion.done", "choices": [{"message": {"content": "".join(pieces)}}]}
    fake.script(CHAT, stream_reply(sse(*map(chunk, pieces), ended)))

    async with sonar(fake) as client:
        told = await stream_events(client, reasoning=True)

    assert text(told) == "Answer" == answer_in(told).text
    assert answer_in(told).reasoning == "plan"


async def test_a_stream_without_a_marker_is_told_at_its_end_with_a_warning(
    fake: FakePerplexity, caplog: pytest.LogCaptureFixture
) -> None:
    async with sonar(fake) as client:
        told = await stream_events(client, reasoning=True)

    assert [type(event) for event in told] == [Sources, TextDelta, Done]
    assert (text(told), answer_in(told).reasoning) == ("Answer.[1]", None)
    assert warnings(caplog) == ["answer.no_think_marker"]


async def test_thinking_without_an_answer_is_no_answer(fake: FakePerplexity) -> None:
    fake.script(CHAT, completion("<think>plan</think>\n"))

    async with sonar(fake) as client:
        with pytest.raises(MalformedResponse):
            await client.answer("why", reasoning=True)


async def test_tools_are_left_out_with_one_warning(fake: FakePerplexity, caplog: pytest.LogCaptureFixture) -> None:
    fake.fail(CHAT, status=503, body={})

    async with sonar(fake) as client:
        answer = await client.answer("why", tools=({"type": "fetch_url"},))

    assert [("tools" in request.json) for request in fake.requests] == [False, False]
    assert answer.notes == ("Sonar models take no tools: they were left out.",)
    assert warnings(caplog) == ["answer.tools_left_out"]


async def test_tools_reach_the_agent_in_addition_to_its_search(
    fake: FakePerplexity, caplog: pytest.LogCaptureFixture
) -> None:
    async with sonar(fake, api="agent") as client:
        await client.answer("why", tools=({"type": "fetch_url"},))

    assert fake.requests[0].json["tools"] == [{"type": "web_search"}, {"type": "fetch_url"}]
    assert warnings(caplog) == []


@pytest.mark.parametrize("tool", [{"type": "function", "name": "f"}, {}, {"type": 3}])
async def test_a_tool_without_a_handler_is_refused(fake: FakePerplexity, tool: dict[str, Any]) -> None:
    async with sonar(fake, api="agent") as client:
        with pytest.raises(InvalidRequest, match="tools"):
            await client.answer("why", tools=(tool,))

    assert fake.requests == []


@pytest.mark.parametrize("body", [RETIRED, MIGRATE])
async def test_a_retired_endpoint_is_left_for_good_and_the_question_is_answered(
    fake: FakePerplexity, caplog: pytest.LogCaptureFixture, body: Any
) -> None:
    fake.fail(CHAT, status=403, body=body)

    async with sonar(fake) as client:
        answers = [await client.answer("why"), await client.answer("why")]
        told = await stream_events(client)

    assert paths(fake) == [CHAT, AGENT, AGENT, AGENT]
    assert {answer.model for answer in [*answers, answer_in(told)]} == {"openai/gpt-6-luna"}
    assert warnings(caplog) == ["answers.endpoint_retired"]


async def test_a_stream_leaves_it_too(retired: FakePerplexity, caplog: pytest.LogCaptureFixture) -> None:
    async with sonar(retired) as client:
        told = await stream_events(client, reasoning=True)

    assert paths(retired) == [CHAT, AGENT]
    assert isinstance(told[0], RunStarted)
    assert answer_in(told).text == text(told)
    assert warnings(caplog) == ["answers.endpoint_retired"]


async def test_a_stream_that_tells_it_as_an_event_leaves_it_too(fake: FakePerplexity) -> None:
    fake.script(CHAT, stream_reply(sse(RETIRED)))

    async with sonar(fake) as client:
        await stream_events(client)

    assert paths(fake) == [CHAT, AGENT]


async def test_a_stream_that_fails_after_text_is_not_restarted(fake: FakePerplexity) -> None:
    fake.script(CHAT, stream_reply(sse(chunk("Half"), RETIRED)))

    async with sonar(fake) as client:
        with pytest.raises(EndpointRetired):
            await stream_events(client)

    assert paths(fake) == [CHAT]


@pytest.mark.parametrize("shown", [False, True])
async def test_an_answer_that_fails_after_text_begins_anew_unless_the_text_was_shown(
    fake: FakePerplexity, shown: bool
) -> None:
    fake.script(CHAT, stream_reply(sse(chunk("Half"), RETIRED)))
    events: list[Event] = []
    asked = Question(messages=(Message(role="user", content="why"),), on_event=events.append, text_shown=lambda: shown)

    async with sonar(fake) as client:
        with pytest.raises(EndpointRetired) if shown else nullcontext():
            await client.answer(asked)

    assert paths(fake) == ([CHAT] if shown else [CHAT, AGENT])
    assert events.count(Restarted()) == (0 if shown else 1)


async def test_questions_at_once_leave_it_once(retired: FakePerplexity, caplog: pytest.LogCaptureFixture) -> None:
    retired.hold()
    async with sonar(retired) as client, asyncio.TaskGroup() as group:
        asked = [group.create_task(client.answer("why")) for _ in range(3)]
        asked_too = group.create_task(stream_events(client))
        await retired.wait_for(4)
        retired.release()

    assert sorted(paths(retired)) == [CHAT] * 4 + [AGENT] * 4
    assert {task.result().model for task in asked} == {"openai/gpt-6-luna"} == {answer_in(asked_too.result()).model}
    assert warnings(caplog) == ["answers.endpoint_retired"]


async def test_the_successor_has_only_the_time_that_is_left(retired: FakePerplexity) -> None:
    retired.script(AGENT, Fault(hang=True))

    async with sonar(retired) as client:
        with pytest.raises(TimedOut):
            await client.answer("why", seconds=0.8)

    assert paths(retired) == [CHAT, AGENT]


async def test_what_the_successor_cannot_carry_is_refused_by_it(retired: FakePerplexity) -> None:
    async with sonar(retired) as client:
        with pytest.raises(InvalidRequest, match="academic"):
            await client.answer("why", filters=Filters(mode="academic"))

    assert paths(retired) == [CHAT]


async def test_the_agents_own_end_is_an_error(fake: FakePerplexity) -> None:
    fake.fail(AGENT, status=403, body=RETIRED)

    async with sonar(fake, api="agent") as client:
        with pytest.raises(EndpointRetired):
            await client.answer("why")


async def test_another_403_changes_nothing(fake: FakePerplexity) -> None:
    fake.fail(CHAT, status=403, body={"error": {"message": "no", "type": "forbidden", "code": 403}})

    async with sonar(fake) as client:
        with pytest.raises(Exception, match="no"):
            await client.answer("why")
        await client.answer("why")

    assert paths(fake) == [CHAT, CHAT]


async def test_a_run_is_resumed_where_runs_are(fake: FakePerplexity) -> None:
    fake.runs["resp_1"] = [json.loads(fixture("agent.200.json"))]

    async with sonar(fake) as client:
        answer = await client.answer("why", model="high", run_id="resp_1")

    assert paths(fake) == [f"{AGENT}/resp_1"]
    assert answer.model == "openai/gpt-6-luna"
