"""The page of the tools shows what they are, and what a model is told when a call fails."""

from __future__ import annotations

from itertools import count

import pytest
from aiohttp import ClientSession

from perplexity.errors import Attempt, BillingError
from perplexity.models import Timeouts
from perplexity.notes import fallback_notice
from perplexity.providers import duckduckgo
from perplexity.tools import (
    TOOLS,
    Tool,
    create_web_search_tool,
    fallback_search,
    formats,
    news_deepdive,
    news_summary,
)
from perplexity.tools.agentic_web_search import LIMITS
from perplexity.tools.web_search import SECONDS
from perplexity.types import Answer
from tests.docs.pages import ROOT, rows
from tests.fakes.perplexity import KEY, FakePerplexity
from tests.fakes.ports import free_port

PAGE = ROOT / "docs" / "tools.md"
TOLD = {happened: text.strip("`") for happened, text in rows(PAGE, section="When something fails")}


async def test_each_failure_reads_as_the_page_says(perplexity: FakePerplexity) -> None:
    closed_port, url = f"http://127.0.0.1:{free_port()}", perplexity.base_url
    async with ClientSession() as session:
        tool = create_web_search_tool(session, api_key=KEY, base_url=url)
        unreachable = create_web_search_tool(session, api_key=KEY, base_url=closed_port)
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
            "It made one up": await tool(query="x", depth=1),
            "It gave another type": await tool(query=3),
            "There is no key": await TOOLS[0](query="x"),
        }

    assert told == TOLD


def test_every_tool_has_its_column_and_its_section() -> None:
    names = tuple(f"`{tool.name}`" for tool in TOOLS)

    assert f"| | {' | '.join(names)} |\n" in PAGE.read_text("utf-8")
    assert all(rows(PAGE, section=tool.name) for tool in TOOLS)


def test_the_time_limits_are_the_tools_own() -> None:
    limits = {row[0]: row[1:] for row in rows(PAGE, section="Tools for agents")}["Time limit"]

    deep = Timeouts()
    assert limits == (
        f"{SECONDS:g} s",
        f"{LIMITS.answer:g} s, with `reasoning` {LIMITS.reasoning:g} s",
        f"{deep.answer:g} s, reasoning models {deep.reasoning:g} s, deep research {deep.deep:g} s",
        f"{duckduckgo.TIMEOUT_SECONDS:g} s",
        f"{fallback_search.SECONDS:g} s",
        f"{news_summary.SECONDS:g} s",
        f"{news_deepdive.SECONDS:g} s",
    )


@pytest.mark.parametrize("tool", TOOLS, ids=[tool.name for tool in TOOLS])
def test_the_arguments_are_the_tools_own(tool: Tool) -> None:
    shown = {argument.strip("`"): kind for argument, kind, _ in rows(PAGE, section=tool.name)}

    assert shown == {
        argument: f"{told['type']}, required" if argument in tool.parameters["required"] else told["type"]
        for argument, told in tool.parameters["properties"].items()
    }


def test_the_exports_and_replies_are_those_that_there_are() -> None:
    shown = {cell for row in rows(PAGE, section="With any protocol") for cell in row[1:]}

    written = [f"`{name}(tool)`" for name in vars(formats) if name.startswith("to_")]
    assert shown == {*written, *(f"`{name}(call, tools)`" for name in vars(formats) if name.startswith("reply_"))}


def test_the_line_of_the_chain_reads_as_the_page_says() -> None:
    failed = (Attempt(provider="Perplexity", seconds=1.0, error_class="BillingError", summary=BillingError.summary),)
    told = fallback_notice(Answer(text="x", sources=(), provider="OpenRouter", failed=failed))

    assert f"`{told}`" in PAGE.read_text("utf-8")
