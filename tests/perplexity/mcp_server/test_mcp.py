from __future__ import annotations

import asyncio
import json
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest
from mcp import Client, MCPError
from mcp.types import CallToolResult, TextContent

from perplexity import __version__
from perplexity.fallback import Fallback
from perplexity.mcp_server.server import build_server, transport_security
from perplexity.mcp_server.tools import CONTINUE
from perplexity.providers import open_providers
from perplexity.providers.base import ProviderConfig
from perplexity.retry import RetryPolicy
from perplexity.types import Event, Question
from tests.fakes.command import run, start
from tests.fakes.forks import PIPE
from tests.fakes.perplexity import KEY, FakePerplexity, Fault, fixture, sse, stream_reply
from tests.fakes.ports import free_port
from tests.fakes.provider import FakeProvider
from tests.perplexity.mcp_server.connecting import WAYS, connected, listening
from tests.rare import one_in

ASKED = {"messages": [{"role": "user", "content": "why"}]}
QUERY = {"query": "python"}
ANSWER = (
    "Example answer with a claim.[1] Another claim — ü.[2]\n\n"
    "Citations:\n[1] https://a.example/1\n[2] https://b.example/2"
)
RUN = "resp_00000000-0000-4000-8000-000000000001"
BEGUN = sse({"type": "response.created", "response": {"id": RUN}})

over_every_way = pytest.mark.parametrize(("transport", "mode"), one_in(3, WAYS))
"""Two of the ways at each change, with each transport and each form once; `make rare` tries the others."""


@pytest.fixture
async def fake() -> AsyncIterator[FakePerplexity]:
    async with FakePerplexity() as server:
        yield server


def settings(fake: FakePerplexity) -> dict[str, str]:
    return {"PERPLEXITY_API_KEY": KEY, "PERPLEXITY_BASE_URL": fake.base_url}


@asynccontextmanager
async def beside(fake: FakePerplexity) -> AsyncIterator[Client]:
    """Give a client of a server in this process."""
    setup = ProviderConfig(
        keys={"perplexity": KEY}, base_urls={"perplexity": fake.base_url}, retry=RetryPolicy(attempts=1)
    )
    async with (
        open_providers(setup, order=["perplexity"]) as providers,
        Client(build_server(Fallback(providers))) as client,
    ):
        yield client


def text(result: CallToolResult) -> str:
    (content,) = result.content
    assert isinstance(content, TextContent)
    return content.text


async def test_it_offers_what_perplexitys_own_server_offers(fake: FakePerplexity) -> None:
    async with beside(fake) as client:
        tools = (await client.list_tools()).tools

    answers = ["messages", "search_recency_filter", "search_domain_filter", "search_context_size"]
    expected = {
        "perplexity_search": [
            "query", "max_results", "max_tokens_per_page", "country",
            "search_recency_filter", "search_domain_filter", "search_type",
        ],
        "perplexity_ask": answers,
        "perplexity_reason": answers,
        "perplexity_research": ["messages"],
    }  # fmt: skip
    assert expected == {tool.name: list(tool.input_schema["properties"]) for tool in tools}
    assert [list((tool.output_schema or {})["properties"]) for tool in tools] == [
        ["results"],
        ["response"],
        ["response"],
        ["response"],
    ]
    for tool in tools:
        assert tool.annotations is not None
        hints = tool.annotations
        assert (hints.read_only_hint, hints.open_world_hint) == (True, True)
        assert (hints.idempotent_hint, hints.destructive_hint) == (False, False)


async def test_every_schema_describes_its_fields_and_allows_no_others(fake: FakePerplexity) -> None:
    async with beside(fake) as client:
        tools = (await client.list_tools()).tools

    objects = [schema for tool in tools for schema in (tool.input_schema, tool.output_schema or {})]
    objects += [schema["properties"]["messages"]["items"] for schema in objects if "messages" in schema["properties"]]
    assert len(objects) == 11
    for schema in objects:
        assert schema["additionalProperties"] is False
        assert all(told["description"] for told in schema["properties"].values())


SYSTEM = {"role": "system", "content": "what is new"}
USER = {"role": "user", "content": "why"}
ASSISTANT = {"role": "assistant", "content": "so"}


@pytest.mark.parametrize(
    ("messages", "sent"),
    [
        ([USER, ASSISTANT], [("user", "why"), ("assistant", "so"), ("user", CONTINUE)]),
        ([ASSISTANT], [("assistant", "so"), ("user", CONTINUE)]),
        ([SYSTEM], "what is new"),
        ([SYSTEM, SYSTEM | {"content": "today"}], [("system", "what is new"), ("user", "today")]),
        ([USER, SYSTEM], [("system", "what is new"), ("user", "why")]),
        ([SYSTEM, USER], [("system", "what is new"), ("user", "why")]),
        (
            [USER, ASSISTANT, SYSTEM],
            [("system", "what is new"), ("user", "why"), ("assistant", "so"), ("user", CONTINUE)],
        ),
    ],
)
@pytest.mark.parametrize("tool", ["perplexity_ask", "perplexity_reason", "perplexity_research"])
async def test_a_conversation_may_end_with_any_role(
    tool: str, messages: list[dict[str, str]], sent: str | list[tuple[str, str]], fake: FakePerplexity
) -> None:
    async with beside(fake) as client:
        result = await client.call_tool(tool, {"messages": messages})

    asked = fake.requests[0].json["input"]
    assert not result.is_error
    assert sent == (asked if isinstance(asked, str) else [(item["role"], item["content"]) for item in asked])


@over_every_way
async def test_the_client_of_the_sdk_lists_and_calls_each_tool(transport: str, mode: str, fake: FakePerplexity) -> None:
    async with connected(transport, mode, **settings(fake)) as client:
        assert client.server_info is not None
        assert (client.server_info.name, client.server_info.version) == ("web-answers", __version__)
        tools = (await client.list_tools()).tools
        results = {
            tool.name: await client.call_tool(
                tool.name, ASKED if "messages" in tool.input_schema["required"] else QUERY
            )
            for tool in tools
        }

    assert list(results) == ["perplexity_search", "perplexity_ask", "perplexity_reason", "perplexity_research"]
    for result in results.values():
        assert not result.is_error
        assert "https://a.example/1" in text(result)


@over_every_way
async def test_every_tool_answers_and_says_what_it_does(transport: str, mode: str, fake: FakePerplexity) -> None:
    told: list[tuple[float, str | None]] = []

    async def notified(progress: float, total: float | None, message: str | None) -> None:
        told.append((progress, message))

    async with connected(transport, mode, **settings(fake)) as client:
        found = await client.call_tool("perplexity_search", {"query": "python"})
        asked = await client.call_tool("perplexity_ask", ASKED, progress_callback=notified)
        reasoned = await client.call_tool("perplexity_reason", ASKED)
        researched = await client.call_tool("perplexity_research", ASKED)

    assert "1. Example A\n   URL: https://a.example/1\n   First snippet.\n   Date: 2026-11-01" in text(found)
    assert found.structured_content == {"results": text(found)}
    assert [text(asked), text(reasoned)] == [ANSWER] * 2
    assert text(researched).endswith("Citations:\n[1] https://a.example/1\n[2] https://b.example/2")
    assert [result.structured_content for result in (asked, researched)] == [
        {"response": text(asked)},
        {"response": text(researched)},
    ]
    assert told == [
        (1, "Started"), (2, "Searching: example query"), (3, "Reading 2 pages"), (4, "Writing the answer")
    ]  # fmt: skip
    efforts = [request.json.get("effort") for request in fake.requests if request.method == "POST"]
    assert efforts == [None, "fast", "medium", "high"]


async def test_parameters_reach_the_service(fake: FakePerplexity) -> None:
    filters = {"search_recency_filter": "week", "search_domain_filter": ["a.com"]}
    conversation = [
        {"role": "user", "content": "why"},
        {"role": "assistant", "content": "so"},
        {"role": "user", "content": "really"},
    ]
    async with beside(fake) as client:
        await client.call_tool(
            "perplexity_search",
            {
                "query": "q",
                "max_results": 3,
                "max_tokens_per_page": 256,
                "country": "de",
                "search_type": "fast",
                **filters,
            },
        )
        await client.call_tool(
            "perplexity_ask",
            # Clients of older versions send arguments that are gone.
            {
                "messages": [message | {"name": "Ada"} for message in conversation],
                "search_context_size": "high",
                "strip_thinking": True,
                **filters,
            },
        )

    search, ask = (request.json for request in fake.requests)
    assert search == {
        "query": "q", "max_results": 3, "max_tokens_per_page": 256, "country": "DE", "search_type": "fast", **filters
    }  # fmt: skip
    assert ask["tools"] == [{"type": "web_search", "search_context_size": "high", "filters": filters}]
    assert [item["content"] for item in ask["input"]] == ["why", "so", "really"]


@pytest.mark.parametrize(
    ("transport", "mode", "tool", "run"),
    one_in(3, [(*way, *call) for way in WAYS for call in [("perplexity_ask", RUN), ("perplexity_research", "resp_1")]]),
)
async def test_a_call_that_is_cancelled_cancels_its_run(
    transport: str, mode: str, tool: str, run: str, fake: FakePerplexity
) -> None:
    begun = asyncio.Event()
    if run == RUN:
        fake.script("/v1/agent", stream_reply(BEGUN, hang=True))
    else:
        fake.script(f"/v1/agent/{run}", Fault(hang=True))

    async def notified(progress: float, total: float | None, message: str | None) -> None:
        begun.set()

    async with connected(transport, mode, **settings(fake)) as client:
        calling = asyncio.create_task(client.call_tool(tool, ASKED, progress_callback=notified))
        await asyncio.wait_for(begun.wait(), 60)
        calling.cancel()
        await asyncio.wait([calling])
        await asyncio.wait_for(fake.cancel_requested.wait(), 60)

        assert fake.cancelled == [run]
        assert (await client.call_tool("perplexity_search", {"query": "still there?"})).is_error is False


@pytest.mark.parametrize("transport", ["stdio", "http"])
async def test_a_missing_key_is_a_result_and_no_crash(transport: str) -> None:
    async with connected(transport, "auto") as client:
        results = [
            await client.call_tool("perplexity_search", {"query": "q"}),
            await client.call_tool("perplexity_ask", ASKED),
        ]

    assert [result.is_error for result in results] == [True, True]
    for result in results:
        assert "Set PERPLEXITY_API_KEY." in text(result)


@pytest.mark.parametrize(
    ("tool", "arguments", "told"),
    [
        ("perplexity_search", {}, "query is missing"),
        ("perplexity_search", {"query": "q", "max_results": 21}, "max_results must be a whole number from 1 to 20"),
        ("perplexity_search", {"query": "q", "country": "Mars"}, "two-letter country code"),
        ("perplexity_search", {"query": " "}, "query: '' is not allowed; it must hold some text"),
        ("perplexity_search", {"query": None}, "query must be a string, not null"),
        ("perplexity_ask", {"messages": []}, "Wrong arguments: messages: [] should be non-empty"),
        ("perplexity_ask", {"messages": [{"role": "robot", "content": "x"}]}, "system, user or assistant"),
        (
            "perplexity_ask",
            ASKED | {"search_domain_filter": ["http://a.com/"]},
            "search_domain_filter: 'http://a.com/' is not",
        ),
    ],
)
async def test_a_wrong_argument_is_explained_so_that_a_model_can_correct_it(
    tool: str, arguments: dict[str, Any], told: str, fake: FakePerplexity
) -> None:
    async with beside(fake) as client:
        result = await client.call_tool(tool, arguments)

    assert result.is_error
    assert told in text(result)
    assert fake.requests == []


@pytest.mark.parametrize(
    ("status", "body", "told"),
    [
        (401, {"error": {"type": "invalid_api_key", "message": "no"}}, "does not accept the configured key"),
        (401, json.loads(fixture("err.401.insufficient_quota.json")), "is out of credit"),
        (400, {"error": {"type": "invalid_request", "message": "bad"}}, "bad"),
    ],
)
async def test_a_failure_of_the_service_is_a_result(
    status: int, body: dict[str, Any], told: str, fake: FakePerplexity
) -> None:
    fake.fail("/v1/agent", status=status, body=body)
    async with beside(fake) as client:
        result = await client.call_tool("perplexity_ask", ASKED)

    assert result.is_error
    assert told in text(result)
    assert KEY not in text(result)


async def test_an_optional_argument_that_is_null_counts_as_left_out(fake: FakePerplexity) -> None:
    async with beside(fake) as client:
        (found, asked) = (
            await client.call_tool("perplexity_search", {"query": "q", "max_results": None, "country": None}),
            await client.call_tool(
                "perplexity_ask", ASKED | {"search_recency_filter": None, "search_domain_filter": None}
            ),
        )

    assert (found.is_error, asked.is_error) == (False, False)
    assert fake.requests[0].json == {"query": "q", "max_results": 10, "max_tokens_per_page": 1024}


class Gate(FakeProvider):
    """Keeps deep questions until it is opened, and counts those it has."""

    def __init__(self) -> None:
        super().__init__("One")
        self.opened, self.came = asyncio.Event(), asyncio.Condition()
        self.kept = self.most = 0

    async def stream(self, question: Question) -> AsyncIterator[Event]:
        if question.model == "high":
            async with self.came:
                self.kept += 1
                self.most = max(self.most, self.kept)
                self.came.notify_all()
            await self.opened.wait()
            self.kept -= 1
        async for event in super().stream(question):
            yield event


async def test_only_some_deep_researches_run_at_once_and_the_others_wait() -> None:
    gate = Gate()
    async with Client(build_server(Fallback([gate]), at_once=2)) as client:
        researches = [asyncio.create_task(client.call_tool("perplexity_research", ASKED)) for _ in range(5)]
        async with gate.came, asyncio.timeout(60):
            await gate.came.wait_for(lambda: gate.kept == 2)
        asked = await client.call_tool("perplexity_ask", ASKED)
        gate.opened.set()
        ended = await asyncio.gather(*researches)

    assert (asked.is_error, gate.most) == (False, 2)
    assert [one.is_error for one in ended] == [False] * 5


async def test_an_unknown_tool_is_an_error_of_the_protocol(fake: FakePerplexity) -> None:
    async with beside(fake) as client:
        with pytest.raises(MCPError, match="Unknown tool perplexity_guess"):
            await client.call_tool("perplexity_guess", {})


INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
}


async def test_a_page_elsewhere_cannot_reach_it_through_a_browser() -> None:
    accepted = {"Accept": "application/json, text/event-stream"}
    async with listening() as address, aiohttp.ClientSession() as session:
        port = address.removesuffix("/mcp").rpartition(":")[2]
        expected = {
            (): 200,
            ("Host", "localhost"): 200,
            ("Host", f"LocalHost:{port}"): 200,
            ("Host", f"[::1]:{port}"): 200,
            ("Host", "localhost:1"): 421,
            ("Host", "localhost:.evil.example"): 421,
            ("Host", "evil.example"): 421,
            ("Host", "127.0.0.1.evil.example:80"): 421,
            ("Origin", f"http://LOCALHOST:{port}"): 200,
            ("Origin", "http://localhost"): 403,
            ("Origin", "http://127.0.0.1:3000"): 403,
            ("Origin", f"https://127.0.0.1:{port}"): 403,
            ("Origin", "https://evil.example"): 403,
            ("Origin", "null"): 403,
            ("Origin", ""): 403,
            ("Origin", " "): 403,
            ("Host", ""): 403,
        }
        got = {}
        for header in expected:
            headers = accepted | ({header[0]: header[1]} if header else {})
            async with session.post(address, json=INITIALIZE, headers=headers) as response:
                got[header] = response.status

    assert expected == got


@pytest.mark.parametrize(
    ("host", "port", "hosts", "origins"),
    [
        ("127.0.0.2", 8765, {"127.0.0.2", "127.0.0.2:8765"}, {"http://127.0.0.2:8765"}),
        ("Search.Example", 80, {"search.example", "search.example:80"}, {"http://search.example"}),
        ("FD00::1", 8765, {"[fd00::1]", "[fd00::1]:8765"}, {"http://[fd00::1]:8765"}),
    ],
)
def test_the_host_that_it_listens_on_may_be_named(host: str, port: int, hosts: set[str], origins: set[str]) -> None:
    allowed = transport_security(host, port)

    assert hosts <= set(allowed.allowed_hosts)
    assert origins <= set(allowed.allowed_origins)
    assert not [place for place in (*allowed.allowed_hosts, *allowed.allowed_origins) if "*" in place]


async def test_stdout_holds_the_protocol_and_nothing_else(fake: FakePerplexity) -> None:
    call = {"jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": {}}
    async with start("mcp", stdin=PIPE, settings=settings(fake)) as process, asyncio.timeout(90):
        out, err = await process.communicate(b"nonsense\n" + json.dumps(call).encode() + b"\n")

    assert process.returncode == 0
    assert all(json.loads(line)["jsonrpc"] == "2.0" for line in out.splitlines())
    assert KEY.encode() not in err


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
@pytest.mark.parametrize("arguments", [("mcp",), ("mcp", "--transport", "http", "--port")])
async def test_a_signal_stops_it_and_cancels_what_it_was_doing(
    arguments: tuple[str, ...], number: signal.Signals, code: int, fake: FakePerplexity
) -> None:
    transport = "http" if len(arguments) > 1 else "stdio"
    fake.script("/v1/agent", stream_reply(BEGUN, hang=True))
    port = free_port()
    words = [*arguments, str(port)] if transport == "http" else arguments
    async with start(*words, stdin=PIPE, settings=settings(fake)) as process:
        assert process.stderr is not None
        assert process.stdin is not None
        call = asyncio.create_task(_call(process.stdin, port, transport, process.stderr))
        await fake.wait_for(1)
        await asyncio.sleep(0.1)
        process.send_signal(number)
        async with asyncio.timeout(90):
            _, err = await asyncio.gather(process.wait(), process.stderr.read())
        await asyncio.gather(call, return_exceptions=True)

    assert process.returncode == code
    assert err.decode().strip().splitlines()[-1] == "Stopped."
    assert fake.cancelled == [RUN]


async def _call(stdin: asyncio.StreamWriter, port: int, transport: str, stderr: asyncio.StreamReader) -> None:
    params = {"name": "perplexity_ask", "arguments": ASKED, "_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }}  # fmt: skip
    if transport == "stdio":
        stdin.write(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode() + b"\n")
        await stdin.drain()
    else:
        await stderr.readline()
        async with Client(f"http://127.0.0.1:{port}/mcp") as client:
            await client.call_tool("perplexity_ask", ASKED)


async def test_a_key_that_cannot_be_right_ends_it_at_once() -> None:
    wrong = {"PERPLEXITY_API_KEY": "two words"}
    async with start("mcp", stdin=PIPE, settings=wrong) as process, asyncio.timeout(90):
        assert process.stderr is not None
        err = await process.stderr.read()

        assert await process.wait() == 2
    assert err.startswith(b"python -m perplexity mcp: PERPLEXITY_API_KEY: it must be ASCII ")
    assert b"two words" not in err


async def test_a_port_that_is_taken_is_reported_in_one_line(fake: FakePerplexity) -> None:
    port = fake.base_url.rpartition(":")[2]

    ended = await run("mcp", "--transport", "http", "--port", port)

    assert (ended.code, ended.out) == (2, "")
    assert ended.err == (
        f"python -m perplexity mcp: 127.0.0.1 port {port} is not available; choose another with --port\n"
    )


async def test_a_domain_filter_holds_for_what_comes_back(fake: FakePerplexity) -> None:
    only = {"search_domain_filter": ["a.example"]}

    async with beside(fake) as client:
        answer = await client.call_tool("perplexity_ask", ASKED | only)
        found = await client.call_tool("perplexity_search", {"query": "why"} | only)
        none = await client.call_tool("perplexity_search", {"query": "why", "search_domain_filter": ["z.example"]})

    assert text(answer) == (
        "Example answer with a claim.[1] Another claim — ü.\n\n"
        "1 source outside a.example left out, with 1 reference to it.\n\n"
        "Citations:\n[1] https://a.example/1"
    )
    assert "b.example" not in text(found)
    assert text(found).startswith("Found 1 pages:")
    assert text(none) == (
        "Nothing was found for “why” (only z.example). Try other words or fewer filters.\n\n"
        "2 results outside z.example left out, so no result is left."
    )
