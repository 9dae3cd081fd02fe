"""news_summary: the news as a tool; its specification is tests/data/specs/search-fallback-and-news.md."""

from __future__ import annotations

import re
from pathlib import Path

from perplexity.errors import BillingError, ConnectionFailed, NothingFound
from perplexity.fallback import Fallback
from perplexity.tools import Failure, create_news_summary_tool
from perplexity.tools.news_summary import SECONDS, TOOL
from tests.fakes.provider import FakeProvider

SPEC = (Path(__file__).parents[2] / "data" / "specs" / "search-fallback-and-news.md").read_text("utf-8")


def test_the_tool_is_the_documents() -> None:
    written = SPEC[SPEC.index("GetNewsSummaryTool(session, args)") : SPEC.index("NewsDeepDiveTool(session, args)")]
    parameters = re.findall(r"(\w+): string", written)

    assert f"and {TOOL.name} tools" in SPEC
    assert parameters == list(TOOL.parameters["properties"])
    assert "Same 60s timeout" in written
    assert SECONDS == 60


async def test_the_stories_have_their_references_and_who_found_them() -> None:
    dry = FakeProvider("Perplexity", error=BillingError("no"))
    found = FakeProvider("Brave")

    told = await create_news_summary_tool(Fallback([dry, found]), now=lambda: 0.0)(category="world", topic="rain")

    assert told == (
        "Perplexity is out of credit; this news is from Brave.\n\n"
        "<result>\n- A page: What it says. [1]\n</result>\n\n"
        "<references>\n- [1] A page (N/A) [https://example.com/1]\n</references>\n\n"
        "Found by Brave. As of 1970-01-01 00:00 UTC. "
        "The model’s reply wasn’t a list, so these are the pages’ own headlines. Only 1 story was found."
    )
    (question,) = found.questions
    assert "It is 1970-01-01 00:00, UTC." in question.messages[0].content
    assert question.text == "rain world news"


async def test_a_category_is_one_of_the_list_and_the_topic_may_be_left_out() -> None:
    tool = create_news_summary_tool(provider := FakeProvider("Brave"))

    wrong, right = await tool(category="weather"), await tool(category="world")

    assert isinstance(wrong, Failure)
    assert "category must be world, business, technology, science, health" in wrong
    assert right.startswith("<result>")
    assert provider.questions[0].text == "latest world news"


async def test_a_failure_is_one_line_in_brackets() -> None:
    away = FakeProvider("Perplexity", error=ConnectionFailed("no"))
    empty = FakeProvider("Brave", error=NothingFound("none"))

    told = [await create_news_summary_tool(by)(category="world") for by in (Fallback([away]), Fallback([]), empty)]

    assert told == [
        "[news_summary failed: Perplexity could not be reached]",
        "[news_summary failed: no service is configured]",
        "[news_summary: No world news was found (past day). Try another topic, a longer period or fewer filters.]",
    ]
    assert all(isinstance(text, Failure) for text in told)
