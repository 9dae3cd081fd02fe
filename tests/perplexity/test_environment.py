"""The environment means the same to a client, to the tools and to the command line."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest
from aiohttp import ClientSession

from perplexity.cli.base import ProcessIO, UsageError
from perplexity.cli.services import checked_config
from perplexity.client import Access, PerplexityClient
from perplexity.errors import ConnectionFailed, InvalidRequest, MissingKey
from perplexity.tools import TOOLS, create_agentic_web_search_tool
from perplexity.tools.environment import config_from_env
from tests.fakes.perplexity import KEY, FakePerplexity
from tests.fakes.silent import silent_server

PATHS = {"agent": "/v1/agent", "sonar": "/chat/completions"}


@pytest.fixture
async def fake() -> AsyncIterator[FakePerplexity]:
    async with FakePerplexity() as server:
        yield server


def environ_of(fake: FakePerplexity, **more: str) -> dict[str, str]:
    return {"PERPLEXITY_API_KEY": KEY, "PERPLEXITY_BASE_URL": fake.base_url, **more}


@pytest.mark.parametrize(("api", "path"), PATHS.items())
async def test_the_api_and_the_address_hold_everywhere(
    fake: FakePerplexity, api: str, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    environ = environ_of(fake, PERPLEXITY_API=api)
    for name, value in environ.items():
        monkeypatch.setenv(name, value)

    async with PerplexityClient.from_env(environ) as client:
        await client.answer("why")
    async with PerplexityClient.from_env() as client:
        await client.answer("why")
    async with ClientSession() as session:
        await create_agentic_web_search_tool(session, environ=environ)(prompt="why", reasoning=False)
    tools = {tool.name: tool for tool in TOOLS}
    await tools["AgenticWebSearch"](prompt="why", reasoning=False)
    await tools["perplexity_search"](query="why")
    await tools["websearch"](query="why")

    assert [request.path for request in fake.requests] == [path] * 6
    assert config_from_env(environ).api == api


async def test_what_is_handed_in_takes_the_place_of_the_environment(fake: FakePerplexity) -> None:
    environ = {"PERPLEXITY_API": "sonar", "PERPLEXITY_BASE_URL": "https://nobody.example", "OPEN_TIMEOUT": "9"}

    found = Access.from_environment(environ, api_key=KEY, base_url=fake.base_url, api="agent", open_timeout=0.5)

    assert (found.api_key, found.base_url, found.api, found.open_timeout) == (KEY, fake.base_url, "agent", 0.5)
    assert KEY not in repr(found)
    async with PerplexityClient.from_env(environ, api_key=KEY, base_url=fake.base_url, api="agent") as client:
        await client.answer("why")
    assert fake.requests[0].path == "/v1/agent"


def test_blank_variables_count_as_unset() -> None:
    blank = dict.fromkeys(("PERPLEXITY_API_KEY", "PERPLEXITY_API", "PERPLEXITY_BASE_URL", "OPEN_TIMEOUT"), " ")

    found = Access.from_environment({**blank, "PPLX_API_KEY": KEY})

    assert (found.base_url, found.api, found.open_timeout) == ("https://api.perplexity.ai", "agent", 5.0)
    with pytest.raises(MissingKey):
        PerplexityClient.from_env(blank)


@pytest.mark.parametrize(
    ("variable", "value"),
    [("PERPLEXITY_API", "both"), *(("OPEN_TIMEOUT", value) for value in ("0", "-1", "soon", "nan", "inf", "3601"))],
)
def test_a_value_that_is_not_allowed_is_named_by_its_variable(variable: str, value: str) -> None:
    environ = {"PERPLEXITY_API_KEY": KEY, variable: value}

    with pytest.raises(InvalidRequest, match=f"{variable}: '{value}' is not allowed; it takes"):
        PerplexityClient.from_env(environ)
    with pytest.raises(InvalidRequest, match=variable):
        config_from_env(environ)


@pytest.mark.parametrize("seconds", [0, -1, float("nan"), float("inf"), True, "5", None])
def test_a_client_takes_seconds_above_0(seconds: Any) -> None:
    with pytest.raises(InvalidRequest, match="open_timeout"):
        PerplexityClient(KEY, open_timeout=seconds)


async def test_a_connection_that_does_not_open_is_given_up_after_the_set_time() -> None:
    async with silent_server() as url:
        environ = {"PERPLEXITY_API_KEY": KEY, "PERPLEXITY_BASE_URL": url, "OPEN_TIMEOUT": "0.05"}
        async with PerplexityClient.from_env(environ) as client, asyncio.timeout(4):
            with pytest.raises(ConnectionFailed) as caught:
                await client.search("why")

    assert not caught.value.sent


def test_the_command_line_names_the_variable_that_is_wrong(process_io: ProcessIO) -> None:
    wrong = replace(process_io, environ={"PERPLEXITY_API": "both"})

    with pytest.raises(UsageError, match=r"^PERPLEXITY_API: 'both' is not allowed; it takes agent or sonar$"):
        checked_config(wrong)


def test_the_command_line_takes_the_same_variables(process_io: ProcessIO) -> None:
    setup = checked_config(process_io)

    assert (setup.api, setup.open_timeout, setup.base_urls["perplexity"]) == ("sonar", 0.5, "https://a.example")


@pytest.fixture
def process_io(tmp_path: Any) -> ProcessIO:
    with (tmp_path / "streams").open("w+") as stream:
        environ = {
            "PERPLEXITY_API_KEY": KEY,
            "PERPLEXITY_API": "sonar",
            "PERPLEXITY_BASE_URL": "https://a.example",
            "OPEN_TIMEOUT": "0.5",
        }
        return ProcessIO(environ=environ, stdin=stream, stdout=stream, stderr=stream)
