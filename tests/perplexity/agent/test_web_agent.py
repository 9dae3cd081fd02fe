"""The agent against a model that really asks for tools."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from openai import AsyncOpenAI
from pydantic_ai.models.openrouter import OpenRouterModel
from pydantic_ai.providers.openrouter import OpenRouterProvider

from perplexity.agent import AgentLimits, WebAgent, build_model
from perplexity.agent.agent import LAST_STEP, NO_CALLS_LEFT
from perplexity.agent.results import NO_PAGES, UNCITED, UNSEARCHED
from perplexity.errors import (
    APIError,
    Attempt,
    AuthenticationError,
    BillingError,
    ConnectionFailed,
    InvalidRequest,
    MalformedResponse,
    PerplexityError,
    RateLimitError,
    RunFailed,
    ServerError,
    TimedOut,
    cost_with_failures,
)
from perplexity.filters import Filters
from perplexity.tools.base import Failure, Tool
from perplexity.types import Answer, AnswerKind, Message, Question, Source
from tests.fakes.model_server import (
    KEY,
    MODEL,
    Calls,
    FakeModelServer,
    Hangs,
    Replies,
    Resets,
    Says,
    Turn,
    calls,
)
from tests.fakes.silent import silent_server

LIMITS = AgentLimits(steps=4, calls=8, seconds=20, retries=0)
QUICK = AgentLimits(steps=4, calls=8, seconds=0.5, retries=0)
MOON = {"title": "The Moon", "url": "https://moon.example/", "snippet": "It is 384,400 km away.", "date": "2026-11-01"}
SUN = {"title": "The Sun", "url": "https://sun.example/", "snippet": "It is 149.6 million km away.", "date": None}


def pages_tool(pages: Mapping[str, Sequence[Mapping[str, Any]]]) -> Tool:
    """Return a search that finds these pages by query, and fails for others."""

    async def handler(query: str) -> str:
        return json.dumps(pages[query]) if query in pages else Failure("[WebSearch API returned status code 503]")

    parameters = {
        "type": "object",
        "properties": {"query": {"type": "string"}},
        "required": ["query"],
        "additionalProperties": False,
    }
    return Tool(name="WebSearch", description="Searches.", parameters=parameters, handler=handler)


SEARCH = pages_tool({"moon": [MOON], "sun": [SUN, MOON], "void": []})


def ask_about(text: str = "How far is the moon?", **options: Any) -> Question:
    return Question(messages=(Message(role="user", content=text),), **options)


async def run(
    *script: Turn, tools: Sequence[Tool] = (SEARCH,), limits: AgentLimits = LIMITS, question: Question | None = None
) -> tuple[Answer, FakeModelServer]:
    async with FakeModelServer(script) as server:
        model = build_model(server.base_url, name=MODEL, api_key=KEY)
        async with WebAgent(model, lambda _: tools, limits=limits) as agent:
            return await agent.answer(question or ask_about()), server


async def test_two_searches_deep_every_page_has_one_number_for_the_whole_run() -> None:
    answer, server = await run(
        calls("WebSearch", query="moon"), calls("WebSearch", query="sun"), Says(text="Far [1], farther [2].")
    )

    assert (answer.text, answer.provider, answer.model) == ("Far [1], farther [2].", "Agent", MODEL)
    assert answer.sources == (
        Source(number=1, title="The Moon", url=MOON["url"] or "", snippet=MOON["snippet"] or "", date="2026-11-01"),
        Source(number=2, title="The Sun", url=SUN["url"] or "", snippet=SUN["snippet"] or ""),
    )
    assert (answer.queries, answer.usage.searches, answer.notes) == (("moon", "sun"), 2, ())
    assert (answer.usage.input_tokens, answer.usage.output_tokens) == (300, 30)
    assert server.results(2)[1].startswith("<pages>\n[2] The Sun (no date) https://sun.example/\nIt is 149.6")
    assert "[1] The Moon (2026-11-01)" in server.results(2)[1]


async def test_pages_outside_the_domains_are_left_out_whatever_a_tool_returns() -> None:
    only = ask_about(filters=Filters(domains=("sun.example",)))

    answer, _ = await run(calls("WebSearch", query="sun"), Says(text="Far [1], near [2]."), question=only)
    stopped, _ = await run(calls("WebSearch", query="sun"), Resets(), question=only)

    for found in (answer, stopped):
        assert [source.url for source in found.sources] == [SUN["url"]]
    assert (answer.text, answer.notes) == (
        "Far [1], near.",
        ("1 source outside sun.example left out, with 1 reference to it.",),
    )
    assert stopped.notes[0] == "1 result outside sun.example left out."


async def test_the_prompt_has_the_day_the_tools_and_the_conversation() -> None:
    turns = (
        Message(role="system", content="Be kind."),
        Message(role="user", content="Hello"),
        Message(role="assistant", content="Hello!"),
        Message(role="user", content="How far is the moon?"),
    )
    async with FakeModelServer([Says(text="Far.")]) as server:
        model = build_model(server.base_url, name=MODEL, api_key=KEY)
        now = datetime(2026, 11, 21, tzinfo=UTC).timestamp()
        async with WebAgent(model, lambda _: [SEARCH], limits=LIMITS, now=lambda: now) as agent:
            answer = await agent.answer(Question(messages=turns))

    (request,) = server.requests
    system = " ".join(m["content"] for m in request["messages"] if m["role"] in ("system", "developer"))
    assert "Today is 2026-11-21" in system
    assert "Be kind." in system
    assert "- WebSearch: returns pages" in system
    assert "ask_web" not in system
    assert [m["content"] for m in request["messages"] if m["role"] in ("user", "assistant")] == [
        "Hello",
        "Hello!",
        "How far is the moon?",
    ]
    assert [tool["function"] | SEARCH.spec() for tool in request["tools"]] == [request["tools"][0]["function"]]
    assert (request["model"], server.keys) == (MODEL, [f"Bearer {KEY}"])
    assert answer.usage.input_tokens == 100


async def test_searches_side_by_side_are_both_made() -> None:
    both = Calls(wanted=(("WebSearch", {"query": "moon"}), ("WebSearch", {"query": "sun"})))

    answer, server = await run(both, Says(text="Far [1][2]."))

    assert (len(server.requests), len(server.results(1)), len(answer.sources)) == (2, 2, 2)


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (calls("WebSearch", question="moon"), "[WebSearch was called with wrong arguments: query is missing"),
        (calls("WebSearch", query=7), "query must be a string, not 7"),
        (calls("WebSearch", query="moon", count=3), "count is unknown"),
        (Calls(wanted=(("WebSearch", '{"query": '),)), "json"),
        (calls("Search", query="moon"), "WebSearch"),
    ],
)
async def test_a_wrong_call_is_explained_to_the_model_which_calls_again(wrong: Calls, told: str) -> None:
    answer, server = await run(wrong, calls("WebSearch", query="moon"), Says(text="Far [1]."))

    assert told.lower() in server.results(1)[0].lower()
    assert (answer.text, [source.url for source in answer.sources]) == ("Far [1].", [MOON["url"]])


async def test_an_address_in_a_failure_is_no_source() -> None:
    async def handler() -> str:
        return Failure("[find failed: see\nhttps://invented.example/]")

    tool = Tool(name="find", description="Finds.", parameters={"type": "object", "properties": {}}, handler=handler)

    answer, server = await run(calls("find"), Says(text="Far [1]."), tools=[tool])

    assert (answer.text, answer.sources) == ("Far.", ())
    assert server.results(1) == ["[find failed: see\nhttps://invented.example/]"]


async def test_a_failed_tool_is_reported_to_the_model_which_goes_on() -> None:
    answer, server = await run(calls("WebSearch", query="mars"), calls("WebSearch", query="sun"), Says(text="So [1]."))

    assert server.results(1) == ["[WebSearch API returned status code 503]"]
    assert answer.text == "So [1]."


@pytest.mark.parametrize(
    ("script", "text", "notes"),
    [
        (
            [Says(text="Far [1].")],
            "Far.",
            (UNSEARCHED, "1 reference was removed: no page that the agent found has that number."),
        ),
        ([calls("WebSearch", query="void"), Says(text="Far.")], "Far.", (NO_PAGES,)),
        ([calls("WebSearch", query="moon"), Says(text="Far.")], "Far.", (UNCITED,)),
        (
            [calls("WebSearch", query="moon"), Says(text="Far [4], [7].")],
            "Far,.",
            (UNCITED, "2 references were removed: no page that the agent found has that number."),
        ),
        (
            [calls("WebSearch", query="moon"), Says(text="Far [1][9].")],
            "Far [1].",
            ("1 reference was removed: no page that the agent found has that number.",),
        ),
        (
            [calls("WebSearch", query="moon"), Says(text="[Far](https://moon.example/).")],
            "[Far](https://moon.example/).",
            (),
        ),
        (
            [
                calls("WebSearch", query="moon"),
                Says(text="Far [1], https://e.example [so](https://e.example/) [[3]](https://e.example/3)."),
            ],
            "Far [1], so.",
            (
                "1 reference was removed: no page that the agent found has that number.",
                "2 addresses were removed: no page that the agent found is there.",
            ),
        ),
        (
            [Says(text="See [this](https://e.example/).")],
            "See this.",
            (UNSEARCHED, "1 address was removed: no page that the agent found is there."),
        ),
    ],
)
async def test_only_pages_that_a_tool_returned_are_cited_and_the_rest_is_labelled(
    script: list[Turn], text: str, notes: tuple[str, ...]
) -> None:
    answer, _ = await run(*script)

    assert (answer.text, answer.notes) == (text, notes)


def obedient(messages: list[dict[str, Any]]) -> Turn:
    """Search until told to answer."""
    told = any(LAST_STEP in str(message["content"]) for message in messages)
    return Says(text="Far [1].") if told else calls("WebSearch", query="moon")


async def test_at_the_last_step_the_model_is_told_to_answer_and_offered_no_call() -> None:
    async with FakeModelServer(obedient) as server:
        model = build_model(server.base_url, name=MODEL, api_key=KEY)
        async with WebAgent(model, lambda _: [SEARCH], limits=LIMITS) as agent:
            answer = await agent.answer(ask_about())

    assert [request.get("tool_choice", "auto") for request in server.requests] == ["auto", "auto", "auto", "none"]
    assert (answer.text, answer.notes) == ("Far [1].", ())


async def test_a_loop_is_stopped_and_what_was_found_is_answered_with() -> None:
    answer, server = await run(calls("WebSearch", query="moon"))

    assert len(server.requests) == LIMITS.steps
    assert (answer.kind, [attempt.error_class for attempt in answer.failed]) == (AnswerKind.PASSAGES, ["RunFailed"])
    assert answer.text == "It is 384,400 km away. [1]"
    assert answer.usage.output_tokens == 40


async def test_a_loop_that_found_nothing_is_a_failure() -> None:
    with pytest.raises(RunFailed):
        await run(calls("WebSearch", query="void"))


async def test_calls_beyond_those_that_are_allowed_are_not_made_and_the_model_is_told_to_answer() -> None:
    greedy = Calls(wanted=(("WebSearch", {"query": "moon"}),) * 9)

    answer, server = await run(calls("WebSearch", query="sun"), greedy, Says(text="Far [1]."))

    assert [told == NO_CALLS_LEFT for told in server.results(2)] == [False] * 8 + [True] * 2
    assert (answer.text, answer.kind, answer.usage.searches) == ("Far [1].", AnswerKind.MODEL, LIMITS.calls)


async def test_a_model_that_keeps_calling_tools_reaches_the_step_limit() -> None:
    greedy = Calls(wanted=(("WebSearch", {"query": "void"}),) * 9)

    with pytest.raises(RunFailed, match="used all its steps"):
        await run(greedy)


def failing_tool(error: Exception) -> Tool:
    async def handler() -> str:
        raise error

    return Tool(name="find", description="Finds.", parameters={"type": "object", "properties": {}}, handler=handler)


BUGS = [ValueError("private"), KeyError("private"), AssertionError("private"), ExceptionGroup("private", [OSError()])]


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: type(bug).__name__)
async def test_a_bug_in_a_tool_leaves_what_was_found_and_its_class_in_the_log(
    bug: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    script = calls("WebSearch", query="moon"), calls("find")

    answer, _ = await run(*script, tools=[SEARCH, failing_tool(bug)])

    assert (answer.kind, answer.text) == (AnswerKind.PASSAGES, "It is 384,400 km away. [1]")
    assert [(attempt.provider, attempt.error_class) for attempt in answer.failed] == [("Agent", "RunFailed")]
    assert [record.__dict__["error"] for record in caplog.records if record.message == "agent.broke"] == [
        type(bug).__name__
    ]
    assert "private" not in caplog.text


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: type(bug).__name__)
async def test_a_bug_in_a_tool_without_a_page_is_one_of_our_errors(bug: Exception) -> None:
    with pytest.raises(RunFailed) as caught:
        await run(calls("find"), tools=[failing_tool(bug)])

    assert "private" not in str(caught.value)


async def test_a_tool_s_error_that_is_ours_is_kept() -> None:
    answer, _ = await run(
        calls("WebSearch", query="moon"), calls("find"), tools=[SEARCH, failing_tool(ConnectionFailed("no"))]
    )

    assert [attempt.error_class for attempt in answer.failed] == ["ConnectionFailed"]


async def test_a_model_that_hangs_is_left_in_time() -> None:
    with pytest.raises(TimedOut) as caught:
        await run(Hangs(), limits=QUICK)

    assert caught.value.provider == "Agent"


async def test_a_model_that_hangs_after_a_search_leaves_what_was_found() -> None:
    answer, _ = await run(calls("WebSearch", query="moon"), Hangs(), limits=QUICK)

    assert (answer.kind, answer.queries) == (AnswerKind.PASSAGES, ("moon",))
    assert [(attempt.provider, attempt.error_class) for attempt in answer.failed] == [("Agent", "TimedOut")]


async def test_a_question_s_own_seconds_hold_when_they_are_fewer() -> None:
    with pytest.raises(TimedOut):
        await run(Hangs(), question=ask_about(seconds=0.1))


async def test_a_run_that_is_cancelled_cancels_its_tools() -> None:
    began, cancelled = asyncio.Event(), asyncio.Event()

    async def handler() -> str:
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()
        return ""

    slow = Tool(name="slow", description="Waits.", parameters={"type": "object", "properties": {}}, handler=handler)
    running = asyncio.create_task(run(calls("slow"), tools=[slow]))
    await began.wait()
    running.cancel()

    with pytest.raises(asyncio.CancelledError):
        await running
    assert cancelled.is_set()


def error(status: int, message: str = "no", **headers: str) -> Replies:
    return Replies(status=status, body={"error": {"message": message, "code": status}}, headers=headers)


@pytest.mark.parametrize(
    ("turn", "kind"),
    [
        (error(400, "bad request"), InvalidRequest),
        (error(401), AuthenticationError),
        (error(402), BillingError),
        (error(403), APIError),
        (error(404, "no such model"), APIError),
        (error(429), RateLimitError),
        (error(500), ServerError),
        (Replies(status=502, body="<html>bad gateway</html>"), ServerError),
        (Replies(body="<html>hello</html>"), MalformedResponse),
        (Replies(body={}), MalformedResponse),
        (Replies(body={"error": {"message": "no", "code": 429}}), MalformedResponse),
        (Resets(), ConnectionFailed),
    ],
)
async def test_a_failure_of_the_endpoint_is_a_perplexity_error(turn: Turn, kind: type[PerplexityError]) -> None:
    with pytest.raises(PerplexityError) as caught:
        await run(turn)

    assert (type(caught.value), caught.value.provider) == (kind, "Agent")
    assert "How far" not in str(caught.value)
    assert KEY not in str(caught.value)


@pytest.mark.parametrize(
    ("turn", "kind"),
    [
        (error(401), "AuthenticationError"),
        (Says(text=""), "MalformedResponse"),
        (Says(text=" \n"), "MalformedResponse"),
        (Says(text="[9]"), "MalformedResponse"),
    ],
)
async def test_a_failed_run_answers_with_the_pages_it_found_and_reports_the_failure(turn: Turn, kind: str) -> None:
    answer, _ = await run(calls("WebSearch", query="moon"), turn)

    assert (answer.kind, answer.text) == (AnswerKind.PASSAGES, "It is 384,400 km away. [1]")
    assert [(attempt.provider, attempt.error_class) for attempt in answer.failed] == [("Agent", kind)]


def completion(finish_reason: object = "stop", /, **message: object) -> Replies:
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish_reason}
    body = {"id": "g", "object": "chat.completion", "created": 1, "model": MODEL, "choices": [choice]}
    return Replies(body=body)


def tool_call(**call: object) -> Replies:
    return completion(content=None, tool_calls=[call])


@pytest.mark.parametrize(
    "turn",
    [
        Replies(body=[]),
        Replies(body={"choices": []}),
        Replies(body={"id": "g", "object": "chat.completion", "created": 1, "model": MODEL, "choices": []}),
        Replies(body="no JSON"),
        completion(content=None),
        completion(content=7),
        completion("content_filter", content=None),
        completion(content=None, refusal="I will not."),
        completion(content="x", tool_calls="no"),
        tool_call(),
        tool_call(id="1", type="custom", custom={"name": "WebSearch", "input": "moon"}),
        tool_call(id="1", type="function", function={"name": None, "arguments": None}),
        *(
            tool_call(id="1", type="function", function={"name": "WebSearch", "arguments": arguments})
            for arguments in ("", "null", "[1, 2]", "7", "[" * 5000, '{"query": ["moon"]}', '{"": 1}')
        ),
    ],
)
async def test_garbage_raises_a_perplexity_error(turn: Turn) -> None:
    with pytest.raises((RunFailed, MalformedResponse)):
        await run(turn)


async def test_text_that_cannot_be_written_down_is_cleaned() -> None:
    answer, server = await run(calls("WebSearch", query="mo\ud800on"), completion(content="Far\ud800\0."))

    assert (answer.text, answer.queries) == ("Far?.", ())
    assert "json_invalid" in server.results(1)[0]


async def test_a_redirect_is_not_followed() -> None:
    async with FakeModelServer([Says(text="Mine.")]) as elsewhere:
        moved = Replies(status=307, headers={"Location": f"{elsewhere.base_url}/chat/completions"})

        with pytest.raises(PerplexityError):
            await run(moved)

    assert elsewhere.requests == []


async def test_a_limit_of_the_endpoint_says_how_long_to_wait() -> None:
    with pytest.raises(RateLimitError) as caught:
        await run(error(429, **{"Retry-After": "7"}))

    assert caught.value.retry_after == 7


async def test_an_error_that_may_pass_is_tried_again() -> None:
    limits = AgentLimits(steps=2, seconds=20, retries=1)

    answer, server = await run(error(503, **{"Retry-After": "0.01"}), Says(text="Far."), limits=limits)

    assert (answer.text, len(server.requests)) == ("Far.", 2)


async def test_an_answer_that_was_cut_says_so() -> None:
    answer, _ = await run(Says(text="Far and", finish_reason="length"))

    assert answer.incomplete == "length"


async def openrouter(
    *script: Turn,
    tool: Tool = SEARCH,
    question: Question | None = None,
    heard: list[Attempt] | None = None,
    **options: Any,
) -> tuple[Answer, list[Attempt]]:
    heard = [] if heard is None else heard
    async with (
        FakeModelServer(script, **options) as server,
        AsyncOpenAI(base_url=server.base_url, api_key=KEY) as client,
    ):
        model = OpenRouterModel(MODEL, provider=OpenRouterProvider(openai_client=client))
        async with WebAgent(model, lambda _: [tool], limits=LIMITS, on_attempt=heard.append) as agent:
            return await agent.answer(question or ask_about()), heard


async def test_earlier_turns_cost_nothing_again() -> None:
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2, "cost": 0.25}
    turns = [Message(role="user", content="Hello"), Message(role="assistant", content="Hello!"), *ask_about().messages]

    answer, _ = await openrouter(Says(text="Far."), usage=usage, question=Question(messages=tuple(turns)))

    assert (answer.usage.cost_usd, answer.usage.input_tokens) == (0.25, 1)


async def test_the_costs_of_the_model_and_of_its_tools_are_summed_and_the_attempt_s_is_the_model_s() -> None:
    async def handler() -> str:
        return json.dumps({"results": [MOON], "cost_usd": 0.125})

    tool = Tool(name="find", description="Finds.", parameters={"type": "object", "properties": {}}, handler=handler)
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2, "cost": 0.25}

    answer, (attempt,) = await openrouter(calls("find"), Says(text="Far [1]."), tool=tool, usage=usage)

    assert (answer.usage.cost_usd, attempt.cost_usd) == (0.625, 0.5)


async def test_a_tool_that_was_paid_for_and_failed_counts() -> None:
    async def handler() -> str:
        return Failure("[find failed]", cost_usd=0.125)

    tool = Tool(name="find", description="Finds.", parameters={"type": "object", "properties": {}}, handler=handler)

    answer, (attempt,) = await openrouter(calls("find"), Says(text="Far."), tool=tool, usage=TELLS_COST)

    assert (answer.usage.cost_usd, attempt.cost_usd) == (0.625, 0.5)


TELLS_COST = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2, "cost": 0.25}


async def test_a_run_that_was_stopped_cost_what_its_model_had_cost_by_then() -> None:
    answer, (attempt,) = await openrouter(calls("WebSearch", query="moon"), error(401), usage=TELLS_COST)

    assert (attempt.error_class, attempt.cost_usd) == ("AuthenticationError", 0.25)
    assert (answer.failed, answer.usage.cost_usd) == ((replace(attempt, cost_usd=None),), 0.25)
    assert cost_with_failures(answer.usage.cost_usd, answer.failed) == 0.25


async def test_a_run_that_failed_cost_what_its_model_had_cost_by_then() -> None:
    heard: list[Attempt] = []

    with pytest.raises(RunFailed) as caught:
        await openrouter(calls("WebSearch", query="void"), usage=TELLS_COST, heard=heard)

    assert caught.value.cost_usd == LIMITS.steps * 0.25
    assert [(attempt.error_class, attempt.cost_usd) for attempt in heard] == [("RunFailed", LIMITS.steps * 0.25)]


async def test_the_cost_is_unknown_if_the_endpoint_does_not_report_it() -> None:
    answer, _ = await run(Says(text="Far."))

    assert answer.usage.cost_usd is None


async def test_openrouter_s_error_inside_a_200_is_that_error() -> None:
    with pytest.raises(RateLimitError):
        await openrouter(Replies(body={"error": {"message": "slow down", "code": 429}}))


async def test_a_connection_to_the_model_that_does_not_open_is_given_up_after_the_set_time() -> None:
    async with silent_server() as url, asyncio.timeout(4):
        model = build_model(url, name=MODEL, api_key=KEY, open_timeout=0.05)
        async with WebAgent(model, lambda _: [SEARCH], limits=LIMITS) as agent:
            with pytest.raises(PerplexityError) as caught:
                await agent.answer(ask_about())

    assert isinstance(caught.value, (ConnectionFailed, TimedOut))


@pytest.mark.parametrize("seconds", [0, -1, float("nan")])
def test_the_time_for_opening_a_connection_is_above_0(seconds: float) -> None:
    with pytest.raises(InvalidRequest, match="open_timeout"):
        build_model("http://127.0.0.1:9/v1", name=MODEL, api_key=KEY, open_timeout=seconds)


def test_openrouter_wants_a_key() -> None:
    with pytest.raises(InvalidRequest, match="api_key"):
        build_model("https://openrouter.ai/api/v1", name=MODEL, api_key=None)


@pytest.mark.parametrize("proxy", ["foo://x", "socks5://127.0.0.1:9"])
def test_a_proxy_that_cannot_be_used_is_named_when_the_model_is_made(
    proxy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("all_proxy", proxy)
    monkeypatch.setenv("no_proxy", "")

    with pytest.raises(ConnectionFailed, match="ALL_PROXY"):
        build_model("https://openrouter.ai/api/v1", name=MODEL, api_key=KEY)


def test_an_empty_question_is_refused_before_anything_is_sent() -> None:
    with pytest.raises(InvalidRequest):
        asyncio.run(run(Says(text="no"), question=ask_about(" ")))
