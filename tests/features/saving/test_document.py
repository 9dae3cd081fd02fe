"""An answer as a file: numbered references, and nothing of a page that could pose as ours."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import example, given
from markdown_it import MarkdownIt

from bot.features.saving.document import result_file
from bot.model.question import Result, SearchPage
from perplexity.types import Answer, AnswerKind, Passage, SearchResults, Source, Usage
from perplexity.urls import safe_url
from tests.fakes.hostile_text import wild

AT = datetime(2026, 11, 22, 10, 0, tzinfo=UTC)
SOURCES = tuple(
    Source(number=n, title=f"Title {n}", url=f"https://s{n}.example/", date="2026-11-01", snippet=f"Excerpt {n}.")
    for n in range(1, 4)
)


def written(result: Result, question: str = "what are wheels?") -> str:
    return result_file(result, question=question, asked_at=AT).content


def answer(text: str, **more: Any) -> Answer:
    usage = Usage(cost_usd=0.0042)
    return Answer(text=text, sources=SOURCES, provider="Perplexity", effort="fast", seconds=6.1, usage=usage, **more)


def test_an_answer_has_its_question_references_sources_and_facts() -> None:
    file = result_file(answer("Zip files. [3] And [1]"), question="what are wheels?", asked_at=AT)

    assert (file.name, file.title) == ("answer-what-are-wheels.md", "what are wheels?")
    assert file.content == (
        "# what are wheels?\n\n"
        "Zip files. [1] And [2]\n\n"
        "Sources:\n\n1. Title 3 (2026-11-01)\n   https://s3.example/\n2. Title 1 (2026-11-01)\n   https://s1.example/\n\n"
        "(1 more source read.)\n\n"
        "Perplexity · fast · 6.1 s · $0.0042\n\n"
        "Asked on 2026-11-22 10:00 UTC\n"
    ).replace("\\\n", "\n")


def test_warnings_are_kept() -> None:
    text = written(answer("Zip.", as_of="As of May.", stand_in="Brave found it.", incomplete="length", notes=("Hm.",)))

    assert [line in text for line in ("_As of May._", "_Brave found it._", "_Hm._", "incomplete")] == [True] * 4


def test_search_results_are_listed_with_their_numbers() -> None:
    page = SearchPage(results=SearchResults(results=SOURCES, provider="Brave"), before=("https://x.example/",))
    text = written(page)

    assert "2. Title 1 (2026-11-01)\n   https://s1.example/\n   Excerpt 1." in text
    assert "4. Title 3" in text


def test_passages_are_quotations() -> None:
    passages = (Passage(text="Round\nthings [7]", source=2),)
    text = written(answer("x", kind=AnswerKind.PASSAGES, passages=passages))

    assert "> Round things ‹7› [1]" in text


@given(wild, wild)
@example("", "[b]: http://evil.com 'T'")
@example("=", "")
@example("--", "")
def test_only_sources_are_links_and_only_the_question_is_a_heading(text: str, title: str) -> None:
    sources = (Source(number=1, title=title, url="https://s1.example/", snippet=text, date=title),)
    results: list[Result] = [
        Answer(text=text, sources=sources, provider=title, notes=(text,), stand_in=title),
        SearchPage(results=SearchResults(results=sources, provider="P", notes=(text,))),
    ]
    for result in results:
        tokens = MarkdownIt("commonmark").enable("table").parse(written(result, question=text))
        inline = [child for token in tokens for child in token.children or ()]
        links = {str(child.attrs["href"]) for child in inline if child.type == "link_open"}
        assert [token.tag for token in tokens if token.type == "heading_open"] == ["h1"]
        assert {safe_url(link) for link in links} <= {"https://s1.example/"}
        assert not [token for token in (*tokens, *inline) if token.type in {"html_block", "html_inline", "image"}]


@pytest.mark.parametrize(
    ("question", "heading"), [("C#", "# C#\u2060"), ("# a\n## b", "# \u2060# a ## b"), ("", "# Answer")]
)
def test_a_question_is_one_heading(question: str, heading: str) -> None:
    assert written(answer("x"), question=question).split("\n")[0] == heading
