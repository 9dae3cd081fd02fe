"""The variables that Perplexity's own MCP server reads, and what they do to this one."""

from __future__ import annotations

import asyncio
import json
import signal
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp
import pytest
from mcp.types import TextContent

from perplexity import __version__
from perplexity.cli.services import timeouts
from perplexity.errors import InvalidRequest
from perplexity.mcp_server.settings import HTTPSettings, http_settings_from_env, settings_from_env
from perplexity.transport import USER_AGENT, named_proxy
from tests.fakes.command import run, run_in_process, start
from tests.fakes.perplexity import KEY, FakePerplexity, Fault
from tests.fakes.ports import free_port
from tests.fakes.proxy import FakeProxy
from tests.perplexity.mcp_server.connecting import connected
from tests.rare import one_in

ASKED = {"messages": [{"role": "user", "content": "a secret question"}]}
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
}
ACCEPTED = {"Accept": "application/json, text/event-stream"}
OF_THE_PROCESS = ("HTTPS_PROXY", "HTTP_PROXY")
"""What is read from the environment of the process itself."""


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("PERPLEXITY_TIMEOUT_MS", "5 min", "'5 min' is not allowed; it takes a whole number of milliseconds"),
        (
            "PERPLEXITY_TIMEOUT_MS",
            "0",
            "'0' is not allowed; it takes a whole number of milliseconds from 1 to 86400000",
        ),
        ("PERPLEXITY_TIMEOUT_MS", "-1", "'-1' is not allowed"),
        ("PERPLEXITY_TIMEOUT_MS", "1e3", "'1e3' is not allowed"),
        ("PERPLEXITY_TIMEOUT_MS", "9" * 5000, "is not allowed; it takes a whole number of milliseconds"),
        ("PERPLEXITY_LOG_LEVEL", "LOUD", "'LOUD' is not allowed; it takes DEBUG, INFO, WARN, ERROR"),
        (
            "PERPLEXITY_PROXY",
            "socks5://u:p/w@p.example:1",
            "'socks5://p.example:1' is not allowed; it takes http://host",
        ),
        (
            "HTTPS_PROXY",
            "ftp://u:p/w@p.example",
            "'ftp://p.example' is not allowed; it takes http://host:port or https",
        ),
        ("HTTP_PROXY", "ftp://u:p/w@p.example", "'ftp://p.example' is not allowed; it takes http://host:port or https"),
        ("PORT", "65536", "'65536' is not allowed; it takes a port from 1 to 65535"),
        ("PORT", "http", "'http' is not allowed; it takes a port from 1 to 65535"),
        ("BIND_ADDRESS", "http://me", "'http://me' is not allowed; it takes one address or host name of this machine"),
        ("ALLOWED_HOSTS", "a.example,https://b.example", "'https://b.example' is not allowed; it takes host names"),
        ("ALLOWED_HOSTS", "*", "'*' is not allowed; it takes host names"),
        ("ALLOWED_HOSTS", "a.example:99999", "'a.example:99999' is not allowed; it takes host names"),
        ("ALLOWED_ORIGINS", "app.example", "'app.example' is not allowed; it takes origins such as https://app"),
        ("ALLOWED_ORIGINS", "https://a.example/path", "'https://a.example/path' is not allowed; it takes origins"),
    ],
)
async def test_a_value_that_cannot_be_right_ends_it_and_is_named(name: str, value: str, told: str) -> None:
    start_it = run if name in OF_THE_PROCESS else run_in_process
    ended = await start_it("mcp", "--transport", "http", settings={"PERPLEXITY_API_KEY": KEY, name: value})

    assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1)
    assert f"mcp: {name}: " in ended.err
    assert told in ended.err
    assert "p/w" not in ended.err


async def test_stdio_does_not_look_at_the_variables_of_http() -> None:
    ended = await run("mcp", piped="", settings={"PORT": "none", "ALLOWED_HOSTS": "*", "BIND_ADDRESS": "?"})

    assert (ended.code, ended.err) == (0, "")


@pytest.mark.parametrize(
    ("environ", "settings"),
    [
        ({}, HTTPSettings(host="127.0.0.1", port=8765)),
        ({"PORT": " ", "BIND_ADDRESS": "", "ALLOWED_HOSTS": " ", "ALLOWED_ORIGINS": ","}, HTTPSettings()),
        ({"PORT": "9000", "BIND_ADDRESS": "0.0.0.0"}, HTTPSettings(host="0.0.0.0", port=9000)),  # noqa: S104
        ({"BIND_ADDRESS": "[::1]"}, HTTPSettings(host="::1")),
        (
            {"ALLOWED_HOSTS": "MCP.Example, b.example:81 ,FD00::1,[fd00::2]:8"},
            HTTPSettings(allowed_hosts=("mcp.example", "b.example:81", "[fd00::1]", "[fd00::2]:8")),
        ),
        (
            {"ALLOWED_ORIGINS": "https://App.example:443,null,*,chrome-extension://abc,http://[::1]:80"},
            HTTPSettings(
                allowed_origins=("https://app.example", "null", "*", "chrome-extension://abc", "http://[::1]")
            ),
        ),
    ],
)
def test_the_settings_of_http(environ: dict[str, str], settings: HTTPSettings) -> None:
    assert http_settings_from_env(environ) == settings


def test_options_precede_the_variables() -> None:
    environ = {"PORT": "1", "BIND_ADDRESS": "127.0.0.1", "ALLOWED_HOSTS": "a.example"}

    settings = http_settings_from_env(environ, host="::", port="2")

    assert (settings.host, settings.port) == ("::", 2)
    with pytest.raises(InvalidRequest, match="it takes the one address that clients use"):
        http_settings_from_env({}, host="::")


def test_a_timeout_is_in_milliseconds_and_a_level_in_any_case() -> None:
    settings = settings_from_env({"PERPLEXITY_TIMEOUT_MS": " 600000 ", "PERPLEXITY_LOG_LEVEL": "warning"})

    assert (settings.seconds, settings.log_level) == (600.0, 30)
    assert settings_from_env({"PERPLEXITY_TIMEOUT_MS": "", "PERPLEXITY_LOG_LEVEL": ""}).seconds is None


@pytest.mark.parametrize(
    ("tool", "path"), one_in(2, [("perplexity_ask", "/v1/agent"), ("perplexity_search", "/search")])
)
async def test_a_call_takes_no_longer_than_the_timeout(tool: str, path: str) -> None:
    async with FakePerplexity() as fake:
        fake.script(path, *[Fault(hang=True)] * 9)
        settings = {
            "PERPLEXITY_API_KEY": KEY, "PERPLEXITY_BASE_URL": fake.base_url, "PERPLEXITY_TIMEOUT_MS": "400"
        }  # fmt: skip
        async with connected("stdio", "auto", **settings) as client:
            started = time.monotonic()
            result = await client.call_tool(tool, ASKED if tool == "perplexity_ask" else {"query": "q"})
            seconds = time.monotonic() - started

    assert result.is_error
    assert isinstance(result.content[0], TextContent)
    assert "PERPLEXITY_TIMEOUT_MS sets how many milliseconds a call may take." in result.content[0].text
    assert seconds < 5


@pytest.mark.parametrize("seconds", [0.4, 600.0, 86_400.0])
def test_a_timeout_is_for_whatever_is_asked(seconds: float) -> None:
    for limits in timeouts(seconds):
        assert {limits.search, limits.for_effort("fast"), limits.for_effort("medium"), limits.for_effort("high")} == {
            seconds
        }


@pytest.mark.parametrize(
    "names",
    one_in(4, [["PERPLEXITY_PROXY"], ["HTTPS_PROXY"], ["HTTP_PROXY"], ["PERPLEXITY_PROXY", "HTTPS_PROXY"]], first=3),
    ids="+".join,
)
async def test_the_proxy_is_the_first_that_is_named(names: list[str]) -> None:
    async with FakeProxy() as first, FakeProxy() as other:
        proxies = dict(zip(names, (first.url, other.url), strict=False))
        settings = {"PERPLEXITY_API_KEY": KEY, "PERPLEXITY_TIMEOUT_MS": "5000", **proxies}
        async with connected("stdio", "auto", **settings) as client:
            result = await client.call_tool("perplexity_search", {"query": "q"})

    assert result.is_error
    assert set(first.requests) == {"CONNECT api.perplexity.ai:443 HTTP/1.1"}
    assert other.requests == []


@pytest.mark.parametrize(
    ("environ", "own", "url", "named"),
    [
        ({"https_proxy": "a:1", "no_proxy": "*"}, "own:1", "https://x.example", ("PERPLEXITY_PROXY", "own:1")),
        ({"https_proxy": "a:1", "no_proxy": "*"}, "", "https://x.example", ("", "")),
        ({"https_proxy": "a:1", "http_proxy": "b:1"}, " ", "https://x.example", ("HTTPS_PROXY", "a:1")),
        ({"https_proxy": " ", "http_proxy": "b:1"}, "", "https://x.example", ("HTTP_PROXY", "b:1")),
        ({"all_proxy": "c:1", "http_proxy": "b:1"}, "", "https://x.example", ("ALL_PROXY", "c:1")),
        ({"https_proxy": "a:1"}, "own:1", "http://127.0.0.1:9", ("", "")),
    ],
)
def test_whose_proxy_an_address_has(
    environ: dict[str, str], own: str, url: str, named: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name.upper(), raising=False)
        monkeypatch.setenv(name, environ.get(name, ""))

    assert named_proxy(url, own=("PERPLEXITY_PROXY", own), https_by_http=True) == named


async def test_the_service_hears_who_asks() -> None:
    async with FakePerplexity() as fake:
        settings = {"PERPLEXITY_API_KEY": KEY, "PERPLEXITY_BASE_URL": fake.base_url}
        async with connected("stdio", "auto", **settings) as client:
            await client.call_tool("perplexity_search", {"query": "q"})
            assert client.server_info is not None
            assert (client.server_info.name, client.server_info.version) == ("web-answers", __version__)

    assert fake.requests[0].headers["User-Agent"] == USER_AGENT == f"web-answers/{__version__}"


@pytest.mark.parametrize(("level", "lines"), [("INFO", 2), ("WARN", 1), ("", 0)])
async def test_the_log_says_what_was_called_and_no_text(level: str, lines: int) -> None:
    async with FakePerplexity() as fake:
        port = free_port()
        settings = {
            "PERPLEXITY_API_KEY": KEY, "PERPLEXITY_BASE_URL": fake.base_url, "PERPLEXITY_LOG_LEVEL": level,
        }  # fmt: skip
        async with start("mcp", "--transport", "http", "--port", str(port), settings=settings) as process:
            assert process.stderr is not None
            await process.stderr.readline()
            async with _session(port) as session:
                await _call(session, "perplexity_ask", ASKED)
                await _call(session, "perplexity_ask", {"messages": "a secret question"})
            process.send_signal(signal.SIGTERM)
            written = (await asyncio.wait_for(process.stderr.read(), 60)).decode()

    told = [line for line in written.splitlines() if "call.ended" in line]
    assert len(told) == lines
    assert "secret" not in written
    assert KEY not in written
    for line in told:
        assert json.loads(line[line.index("{") :])["tool"] == "perplexity_ask"


def _session(port: int) -> aiohttp.ClientSession:
    return aiohttp.ClientSession(base_url=f"http://127.0.0.1:{port}", headers=ACCEPTED)


async def _call(session: aiohttp.ClientSession, tool: str, arguments: object) -> None:
    params = {"name": tool, "arguments": arguments, "_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }}  # fmt: skip
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    headers = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": tool}
    async with session.post("/mcp", json=call, headers=headers) as response:
        assert response.status == 200, await response.text()


async def test_only_the_configured_hosts_and_origins_are_allowed() -> None:
    port = free_port()
    settings = {
        "PORT": str(port), "BIND_ADDRESS": "0.0.0.0", "ALLOWED_HOSTS": "MCP.example,b.example:1",  # noqa: S104
        "ALLOWED_ORIGINS": "https://app.example",
    }  # fmt: skip
    expected = {
        ("Host", "mcp.example"): (200, None),
        ("Host", f"mcp.EXAMPLE:{port}"): (200, None),
        ("Host", "mcp.example:1"): (421, None),
        ("Host", "b.example:1"): (200, None),
        ("Host", "b.example"): (421, None),
        ("Host", f"localhost:{port}"): (200, None),
        ("Host", "0.0.0.0.evil.example"): (421, None),
        ("Origin", "https://app.example"): (200, "https://app.example"),
        ("Origin", "https://app.example:444"): (403, None),
        ("Origin", "https://other.example"): (403, None),
        ("Origin", "null"): (403, None),
    }
    async with _listening(settings) as (session, told):
        got = {header: await _initialized(session, dict([header])) for header in expected}
        asked = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "content-type"}
        async with session.options("/mcp", headers={"Origin": "https://app.example", **asked}) as response:
            assert response.status == 200
            assert response.headers["Access-Control-Allow-Origin"] == "https://app.example"
        async with session.options("/mcp", headers={"Origin": "https://other.example", **asked}) as response:
            assert response.status == 403

    assert expected == got
    assert told[0].startswith(f"Listening on http://0.0.0.0:{port}/mcp")


@pytest.mark.parametrize(
    ("allowed", "origin", "status"),
    [("*", "https://any.example", 200), ("*", "null", 403), ("*,null", "null", 200), ("null", "null", 200)],
)
async def test_every_origin_may_be_allowed_and_null_only_by_name(allowed: str, origin: str, status: int) -> None:
    port = free_port()
    async with _listening({"PORT": str(port), "ALLOWED_ORIGINS": allowed}) as (session, _):
        got, _ = await _initialized(session, {"Origin": origin})

    assert got == status


@asynccontextmanager
async def _listening(settings: dict[str, str]) -> AsyncIterator[tuple[aiohttp.ClientSession, list[str]]]:
    """Give a session with a server that has these settings, and the first line that it wrote."""
    async with start("mcp", "--transport", "http", settings=settings) as process:
        assert process.stderr is not None
        line = (await process.stderr.readline()).decode()
        async with _session(int(settings["PORT"])) as session:
            yield session, [line]


async def _initialized(session: aiohttp.ClientSession, headers: dict[str, str]) -> tuple[int, str | None]:
    async with session.post("/mcp", json=INITIALIZE, headers=headers) as response:
        return response.status, response.headers.get("Access-Control-Allow-Origin")
