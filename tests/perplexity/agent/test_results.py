"""Parsing the results of tools, and registering their pages."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perplexity.agent.results import SourceRegistry, ToolResult, parse_tool_result
from perplexity.citations import format_result
from perplexity.types import Answer, Source

A, B = "https://a.example/", "https://b.example/x_(y)"
FIRST = Source(number=1, title="A", url=A, date="2026-01-02")
SECOND = Source(number=2, title="B (b)", url=B)
PARAGRAPHS = f"1. A page\nSays https://elsewhere.example/ so.\nURL: {A}\n\nTitle: Another\nSnippet: It is.\n{B}"


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        (
            format_result(Answer(text="So [1][2].", sources=(FIRST, SECOND), provider="P")),
            ToolResult(text="So [1][2].", sources=(FIRST, SECOND)),
        ),
        (
            json.dumps([{"title": "A", "url": A, "snippet": "It\nis.", "date": "2026-01-02"}]),
            ToolResult(text="", sources=(Source(number=1, title="A", url=A, snippet="It\nis.", date="2026-01-02"),)),
        ),
        (
            json.dumps(
                {
                    "success": True,
                    "content": "So [2].",
                    "citations": [A, B],
                    "web_results": [{"title": "B (b)", "url": B, "snippet": "Is."}],
                }
            ),
            ToolResult(
                text="So [2].",
                sources=(Source(number=1, title=A, url=A), Source(number=2, title="B (b)", url=B, snippet="Is.")),
            ),
        ),
        (
            json.dumps({"content": "So [7].", "results": [{"id": 7, "title": "A", "url": A}], "cost_usd": 0.5}),
            ToolResult(text="So [7].", sources=(Source(number=7, title="A", url=A),), cost_usd=0.5),
        ),
        (
            json.dumps({"content": "", "results": [], "notes": ["No language filter."], "cost_usd": True}),
            ToolResult(
                text=json.dumps({"content": "", "results": [], "notes": ["No language filter."], "cost_usd": True}),
                notes=("No language filter.",),
            ),
        ),
        (
            json.dumps({"success": False, "error": f"Search failed: see {B}", "results": []}),
            ToolResult(text=f"Search failed: see {B}"),
        ),
        (
            PARAGRAPHS,
            ToolResult(
                text=PARAGRAPHS,
                sources=(
                    Source(number=1, title="A page", url=A, snippet="Says https://elsewhere.example/ so."),
                    Source(number=2, title="Another", url=B, snippet="It is."),
                ),
            ),
        ),
        (
            f"A page\n{A}\nSays: <result>\nno\n</result>\n<references>\n- [1] B (N/A) [{B}]\n</references>",
            ToolResult(
                text=f"A page\n{A}\nSays: <result>\nno\n</result>\n<references>\n- [1] B (N/A) [{B}]\n</references>",
                sources=(
                    Source(
                        number=1,
                        title="A page",
                        url=A,
                        snippet=f"Says: <result>\nno\n</result>\n<references>\n- [1] B (N/A) [{B}]\n</references>",
                    ),
                ),
            ),
        ),
        ("Nothing was found.", ToolResult(text="Nothing was found.")),
        ("7", ToolResult(text="7")),
        ("[]", ToolResult(text="[]")),
    ],
)
def test_a_result_is_parsed_to_text_and_pages(result: str, expected: ToolResult) -> None:
    assert parse_tool_result(result) == expected


JSONS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from([A, B, "javascript:x"]),
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(
            st.sampled_from(
                ["content", "results", "web_results", "citations", "notes", "cost_usd", "url", "id", "title"]
            ),
            inner,
        )
    ),
    max_leaves=12,
)


@given(JSONS.map(json.dumps) | st.text())
def test_any_result_can_be_parsed_and_registered(result: str) -> None:
    registry = SourceRegistry()

    registered = registry.add(parse_tool_result(result))

    assert [source.number for source in registry.sources] == list(range(1, len(registry.sources) + 1))
    assert all(f"[{source.number}]" in registered for source in registry.sources)


def registered(*results: Any) -> tuple[SourceRegistry, list[str]]:
    registry = SourceRegistry()
    return registry, [registry.add(parse_tool_result(result)) for result in results]


def test_markers_of_a_written_answer_become_the_run_s_numbers() -> None:
    earlier = json.dumps([{"title": "Z", "url": "https://z.example/"}])
    answer = format_result(Answer(text="So [1], and [2].", sources=(SECOND_AS_FIRST, FIRST_AS_SECOND), provider="P"))

    registry, (_, first, second) = registered(earlier, json.dumps([{"title": "A", "url": A}]), answer)

    assert first == f"<pages>\n[2] A (no date) {A}\n</pages>"
    assert second.startswith("So [3], and [2].\n\n<pages>\n[3] B")
    assert [source.url for source in registry.sources] == ["https://z.example/", A, B]


SECOND_AS_FIRST = Source(number=1, title="B", url=B)
FIRST_AS_SECOND = Source(number=2, title="A", url=A)


def test_a_repeated_page_keeps_its_number_and_gains_a_longer_excerpt() -> None:
    registry, _ = registered(
        json.dumps({"citations": [A]}),
        json.dumps([{"title": "A", "url": "HTTPS://A.example", "snippet": "Much.", "date": "2026-01-02"}]),
        json.dumps([{"title": "A, later", "url": A, "snippet": "", "date": None}]),
    )

    assert registry.sources == (
        Source(number=1, title="A", url="HTTPS://A.example", snippet="Much.", date="2026-01-02"),
    )


def test_a_longer_excerpt_without_a_title_leaves_the_title() -> None:
    registry, _ = registered(
        json.dumps([{"title": "A", "url": A, "snippet": "Some."}]),
        json.dumps([{"title": A, "url": A, "snippet": "More of it."}]),
    )

    assert registry.sources == (Source(number=1, title="A", url=A, snippet="More of it."),)


def test_an_unsafe_address_is_not_registered() -> None:
    registry, (told,) = registered(json.dumps([{"title": "A", "url": "https://user:pass@a.example/"}]))

    assert (registry.sources, told) == ((), "Nothing was found.")
