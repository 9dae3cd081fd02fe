"""The specification of web_search, tests/data/specs/duckduckgo-web-search.md, held to the letter."""

from __future__ import annotations

import ast
import re
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from perplexity.agent.agent import build_instructions
from perplexity.errors import ConnectionFailed, InvalidRequest, NothingFound, TimedOut
from perplexity.providers.duckduckgo import DuckDuckGo, Page
from perplexity.tools import Failure, Tool, create_duckduckgo_tool
from perplexity.tools.duckduckgo_search import MAX_RESULTS, SYSTEM_PROMPT_LINE, TOOL
from tests.fakes.duckduckgo import FakeDuckDuckGo, PointDdgsAt
from tests.fakes.provider import FakeProvider
from tests.perplexity.tools.conftest import HITS

SPEC = (Path(__file__).parents[2] / "data" / "specs" / "duckduckgo-web-search.md").read_text("utf-8")


def literal(beginning: str, ending: str) -> Any:
    """Return the Python value between two marks of the document."""
    start = SPEC.index(beginning) + len(beginning)
    return ast.literal_eval(f"({SPEC[start : SPEC.index(ending, start)].strip().rstrip(',')})")


def test_descriptions_for_the_model_are_those_of_the_document() -> None:
    function = literal("(Tool Definitions):** Add the schema to `tool_definitions`:\n      ```python\n", "```")[
        "function"
    ]

    # That no other argument is allowed is ours: unknown ones are refused.
    assert TOOL.spec() == {
        **function,
        "parameters": {**function["parameters"], "additionalProperties": False},
    }


def test_the_line_of_the_system_prompt_is_the_documents() -> None:
    assert literal("base_instruction_parts.append(", "\n      )") == SYSTEM_PROMPT_LINE


def test_as_many_results_are_shown_as_the_document_says() -> None:
    assert re.findall(r"MAX_SEARCH_RESULTS = (\d+)", SPEC) == [str(MAX_RESULTS)]


async def test_three_results_are_returned_with_title_snippet_and_address(point_ddgs_at: PointDdgsAt) -> None:
    async with FakeDuckDuckGo(HITS) as fake:
        point_ddgs_at(fake.url)

        told = await TOOL(query="python")

    assert told == (
        "Title: Python\nSnippet: Free threads are here.\nURL: https://python.org/\n\n"
        "Title: PyPI\nSnippet: What the page says.\nURL: https://pypi.org/\n\n"
        "Title: Docs\nSnippet: What the page says.\nURL: https://docs.python.org/"
    )
    assert [form["q"] for form in fake.forms] == ["python"]


@pytest.mark.parametrize("proxy", ["", "foo://private"])
async def test_a_proxy_that_the_library_cannot_use_is_named(proxy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DDGS_PROXY", proxy)

    told = await TOOL(query="python")

    assert isinstance(told, Failure)
    assert "DDGS_PROXY: its value is not allowed; it takes http://host:port" in told
    assert "private" not in told


class Panic(BaseException):
    """What a native library raises."""


RAISED = [ValueError("x"), OSError("x"), RuntimeError("x"), KeyError("x"), StopIteration(), MemoryError(), Panic("x")]
JUNK: list[Any] = [None, 3, "page", {}, [None], [3, "x"], 1.5]


def tool_of(find: Any, **more: Any) -> Tool:
    return create_duckduckgo_tool(DuckDuckGo(search_page=find), **more)


@pytest.mark.parametrize("error", RAISED, ids=repr)
async def test_every_error_of_the_library_is_reported_and_logged(
    error: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    def find(query: str, **_: Any) -> Page:
        raise error

    told = await tool_of(find)(query="secret words")

    assert isinstance(told, Failure)
    name = type(error).__name__
    assert told == f"Web search failed: DuckDuckGo could not be reached: the search failed ({name})"
    assert [(r.message, r.levelname) for r in caplog.records] == [("web_search.failed", "ERROR")]
    assert "secret" not in caplog.text


@pytest.mark.parametrize("junk", JUNK, ids=repr)
async def test_a_malformed_page_is_reported_and_logged(junk: Any, caplog: pytest.LogCaptureFixture) -> None:
    told = await tool_of(lambda query, **_: junk)(query="x")

    assert isinstance(told, Failure)
    assert told.startswith("Web search failed: DuckDuckGo sent an unreadable answer: the page of results ")
    assert [r.message for r in caplog.records] == ["web_search.failed"]


async def test_entries_that_are_none_are_left_out() -> None:
    told = await tool_of(lambda query, **_: [None, {"title": 3, "href": "https://a.org/", "body": None}])(query="x")

    assert told == "Title: \nSnippet: \nURL: https://a.org/"


@pytest.mark.parametrize("error", [ValueError("x"), TypeError("x")], ids=repr)
async def test_an_unexpected_error_of_a_provider_is_reported_and_logged(
    error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    told = await create_duckduckgo_tool(FakeProvider("Mine", error=error))(query="x")

    assert told == f"Web search failed: Mine failed ({type(error).__name__})"
    assert [r.message for r in caplog.records] == ["web_search.failed"]


@pytest.mark.parametrize(("given", "shown"), [({}, 3), ({"max_results": 1}, 1), ({"max_results": 20}, 12)])
async def test_the_number_of_results_is_set_where_the_tool_is_made(given: dict[str, int], shown: int) -> None:
    pages = [{"title": "t", "href": f"https://a.org/{number}", "body": "b"} for number in range(12)]

    told = await tool_of(lambda query, **_: pages, **given)(query="x")

    assert told.count("URL: ") == shown


async def test_what_utf_8_cannot_hold_is_replaced() -> None:
    page = [{"title": "a\ud800", "href": "https://a.example/", "body": "b\udfff\0"}]

    told = await tool_of(lambda query, **_: page)(query="x")

    assert told.encode() == b"Title: a?\nSnippet: b?\nURL: https://a.example/"


@pytest.mark.parametrize("most", [0, 21, -1, True, 1.5, "x"])
def test_another_number_of_results_is_refused(most: Any) -> None:
    with pytest.raises(InvalidRequest, match=r"^max_results: "):
        create_duckduckgo_tool(DuckDuckGo(), max_results=most)


@pytest.mark.parametrize(("tools", "told"), [(["web_search"], True), (["search_pages", "ask_web"], False)])
def test_the_project_s_own_agent_gets_the_line(tools: list[str], told: bool) -> None:
    prompt = build_instructions(today=date(2026, 1, 1), steps=6, tools=tools)

    assert (SYSTEM_PROMPT_LINE in prompt.splitlines()) == told


async def test_no_results_are_a_clear_line_and_no_failure(point_ddgs_at: PointDdgsAt) -> None:
    async with FakeDuckDuckGo([]) as fake:
        point_ddgs_at(fake.url)

        told = await TOOL(query="xyzzy")

    assert told.startswith("No results found for 'xyzzy'. ")
    assert not isinstance(told, Failure)


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (ConnectionFailed("the search failed"), "DuckDuckGo could not be reached: the search failed"),
        (TimedOut("the search timed out"), "DuckDuckGo did not answer in time: the search timed out"),
    ],
)
async def test_a_failure_is_a_clear_line(error: Exception, line: str) -> None:
    told = await create_duckduckgo_tool(FakeProvider("DuckDuckGo", error=error))(query="python")

    assert told == f"Web search failed: {line}"
    assert isinstance(told, Failure)


async def test_every_provider_reports_an_empty_result() -> None:
    provider = FakeProvider("DuckDuckGo", error=NothingFound("no results"))

    assert (await create_duckduckgo_tool(provider)(query="python")).startswith("No results found for 'python'.")


async def test_a_refusal_looks_like_no_results_and_the_line_says_so(point_ddgs_at: PointDdgsAt) -> None:
    async with FakeDuckDuckGo(html="", status=403) as fake:
        point_ddgs_at(fake.url)

        told = await TOOL(query="python")

    assert told.endswith("A search that is refused looks the same: another tool may find some.")


async def test_an_empty_query_is_explained() -> None:
    told = await TOOL(query=" ")

    assert told.startswith("Web search failed: DuckDuckGo refused the request: query: ''")
