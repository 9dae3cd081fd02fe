from __future__ import annotations

import asyncio
import json
import logging
from itertools import chain, repeat
from typing import Any

import pytest
from aiohttp import ClientSession
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from perplexity.errors import InvalidRequest
from perplexity.tools import TOOLS, Failure, Tool, create_agentic_web_search_tool, create_web_search_tool
from perplexity.types import API
from tests.fakes.perplexity import KEY, FakePerplexity, Fault, fixture, json_reply, stream_reply

CHAT, AGENT, SEARCH = "/chat/completions", "/v1/agent", "/search"
NO_MONEY = {"message": "No money.", "type": "insufficient_quota"}
HTML = Fault(chunks=(b"<html>proxy</html>",), content_type="text/html")


def web(fake: FakePerplexity, session: ClientSession, **more: Any) -> Tool:
    return create_web_search_tool(session, **{"api_key": KEY, "base_url": fake.base_url, **more})


def agentic(fake: FakePerplexity, session: ClientSession, **more: Any) -> Tool:
    return create_agentic_web_search_tool(session, **{"api_key": KEY, "base_url": fake.base_url, **more})


class Jump:
    """A clock that stands at 0 for its first readings and at `seconds` from then on."""

    def __init__(self, seconds: float, *, readings: int) -> None:
        self._times = chain(repeat(0.0, readings), repeat(seconds))

    def __call__(self) -> float:
        return next(self._times)


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        (json_reply({}), "sent an unreadable answer: the response has no results"),
        (json_reply({"results": None}), "sent an unreadable answer: the response has no results"),
        (json_reply({"results": {"title": "x"}}), "sent an unreadable answer: the response has no results"),
        (json_reply([]), "sent an unreadable answer: the response is not a JSON object"),
        (json_reply("results"), "sent an unreadable answer: the response is not a JSON object"),
        (Fault(chunks=(b"",)), "sent an unreadable answer: the response is not JSON"),
        (Fault(chunks=(b'{"results": [',)), "sent an unreadable answer: the response is not JSON"),
        (HTML, "sent an unreadable answer: the response is not JSON"),
        (Fault(reset=True), "could not be reached: the connection failed (ServerDisconnectedError)"),
    ],
)
async def test_web_search__a_fault_is_a_text_in_brackets(
    fake: FakePerplexity, session: ClientSession, fault: Fault, expected: str
) -> None:
    fake.script(SEARCH, fault)

    assert await web(fake, session).handler("x") == f"[WebSearch API {expected}]"


@pytest.mark.parametrize("api", ["agent", "sonar"])
@pytest.mark.parametrize("reasoning", [False, True])
@pytest.mark.parametrize(
    "case",
    [
        (json_reply({}), "sent an unreadable answer: "),
        (json_reply([]), "sent an unreadable answer: "),
        (HTML, "sent an unreadable answer: "),
        (Fault(chunks=(b"",)), "sent an unreadable answer: "),
        (Fault(reset=True), "could not be reached: "),
        (json_reply({"status": "failed", "error": {"message": "Try less."}}), "could not finish the answer: Try less."),
        (json_reply({"status": "failed", "error": NO_MONEY}), "is out of credit: No money."),
    ],
)
async def test_agentic_web_search__a_fault_is_a_text_in_brackets(
    fake: FakePerplexity, session: ClientSession, api: API, reasoning: bool, case: tuple[Fault, str]
) -> None:
    fault, beginning = case
    fake.script(CHAT if api == "sonar" else AGENT, fault)

    text = await agentic(fake, session, api=api).handler("x", reasoning)

    assert text.startswith(f"[AgenticWebSearch API {beginning}")
    assert text.endswith("]")


async def test_agentic_web_search__a_cut_stream_is_a_text_in_brackets(
    fake: FakePerplexity, session: ClientSession
) -> None:
    fake.script(AGENT, stream_reply(fixture("agent.stream.completed.sse")[:900]))

    text = await agentic(fake, session).handler("x", True)

    assert text.startswith("[AgenticWebSearch API broke off in the middle of the answer: ")


async def test_a_refused_connection_is_a_text_in_brackets(session: ClientSession) -> None:
    async with FakePerplexity() as gone:
        tools = web(gone, session), agentic(gone, session)

    told = [await tools[0].handler("x"), await tools[1].handler("x", False)]

    assert [text.partition(":")[0] for text in told] == [
        "[WebSearch API could not be reached",
        "[AgenticWebSearch API could not be reached",
    ]


@pytest.mark.parametrize(("left", "in_time"), [(0.05, False), (5.0, True)])
async def test_web_search__has_ten_seconds(
    fake: FakePerplexity, session: ClientSession, left: float, in_time: bool
) -> None:
    fake.script(SEARCH, Fault(hang=True) if not in_time else json_reply({"results": []}))

    text = await web(fake, session, clock=Jump(10 - left, readings=2)).handler("x")

    assert text == ("[]" if in_time else "[WebSearch API timed out after 10 seconds]")


@pytest.mark.parametrize("api", ["agent", "sonar"])
@pytest.mark.parametrize("reasoning", [False, True])
@pytest.mark.parametrize("in_time", [False, True])
async def test_agentic_web_search__has_thirty_seconds_or_sixty(
    fake: FakePerplexity, session: ClientSession, api: API, reasoning: bool, in_time: bool
) -> None:
    seconds, left = 60 if reasoning else 30, 5.0 if in_time else 0.05
    if not in_time:
        fake.script(CHAT if api == "sonar" else AGENT, Fault(hang=True))

    text = await agentic(fake, session, api=api, clock=Jump(seconds - left, readings=3)).handler("x", reasoning)

    assert text.startswith("<result>\n" if in_time else f"[AgenticWebSearch API timed out after {seconds} seconds]")


async def test_a_retired_sonar_is_answered_by_its_successor(session: ClientSession) -> None:
    async with FakePerplexity(retired=True) as fake:
        tool = agentic(fake, session, api="sonar")

        told = [await tool.handler("x", False), await tool.handler("x", True)]

    assert [request.path for request in fake.requests] == [CHAT, AGENT, AGENT]
    assert all(text.startswith("<result>\nExample answer") for text in told)


async def test_a_cancelled_call_is_cancelled(fake: FakePerplexity, session: ClientSession) -> None:
    fake.hold()
    tools = [web(fake, session).handler("x"), agentic(fake, session).handler("x", True)]
    calls = [asyncio.ensure_future(call) for call in tools]
    await fake.wait_for(2)

    for call in calls:
        call.cancel()
    ended = await asyncio.gather(*calls, return_exceptions=True)

    assert [type(end) for end in ended] == [asyncio.CancelledError] * 2


async def test_a_fault_is_tried_once(fake: FakePerplexity, session: ClientSession) -> None:
    for path in (SEARCH, AGENT):
        fake.fail(path, status=503, body={})

    await web(fake, session).handler("x")
    await agentic(fake, session).handler("x", False)

    assert [request.path for request in fake.requests] == [SEARCH, AGENT]


@pytest.mark.parametrize(
    "environ",
    [
        {"PERPLEXITY_API_KEY": f" {KEY}\n"},
        {"PPLX_API_KEY": KEY},
        {"PERPLEXITY_API_KEY": KEY, "PPLX_API_KEY": "other"},
        {"PERPLEXITY_API_KEY": " ", "PPLX_API_KEY": KEY},
    ],
)
async def test_key_and_address_come_from_the_environment(
    fake: FakePerplexity, session: ClientSession, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {**environ, "PERPLEXITY_BASE_URL": fake.base_url}.items():
        monkeypatch.setenv(name, value)

    told = await create_web_search_tool(session).handler("x")
    answered = await create_agentic_web_search_tool(session).handler("x", False)

    assert (told[:2], answered[:8]) == ("[{", "<result>")


async def test_a_tool_of_the_list_reads_the_environment_when_it_is_called(
    fake: FakePerplexity, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tool,) = [tool for tool in TOOLS if tool.name == "WebSearch"]
    monkeypatch.setenv("PERPLEXITY_BASE_URL", fake.base_url)

    without = await tool(query="x")
    monkeypatch.setenv("PPLX_API_KEY", KEY)
    found = await tool(query="x")

    assert isinstance(without, Failure)
    assert without.startswith("[WebSearch API has no key: api_key: there is none; set PERPLEXITY_API_KEY")
    assert found.startswith("[{")


@pytest.mark.parametrize("url", ["http://example.com", "http://[", "ftp://localhost"])
@pytest.mark.parametrize("name", ["WebSearch", "AgenticWebSearch", "perplexity_search", "websearch"])
async def test_a_tool_of_the_list_reports_an_invalid_address(
    monkeypatch: pytest.MonkeyPatch, name: str, url: str
) -> None:
    (tool,) = [tool for tool in TOOLS if tool.name == name]
    monkeypatch.setenv("PERPLEXITY_API_KEY", KEY)
    monkeypatch.setenv("PERPLEXITY_BASE_URL", url)

    told = await tool(prompt="x", reasoning=False) if name == "AgenticWebSearch" else await tool(query="x")

    assert isinstance(told, Failure)
    assert "it must be an https address" in told


@pytest.mark.parametrize("proxy", ["foo://private", "socks5://private:1"])
@pytest.mark.parametrize("name", ["WebSearch", "AgenticWebSearch", "perplexity_search"])
async def test_a_tool_of_the_list_reports_an_unusable_proxy(
    monkeypatch: pytest.MonkeyPatch, name: str, proxy: str
) -> None:
    (tool,) = [tool for tool in TOOLS if tool.name == name]
    monkeypatch.setenv("PERPLEXITY_API_KEY", KEY)
    monkeypatch.setenv("https_proxy", proxy)
    monkeypatch.setenv("no_proxy", "")

    told = await tool(prompt="x", reasoning=False) if name == "AgenticWebSearch" else await tool(query="x")

    assert isinstance(told, Failure)
    assert "HTTPS_PROXY: its value is not allowed; it takes http://host:port" in told
    assert "private" not in told


async def test_calls_of_a_tool_of_the_list_do_not_share_what_one_of_them_closes(
    fake: FakePerplexity, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tool,) = [tool for tool in TOOLS if tool.name == "WebSearch"]
    monkeypatch.setenv("PERPLEXITY_API_KEY", KEY)
    monkeypatch.setenv("PERPLEXITY_BASE_URL", fake.base_url)
    fake.script(SEARCH, Fault(hang=True))
    hanging = asyncio.ensure_future(tool(query="x"))
    await fake.wait_for(1)

    told = await asyncio.gather(*(tool(query="x") for _ in range(5)))
    hanging.cancel()
    (ended,) = await asyncio.gather(hanging, return_exceptions=True)

    assert [text[:2] for text in told] == ["[{"] * 5
    assert isinstance(ended, asyncio.CancelledError)


async def test_what_is_handed_in_wins_over_the_environment(fake: FakePerplexity, session: ClientSession) -> None:
    environ = {"PERPLEXITY_API_KEY": "wrong", "PERPLEXITY_BASE_URL": "http://127.0.0.1:1"}

    assert (await web(fake, session, environ=environ).handler("x")).startswith("[{")


@pytest.mark.parametrize(
    "wrong", [{"api_key": "two words"}, {"base_url": "http://example.com"}, {"base_url": "ftp://localhost"}]
)
@pytest.mark.parametrize("make", [web, agentic])
async def test_a_key_or_an_address_that_cannot_be_right_is_refused_at_once(
    fake: FakePerplexity, session: ClientSession, make: Any, wrong: dict[str, str]
) -> None:
    with pytest.raises(InvalidRequest) as caught:
        make(fake, session, **wrong)

    assert "two words" not in str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "wrong"),
    [
        ({}, "prompt is missing; reasoning is missing"),
        ({"prompt": "x"}, "reasoning is missing"),
        ({"prompt": "x", "reasoning": "yes"}, 'reasoning must be true or false, not "yes"'),
        ({"prompt": 3, "reasoning": True}, "prompt must be a string, not 3"),
        ({"prompt": "x", "reasoning": True, "depth": 1}, "depth is unknown (it takes prompt and reasoning)"),
    ],
)
async def test_wrong_arguments_are_explained_to_the_model(
    fake: FakePerplexity, session: ClientSession, arguments: dict[str, Any], wrong: str
) -> None:
    tool = agentic(fake, session)

    assert await tool.run(arguments) == f"[AgenticWebSearch was called with wrong arguments: {wrong}]"
    assert fake.requests == []


async def test_an_empty_query_is_explained_to_the_model(fake: FakePerplexity, session: ClientSession) -> None:
    assert (await web(fake, session).handler(" ")).startswith("[WebSearch API refused the request: query: ''")
    assert fake.requests == []


async def test_a_tool_is_called_with_arguments_or_keywords(fake: FakePerplexity, session: ClientSession) -> None:
    tool = agentic(fake, session)

    assert await tool.run({"prompt": "x", "reasoning": False}) == await tool(prompt="x", reasoning=False)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(st.lists(json_values, max_size=1) | st.lists(json_values.filter(lambda v: not isinstance(v, list)), max_size=5))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_web_search__gives_any_results_as_they_are(
    fake: FakePerplexity, session: ClientSession, results: list[Any]
) -> None:
    fake.script(SEARCH, json_reply({"results": results}))

    text = await web(fake, session).handler("x")

    assert json.loads(text) == results


PAGES = [{"url": f"https://a.example/{number}"} for number in range(9)]


@pytest.mark.parametrize(
    ("results", "kept"),
    [
        (PAGES, PAGES[:5]),
        ([PAGES[:3], PAGES[3:]], [PAGES[:3], PAGES[3:5]]),
        ([PAGES[:5], PAGES[5:]], [PAGES[:5]]),
        ([PAGES[0], PAGES[1:]], [PAGES[0], PAGES[1:5]]),
    ],
)
async def test_web_search_gives_five_pages_at_most(
    fake: FakePerplexity, session: ClientSession, results: list[Any], kept: list[Any]
) -> None:
    fake.script(SEARCH, json_reply({"results": results}))

    assert json.loads(await web(fake, session)(query="x")) == kept


async def test_numbers_that_json_does_not_have_leave_as_null(fake: FakePerplexity, session: ClientSession) -> None:
    body = '{"results": [{"url": "https://a.example/", "score": NaN, "rank": [1e999, -Infinity, 1.5]}]}'
    fake.script(SEARCH, Fault(chunks=(body.encode(),)))

    text = await web(fake, session)(query="x")

    page = {"url": "https://a.example/", "score": None, "rank": [None, None, 1.5]}
    assert json.loads(text, parse_constant=pytest.fail) == [page]


async def test_neither_key_nor_question_is_logged_or_shown(
    fake: FakePerplexity, session: ClientSession, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    fake.fail(SEARCH, status=401, body={"error": {"message": f"bad {KEY}", "type": "invalid_api_key"}})
    fake.script(CHAT, json_reply({"error": {"message": f"bad {KEY}"}}), json_reply({}))
    tool = agentic(fake, session, api="sonar")

    told = [
        await web(fake, session).handler("a private matter"),
        await tool.handler("a private matter", True),
        await tool.handler("a private matter", True),
    ]

    assert not any(word in f"{told}{caplog.text}{tool!r}" for word in (KEY, "private"))


async def test_results_that_no_text_can_hold_are_made_to_fit(fake: FakePerplexity, session: ClientSession) -> None:
    fake.script(SEARCH, Fault(chunks=(b'{"results": [{"title": "\\ud800 \\u0000"}]}',)))

    text = await web(fake, session).handler("x")

    assert json.loads(text.encode()) == [{"title": "? \0"}]
