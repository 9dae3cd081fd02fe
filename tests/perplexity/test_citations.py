"""Markers and their sources."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perplexity.citations import Marker, drop_dangling, drop_unknown_links, format_result, number_citations
from perplexity.markdown import RegionKind, regions
from perplexity.types import Answer, Source
from tests.fakes.hostile_text import wild

SOURCES = tuple(Source(number=n, title=f"T{n}", url=f"https://s{n}.example/p") for n in (1, 2, 3, 4))
NUMBERS = st.lists(st.integers(0, 12), max_size=8, unique=True)


@pytest.mark.parametrize(
    ("text", "shown", "used"),
    [
        ("a [1].", "a [1].", [1]),
        ("a [3] b [1] c [3]", "a [1] b [2] c [1]", [3, 1]),
        ("a[2][3]", "a[1][2]", [2, 3]),
        ("a [1, 2]; b [3;4]", "a [1][2]; b [3][4]", [1, 2, 3, 4]),
        ("a [web:4] b [web:1, web:2]", "a [1] b [2][3]", [4, 1, 2]),
        ("a【2】", "a[1]", [2]),
        (r"a \[2\]", "a [1]", [2]),
        ("a [1][1]", "a [1]", [1]),
        ("see [1](http://evil.example/)!", "see [1]!", [1]),
        ("see [1](https://s3.example/p)", "see [1]", [3]),
        ("see [9](https://s3.example/p 'T')", "see [1]", [3]),
        ("see [[2]](http://evil.example/x_(y))", "see [1]", [2]),
        ("the [PEP](https://S2.example/p)[2] says", "the PEP [1] says", [2]),
        (
            "<https://s2.example/p>, https://s1.example/p.",
            "<https://s2.example/p> [1], https://s1.example/p [2].",
            [2, 1],
        ),
        ("![1](http://evil.example/i.png)", "![1]", [1]),
        ("[1]: http://evil.example/", "[1]: http://evil.example/", [1]),
        ("$5 [1] and $6 [2]", "$5 [1] and $6 [2]", [1, 2]),
        ("a [1-3].", "a [1][2][3].", [1, 2, 3]),
        ("## a [1-3]", "## a [1][2][3]", [1, 2, 3]),
        ("| a |\n|---|\n| b ［1–3］ |", "| a |\n|---|\n| b [1][2][3] |", [1, 2, 3]),
        ("[a [1-2]](https://s1.example/p).", "a [1][2].", [1, 2]),
        ("[a ［２］ b](https://s1.example/p)", "a b [1][2]", [1, 2]),
        ("[[2–3] a](https://x.example/)", "[a](https://x.example/)[1][2]", [2, 3]),
        ("[[1][2]](https://s1.example/p)", "[1][2]", [1, 2]),
        ("[a [PDF]](https://s2.example/p)[2].", "a [PDF] [1].", [2]),
        ("a [2–4] b [1]", "a [1][2][3] b [4]", [2, 3, 4, 1]),
        ("a [3 - 2]", "a [1][2]", [2, 3]),
        ("a [web:1-web:2]", "a [1][2]", [1, 2]),
        ("a [1, 3-4; 2]", "a [1][2][3][4]", [1, 3, 4, 2]),
        ("a [２] b ［1］ c【３】 d［１－２］", "a [1] b [2] c[3] d[2][1]", [2, 1, 3]),
        ("a［１，３、４］", "a[1][2][3]", [1, 3, 4]),
        ("a [٢]", "a [1]", [2]),
        (r"a \[2-3\]", "a [1][2]", [2, 3]),
        ("a [[2]] b", "a [1] b", [2]),
        ("see [1-2](http://evil.example/)!", "see [1][2]!", [1, 2]),
        ("https://s2.example/p【2】", "https://s2.example/p [1]", [2]),
        ("so [T](https://s2.example/p).[2]", "so T.[1]", [2]),
        ("so [T](https://s2.example/p). [2] And", "so T. [1] And", [2]),
        ("so [T](https://s2.example/p)[3][2].", "so T [1][2].", [3, 2]),
        ("so **[T](https://s2.example/p)**.[3, 2]", "so **T**.[1][2]", [3, 2]),
        ("so [2](https://s2.example/p).[2]", "so.[1]", [2]),
        ("so https://s2.example/p.[2]", "so https://s2.example/p.[1]", [2]),
        ("so [T](https://s2.example/p).[3]", "so T [1].[2]", [2, 3]),
        ("so [T](https://s2.example/p) is so.[2]", "so T [1] is so.[1]", [2]),
        ("[T](https://s2.example/p).\n[2] b", "T [1].\n[1] b", [2]),
    ],
)
def test_markers_are_numbered_by_first_use(text: str, shown: str, used: list[int]) -> None:
    cited = number_citations(text, SOURCES)

    assert (shown, used, 0) == (cited.text, [source.number for source in cited.sources], cited.dangling)


@pytest.mark.parametrize(
    "text",
    [
        "`[1]`",
        "```\n[1]\n```",
        "    [1]",
        "$x_[1]$",
        "$$[1]$$",
        r"\(a[1]\)",
        r"\[a [1]\]",
        "[x]",
        "- [ ] to do",
        "[2024]",
        "[2024-2026]",
        "[1-2-3]",
        "[10-2025]",
        "[0-9]",
        "[12, 2024]",
        "[x-1]",
        "`a[1-2]`",
        "```py\na[1:2] + b[0-1]\n```",
        "[^1]",
        "[]",
        "[a](http://evil.example/)",
        "http://evil.example/",
    ],
)
def test_brackets_that_are_not_markers_stay_unchanged(text: str) -> None:
    assert (text,) == number_citations(text, SOURCES).pieces


@pytest.mark.parametrize(
    ("text", "left", "dangling"),
    [
        ("a [9].", "a.", 1),
        ("a [9] b", "a b", 1),
        ("[9] a", "a", 1),
        ("a\n[9]  b", "a\nb", 1),
        ("- [9] a", "- a", 1),
        ("a [9][10] [1]", "a [1]", 2),
        ("a [1, 9]", "a [1]", 1),
        ("a [9](http://evil.example/) b", "a b", 1),
        ("[1[9]]", "[1\u2060]", 1),
        ("[[9]1]", "[\u20601]", 1),
        ("a [9]", "a", 1),
        ("a [3-6]", "a [3][4]", 2),
        ("a [9–11].", "a.", 3),
        ("a ［９］。", "a。", 1),
        ("a [1-999999] b", "a [1][2][3][4] b", 1),
        ("a [1-99999999999999999999999999]", "a [1][2][3][4]", 1),
        ("a [60-999]", "a", 1),
        ("a 【1】［２］", "a [1][2]", 0),
    ],
)
def test_references_to_no_source_are_removed_and_counted(text: str, left: str, dangling: int) -> None:
    assert (left, dangling) == drop_dangling(text, SOURCES)


@pytest.mark.parametrize(
    ("text", "left", "removed"),
    [
        ("a https://evil.example/x_y.", "a.", 1),
        ("a <HTTPS://evil.example> b", "a b", 1),
        ("see www.evil.example/x!", "see!", 1),
        ("https://evil.example says", "says", 1),
        ("the [docs](https://evil.example 'T') say", "the docs say", 1),
        ("![a chart](https://evil.example/i.png)", "a chart", 1),
        ("[https://evil.example](https://evil.example/)", "", 2),
        ("[x](mailto:a@evil.example) [y](//evil.example)", "x y", 2),
        ("[PEP](https://s2.example/p) https://s1.example/p", "[PEP](https://s2.example/p) https://s1.example/p", 0),
        ("[1](https://evil.example/) [2]", "[1](https://evil.example/) [2]", 0),
        ("`curl https://x.example` f[i](j) [k](#top) www", "`curl https://x.example` f[i](j) [k](#top) www", 0),
    ],
)
def test_links_and_addresses_of_no_source_are_removed_and_counted(text: str, left: str, removed: int) -> None:
    assert (left, removed) == drop_unknown_links(text, SOURCES)


@given(wild)
def test_in_any_text_no_address_is_left_that_is_no_source_s(text: str) -> None:
    left, removed = drop_unknown_links(text, SOURCES)

    assert drop_unknown_links(left, SOURCES) == (left, 0)
    assert removed or left == text


def test_sources_without_a_marker_are_the_others() -> None:
    cited = number_citations("a [3]", SOURCES)

    assert tuple(source.number for source in cited.sources) == (3,)
    assert tuple(source.number for source in cited.others) == (1, 2, 4)


def test_the_result_for_a_tool_lists_every_source_in_the_order_and_numbering_of_the_service() -> None:
    sources = (
        Source(number=2, title="Two", url="https://b.example/2", date="2026-11-01"),
        Source(number=7, title="Seven", url="https://b.example/7"),
    )

    text = format_result(Answer(text="Because.[7] And [2, 7] `[9]`.[9]", sources=sources, provider="P"))

    assert text == (
        "<result>\nBecause.[7] And [2, 7] `[9]`.\n</result>\n\n"
        "<references>\n- [2] Two (2026-11-01) [https://b.example/2]\n- [7] Seven (N/A) [https://b.example/7]\n</references>"
    )


NUMBER = st.integers(1, 12)
SIGN = st.sampled_from("-–—‑－～")
WIDE = str.maketrans("0123456789", "０１２３４５６７８９")


@st.composite
def markers(draw: st.DrawFn) -> tuple[str, list[int]]:
    """Return a marker, and the numbers that it means."""
    items: list[str] = []
    numbers: list[int] = []
    for _ in range(draw(st.integers(1, 4))):
        low, high = sorted((draw(NUMBER), draw(NUMBER)))
        written = f"{low}{draw(SIGN)}{high}" if low < high else str(low)
        items.append(written.translate(WIDE) if draw(st.booleans()) else written)
        numbers += range(low, high + 1)
    inside = draw(st.sampled_from([", ", ",", "; ", "，", "、"])).join(items)
    opening, closing = draw(st.sampled_from([("[", "]"), ("［", "］"), ("【", "】"), (r"\[", r"\]")]))
    return f"{opening}{inside}{closing}", list(dict.fromkeys(numbers))


@given(st.lists(markers(), min_size=1, max_size=5), st.integers(0, 12))
def test_however_a_marker_is_written_it_means_its_numbers(found: list[tuple[str, list[int]]], count: int) -> None:
    sources = tuple(Source(number=n, title="T", url=f"https://s{n}.example/") for n in range(1, count + 1))
    text = "".join(f" word{marker}" for marker, _ in found)

    cited = number_citations(text, sources)
    shown = "".join(piece if isinstance(piece, str) else f"<{piece.source.number}>" for piece in cited.pieces)

    known = [[number for number in numbers if number <= count] for _, numbers in found]
    assert shown == "".join(" word" + "".join(f"<{number}>" for number in numbers) for numbers in known)
    assert (cited.dangling > 0) == any(number > count for _, numbers in found for number in numbers)


def numbers_outside_code(text: str) -> set[int]:
    prose = [text[r.start : r.end] for r in regions(text) if r.kind is RegionKind.PROSE]
    return {int(number) for stretch in prose for number in re.findall(r"\[([0-9]{1,3})\]", stretch)}


@given(wild, NUMBERS)
def test_in_any_text_the_markers_shown_are_among_the_sources_listed(text: str, numbers: list[int]) -> None:
    sources = tuple(Source(number=n, title="T", url=f"https://s{n}.example/") for n in numbers)

    cited = number_citations(text, sources)

    assert numbers_outside_code(cited.text) <= set(range(1, len(cited.sources) + 1))
    assert {p.number for p in cited.pieces if isinstance(p, Marker)} == set(range(1, len(cited.sources) + 1))
    assert sorted(sources, key=str) == sorted([*cited.sources, *cited.others], key=str)
    assert numbers_outside_code(drop_dangling(text, sources)[0]) <= set(numbers)


def test_a_marker_of_an_alias_is_the_page_s_own() -> None:
    sources = (
        Source(number=1, title="A", url="https://a.example/", aliases=(3, 4)),
        Source(number=2, title="B", url="https://b.example/"),
    )

    cited = number_citations("x [3] y [2] z [1, 4] [9]", sources)

    assert (cited.text, cited.dangling) == ("x [1] y [2] z [1]", 1)
    assert "x [1] y [2] z [1]\n</result>" in format_result(
        Answer(text="x [3] y [2] z [1, 4] [9]", sources=sources, provider="P")
    )
