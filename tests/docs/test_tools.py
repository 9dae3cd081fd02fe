"""The page of the tools shows what a model is told when a call fails."""

from __future__ import annotations

from itertools import count

import pytest
from aiohttp import ClientSession

from perplexity.tools import create_agentic_web_search_tool, create_web_search_tool
from perplexity.tools.agentic_web_search import LIMITS
from perplexity.tools.web_search import SECONDS
from tests.docs.pages import ROOT, rows
from tests.fakes.perplexity import KEY, FakePerplexity
from tests.fakes.process import free_port

PAGE = ROOT / "docs" / "tools.md"
TOLD = {happened: text.strip("`") for happened, text in rows(PAGE, section="When something fails")}


async def test_each_failure_reads_as_the_page_says(perplexity: FakePerplexity) -> None:
    nobody, url = f"http://127.0.0.1:{free_port()}", perplexity.base_url
    async with ClientSession() as session:
        tool = create_web_search_tool(session, api_key=KEY, base_url=url)
        unreachable = create_web_search_tool(session, api_key=KEY, base_url=nobody)
        # Every look at this clock is a minute after the one before.
        late = create_web_search_tool(session, api_key=KEY, base_url=url, clock=count(step=60.0).__next__)
        perplexity.fail("/search", status=503, body={})
        told = {"Any error status": await tool(query="x")}
        perplexity.fail("/search", status=200, body={})
        told |= {
            "An answer without `results`": await tool(query="x"),
            "The time is over": await late(query="x"),
            "No connection": await unreachable(query="x"),
            "The model forgot an argument": await tool(),
        }

    assert told == TOLD


def test_the_time_limits_are_the_tools_own() -> None:
    limits = {row[0]: row[1:] for row in rows(PAGE, section="Tools for agents")}["Time limit"]

    assert limits == (f"{SECONDS:g} s", f"{LIMITS.answer:g} s, with `reasoning` {LIMITS.reasoning:g} s")


@pytest.mark.parametrize("name", ["WebSearch", "AgenticWebSearch"])
async def test_the_arguments_are_the_tools_own(name: str) -> None:
    async with ClientSession() as session:
        tools = [create(session, api_key=KEY) for create in (create_web_search_tool, create_agentic_web_search_tool)]
    (properties,) = [tool.parameters["properties"] for tool in tools if tool.name == name]

    shown = {argument.strip("`"): kind.removesuffix(", required") for argument, kind, _ in rows(PAGE, section=name)}
    assert shown == {argument: told["type"] for argument, told in properties.items()}
