"""The report as a document: its form, which found text cannot change, and its links, which are only its sources."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import given
from markdown_it import MarkdownIt

from perplexity.deepdive.report import as_document, assemble
from perplexity.deepdive.types import DeepDive, Stage, StageResult
from perplexity.types import Source
from tests.fakes.hostile_text import short, wild

URL = "https://a.example/1"
HEADINGS = ["Deep Dive Report: heat pumps", *(stage.heading for stage in Stage)]
# As a viewer of Markdown files reads it, with HTML, definitions and links.
VIEWER = MarkdownIt("commonmark", {"html": True}).enable("table")


def report(text: str = "So it is.[1]", *, title: str = "A page", date: str = "2026-11-20", note: str = "") -> DeepDive:
    source = Source(number=1, title=title, url=URL, date=date)
    found = StageResult(stage=Stage.SITUATION, text=text, sources=(source,), notes=(note,) if note else ())
    people, analysis = StageResult(stage=Stage.PULSE, text="Glad."), StageResult(stage=Stage.ANALYSIS, text="Well.[1]")
    return assemble("heat pumps", found, people, analysis, persona="Nikki")


def links(written: str) -> set[str]:
    """Return where the document leads to, its pictures and its HTML included."""
    tokens = VIEWER.parse(written)
    inner = [child for token in tokens for child in token.children or []]
    assert [token.content for token in [*tokens, *inner] if token.type in {"html_block", "html_inline"}] == []
    return {str(child.attrs.get("href") or child.attrs.get("src")) for child in inner if child.attrs}


def headings(written: str) -> list[str]:
    return [inline.content for token, inline in pairwise(VIEWER.parse(written)) if token.type == "heading_open"]


def test_the_sources_are_listed_with_dates_and_addresses() -> None:
    assert f"Sources:\n1. A page (2026-11-20)\n   {URL}\n\n" in as_document(report())


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("Read [this](https://evil.example/x).", "Read this."),
        ("Read ![this](https://evil.example/x.png).", "Read this."),
        ("Read [this](mailto:a@evil.example).", "Read this."),
        ("See https://evil.example/y now.", "See now."),
        ("Well.\n\n[1]: https://evil.example\n", "Well.\n\n[1] :"),
        ("Well.\n\n> [1]: //evil.example\n", "> [1] : //evil.example"),
        ("Well.\n\n[a\nb]: ftp://evil.example\n\n[a b]", "[a\nb] : ftp://evil.example"),
        ("See <ftp://evil.example> now.", "See < ftp://evil.example> now."),
        ("See <h2>MY ANALYSIS</h2> now.", "See < h2>MY ANALYSIS< /h2> now."),
        ("<!-- See", "< !-- See"),
        ("It is $a<b$.", "It is a < b."),
        ("https://evil.example ## MY ANALYSIS", "**MY ANALYSIS**"),
        ("```\n[1]: <b>\n```", "```\n[1]: <b>\n```"),
        ("\\([x](https://evil.example)\\)", "`[x](https://evil.example)`"),
        ("Call `List<int>`.", "Call `List<int>`."),
        ("\t[[1]](https://evil.example)", "\t[[1]](https://evil.example)"),
        ("## THE SITUATION\n\n    [[1]](https://evil.example)", "    [[1]](https://evil.example)"),
    ],
)
def test_a_text_links_only_to_its_sources(written: str, shown: str) -> None:
    document = as_document(report(written))

    assert shown in document
    assert (links(document), headings(document)) == (set(), HEADINGS)


@pytest.mark.parametrize(
    ("title", "shown"),
    [
        ("Sales\n\n## MY ANALYSIS\n\nForged", "1. Sales ## MY ANALYSIS Forged (2026-11-20)"),
        ("## MY ANALYSIS", "1. \u2060## MY ANALYSIS (2026-11-20)"),
        ("[click](https://evil.example/x)", "1. click (2026-11-20)"),
        ("[click](relative)", "1. [click] (relative) (2026-11-20)"),
        ("<b>Sales</b>", "1. < b>Sales< /b> (2026-11-20)"),
        ("Sales [1]", "1. Sales ‹1› (2026-11-20)"),
        ("", "1. Untitled (2026-11-20)"),
        ("C# and #MeToo", "1. C# and #MeToo (2026-11-20)"),
    ],
)
def test_a_title_is_plain_text_on_one_line(title: str, shown: str) -> None:
    document = as_document(report(title=title))

    assert f"{shown}\n   {URL}\n" in document
    assert (links(document), headings(document)) == (set(), HEADINGS)


def test_a_date_and_a_note_are_one_line() -> None:
    document = as_document(report(date="2026\n# Forged", note="Well.\n\n## MY ANALYSIS\n[click](https://evil.example)"))

    assert "(2026 # Forged)" in document
    assert "_Well. ## MY ANALYSIS click_" in document
    assert (links(document), headings(document)) == (set(), HEADINGS)


@given(text=wild, title=short, note=short)
def test_a_document_of_any_material_links_to_no_other_site(text: str, title: str, note: str) -> None:
    document = as_document(report(text, title=title, note=note))

    assert headings(document) == HEADINGS
    assert [link for link in links(document) if re.match(r"[a-z]+:|//", link, re.IGNORECASE)] == []
