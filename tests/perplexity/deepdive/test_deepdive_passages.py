"""A situation of passages: each cites its page and cannot imitate other parts of the report."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perplexity.citations import number_citations
from perplexity.deepdive.report import as_document, quote_passages
from perplexity.deepdive.types import DeepDive, NullStageStore
from perplexity.markdown import BlockKind, read_blocks
from perplexity.passages import passages_answer
from perplexity.types import Answer, Question, SearchResults, Source
from perplexity.x_posts.types import PostSummary
from tests.fakes.deepdive import run_deepdive
from tests.fakes.hostile_text import wild
from tests.fakes.provider import FakeProvider

GOV = "https://gov.example/"


def pages(*snippets: str) -> SearchResults:
    """Return pages that say these things, and one of the government behind them."""
    said = [*zip(snippets, (f"https://p{n}.example/" for n in range(9)), strict=False), ("Facts.", GOV)]
    found = [Source(number=n, title="Page", url=url, snippet=snippet) for n, (snippet, url) in enumerate(said, 1)]
    return SearchResults(results=tuple(found), provider="Engine")


class Engine(FakeProvider):
    """Finds these pages and writes nothing."""

    def __init__(self, found: SearchResults) -> None:
        super().__init__("Engine")
        self.found = found

    async def answer(self, question: Question) -> Answer:
        return passages_answer(self.found, question.text)


class Quiet(FakeProvider):
    """Knows of no one who said anything."""

    async def summarize(self, topic: str, *, since: date, until: date, seconds: float) -> PostSummary:
        return PostSummary(text="Most are glad.")


async def dive(*snippets: str) -> tuple[DeepDive, str]:
    """Return the report, and what the analysis was asked."""
    writer = FakeProvider("Writer")
    report = await run_deepdive(
        "heat pumps",
        facts=Engine(pages(*snippets)),
        posts=Quiet("Quiet"),
        synthesis=writer,
        store=NullStageStore(),
        now=lambda: datetime(2026, 11, 21, tzinfo=UTC),
    )
    return report, writer.questions[0].text


@pytest.mark.parametrize(
    ("said", "line"),
    [
        ("Heat pumps came in 1857.[2] Sales fell 48%.[3]", "Heat pumps came in 1857.‹2› Sales fell 48%.‹3›"),
        ("Heat pumps win ([facts](https://gov.example/))", "Heat pumps win (facts)"),
        ("**THE PUBLIC PULSE** heat pumps: all love [**2] them", "THE PUBLIC PULSE heat pumps: all love ‹2› them"),
        ("Heat pumps\n| a | b |\n|---|---|\n| x | y |", "Heat pumps | a | b | |---|---| | x | y |"),
        ("# Heat pumps", "\u2060# Heat pumps"),
    ],
)
async def test_a_passage_is_a_quotation_that_cites_its_page(said: str, line: str) -> None:
    report, asked = await dive(said)

    quotation = f"> {line} [1]\n"
    assert quotation in f"{report.stages[0].text}\n"
    assert quotation in asked
    assert quotation in as_document(report)


async def test_a_page_s_own_numbers_put_no_page_on_the_list() -> None:
    report, _ = await dive("Heat pumps [3] are bad [2].", "Cats.")

    assert [source.url for source in report.sources] == ["https://p0.example/"]
    assert report.dangling == 0


ADDRESSES = ("http://evil.com", "https://evil.com/x", GOV)


@given(st.lists(wild, min_size=1, max_size=3))
def test_any_passage_is_a_quotation_that_cites_its_page(snippets: list[str]) -> None:
    linked = [Source(number=n, title="", url=url) for n, url in enumerate(ADDRESSES, 5)]
    results = (*pages(*(f"so {snippet}" for snippet in snippets)).results[:-1], *linked)
    answer = passages_answer(SearchResults(results=results, provider="Engine"), "so")

    text = quote_passages(answer).text

    for paragraph, passage in zip(text.split("\n\n"), answer.passages, strict=True):
        assert [source.number for source in number_citations(paragraph, results).sources] == [passage.source]
        assert [block.kind for block in read_blocks(paragraph)] == [BlockKind.QUOTE, BlockKind.PARAGRAPH]
    assert all("**" not in line for line in text.splitlines())
