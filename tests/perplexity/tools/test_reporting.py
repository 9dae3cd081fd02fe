"""Every tool reports its attempts: to a hook, or as a line of the log."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import pytest
from aiohttp import ClientSession

from perplexity.deepdive.pipeline import DeepDiveRunner
from perplexity.errors import Attempt, BillingError, ConnectionFailed
from perplexity.fallback import Fallback
from perplexity.tools import (
    TOOLS,
    Tool,
    create_agentic_web_search_tool,
    create_duckduckgo_tool,
    create_news_deepdive_tool,
    create_news_summary_tool,
    create_perplexity_search_tool,
    create_web_search_tool,
    create_websearch_tool,
)
from tests.fakes.perplexity import KEY, FakePerplexity, json_reply
from tests.fakes.provider import FakeProvider

OVER_SESSION: list[tuple[Callable[..., Tool], dict[str, Any], str, str]] = [
    (create_web_search_tool, {"query": "x"}, "/search", "search"),
    (create_agentic_web_search_tool, {"prompt": "x", "reasoning": False}, "/v1/agent", "answer"),
    (create_perplexity_search_tool, {"query": "x"}, "/v1/agent", "answer"),
]
OVER_PROVIDER: list[tuple[Callable[..., Tool], dict[str, Any], str]] = [
    (create_duckduckgo_tool, {"query": "x"}, "search"),
    (create_websearch_tool, {"query": "x"}, "answer"),
    (create_news_summary_tool, {"category": "world"}, "answer"),
]


def summarize_attempts(attempts: list[Attempt]) -> list[tuple[str, str, str | None]]:
    return [(attempt.provider, attempt.kind, attempt.error_class) for attempt in attempts]


@pytest.mark.parametrize("over", OVER_SESSION, ids=[create.__name__ for create, *_ in OVER_SESSION])
async def test_a_hook_hears_of_success_and_failure(
    fake: FakePerplexity, session: ClientSession, over: tuple[Callable[..., Tool], dict[str, Any], str, str]
) -> None:
    create, arguments, path, kind = over
    heard: list[Attempt] = []
    tool = create(session, api_key=KEY, base_url=fake.base_url, on_attempt=heard.append)

    await tool(**arguments)
    fake.fail(path, status=401, body={"error": {"message": "No.", "type": "insufficient_quota"}})
    await tool(**arguments)

    assert summarize_attempts(heard) == [("Perplexity", kind, None), ("Perplexity", kind, "BillingError")]
    assert heard[0].cost_usd
    assert heard[1].summary == BillingError.summary


@pytest.mark.parametrize(("create", "arguments", "kind"), OVER_PROVIDER)
async def test_a_hook_hears_of_a_provider_and_of_each_in_a_chain(
    create: Any, arguments: dict[str, Any], kind: str
) -> None:
    heard: list[Attempt] = []
    broken, works = FakeProvider("One", error=ConnectionFailed("no")), FakeProvider("Two")

    await create(works, on_attempt=heard.append)(**arguments)
    await create(broken, on_attempt=heard.append)(**arguments)
    await create(Fallback([broken, works]), on_attempt=heard.append)(**arguments)
    await create(Fallback([broken]), on_attempt=heard.append)(**arguments)

    failed, fine = ("One", kind, "ConnectionFailed"), ("Two", kind, None)
    assert summarize_attempts(heard) == [fine, failed, failed, fine, failed]


async def test_a_hook_hears_of_the_parts_of_a_deep_dive() -> None:
    heard: list[Attempt] = []
    diver = DeepDiveRunner(facts=FakeProvider("Facts"), synthesis=FakeProvider("Writer"))

    await create_news_deepdive_tool(diver, on_attempt=heard.append)(topic="x")

    assert {provider for provider, _, _ in summarize_attempts(heard)} == {"Facts", "Writer"}


@pytest.mark.usefixtures("services")
@pytest.mark.parametrize("tool", TOOLS, ids=[tool.name for tool in TOOLS])
async def test_without_a_hook_each_attempt_is_one_line_of_the_log(
    tool: Tool, services: FakePerplexity, caplog: pytest.LogCaptureFixture
) -> None:
    services.script("/v1/agent", json_reply({"error": {"message": "No.", "type": "insufficient_quota"}}, status=401))
    arguments = dict.fromkeys(tool.parameters["required"], "secret") | {"reasoning": False, "category": "world"}
    given = {name: value for name, value in arguments.items() if name in tool.parameters["properties"]}

    with caplog.at_level(logging.INFO, logger="perplexity.providers.base"):
        await tool(**given)

    lines = [record for record in caplog.records if record.name == "perplexity.providers.base"]
    assert lines
    assert all(record.message.startswith("provider.attempted provider=") for record in lines)
    assert all({"provider", "kind", "seconds", "error", "cost_usd"} <= vars(record).keys() for record in lines)
    assert "secret" not in " ".join(record.message for record in lines)
    assert KEY not in caplog.text


async def test_a_chain_without_a_hook_writes_each_attempt_once(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="perplexity.providers.base"):
        await create_websearch_tool(Fallback([FakeProvider("One")]))(query="x")

    assert [vars(record)["provider"] for record in caplog.records] == ["One"]
