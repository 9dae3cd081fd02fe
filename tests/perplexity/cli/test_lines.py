"""The lines below an answer are those of Slack: sources with site and day, and a footer."""

from __future__ import annotations

import pytest

from perplexity.cli.options import option_hint
from perplexity.cli.output import UNSOURCED, footer, notes, source_heading
from perplexity.formatting import closest_match
from perplexity.types import Answer, Source, Usage
from perplexity.urls import strip_secrets

SOURCE = Source(number=1, title="A page", url="https://www.a.example/x", date="2026-05-03")


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        (SOURCE, ("A page", "a.example · 3 May 2026")),
        (Source(number=1, title=" ", url="https://a.example/x", date="soon"), ("a.example", "a.example")),
        (Source(number=1, title="", url="nonsense"), ("nonsense", "")),
        (Source(number=1, title="", url=""), ("Untitled", "")),
    ],
)
def test_a_source_has_its_title_site_and_day(source: Source, shown: tuple[str, str]) -> None:
    assert source_heading(source) == shown


@pytest.mark.parametrize(
    ("text", "seconds", "cost_usd", "expected"),
    [
        ("So.[1]", 3.42, 0.00141, "Perplexity · fast · 3.4 s · $0.0014"),
        ("So.[1][7]", 125.0, 0.0, "Perplexity · fast · 2 min 5 s · free · 1 reference without a source removed"),
        ("So.[1][7][8]", 0.04, None, "Perplexity · fast · 0.0 s · 2 references without a source removed"),
    ],
)
def test_the_footer_says_who_how_long_and_for_how_much(
    text: str, seconds: float, cost_usd: float | None, expected: str
) -> None:
    usage = Usage(cost_usd=cost_usd)
    answer = Answer(
        text=text, sources=(SOURCE,), provider="Perplexity", effort="fast", model="m", seconds=seconds, usage=usage
    )

    assert footer(answer) == expected


def test_the_footer_counts_the_figures_that_are_not_in_the_excerpts() -> None:
    read = Source(number=1, title="", url="https://a.example/", snippet="It rose by 28 percent in May 2026.")
    text = "It rose by 29 % [1] in 2026.[1]\n\nIn June 2026, it rose by 28 %.[1]"

    line = footer(Answer(text=text, sources=(read,), provider="Perplexity"))

    assert line == "Perplexity · 0.0 s · 2 figures not in the excerpts"


def test_the_footer_says_that_figures_of_another_language_were_not_checked() -> None:
    read = Source(number=1, title="", url="https://a.example/", snippet="公司共有员工8500人。")

    line = footer(Answer(text="公司共有员工8600人[1]。", sources=(read,), provider="Perplexity"))

    assert line == "Perplexity · 0.0 s · figures checked in English and German only"


def test_an_answer_without_sources_says_so() -> None:
    assert notes(Answer(text="So.", sources=(), provider="Perplexity")) == [UNSOURCED]


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("http://user:pass/wo@rd@host.example:1/x?key=1#y", "http://host.example:1/x"),
        ("user:word@host:1", "host:1"),
        ("https://a.example", "https://a.example"),
        ("", ""),
    ],
)
def test_an_address_is_shown_without_what_is_secret(address: str, shown: str) -> None:
    assert strip_secrets(address) == shown


def test_what_follows_two_dashes_is_no_option() -> None:
    assert option_hint(["--", "--recncy"], ["--recency"], {}) == ""
    assert closest_match("", ["ask"]) is None
