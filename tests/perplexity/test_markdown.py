"""Code, LaTeX and prose, told apart."""

from __future__ import annotations

import pytest
from hypothesis import example, given

from perplexity.citations import drop_dangling, number_citations
from perplexity.markdown import Document, RegionKind, parse, regions
from perplexity.types import Source
from tests.fakes.hostile_text import wild


def found(text: str, *kinds: RegionKind) -> list[str]:
    return [text[region.start : region.end] for region in regions(text) if region.kind in kinds]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("a `b` c", ["`b`"]),
        ("a ``b ` c`` d", ["``b ` c``"]),
        ("a ` b", []),
        (r"a \`b` c", []),
        (r"a \`b `c` d", ["`c`"]),
        (r"\``a`", ["`a`"]),
        ("`a\n\nb`", []),
        ("`a\nb`", ["`a\nb`"]),
        ("# `a`", ["`a`"]),
        ("- x `a`\n- y `b`", ["`a`", "`b`"]),
        ("| `a` | `b |\n|---|---|\n| c` | `d` |", ["`a`", "`d`"]),
        ("x ``` y ```", ["``` y ```"]),
    ],
)
def test_inline_code_ends_at_the_next_run_as_long_and_never_leaves_its_block(text: str, code: list[str]) -> None:
    assert code == found(text, RegionKind.SPAN)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("a\n```py\nb\n```\nc", ["```py\nb\n```\n"]),
        ("~~~\na\n~~~", ["~~~\na\n~~~"]),
        ("```\na", ["```\na"]),
        ("- x\n\n  ```\n  a\n  ```\n", ["  ```\n  a\n  ```\n"]),
        ("a\r\n```\r\nb\r\n```\r\nc", ["```\r\nb\r\n```\r\n"]),
        ("a\n\n    b\n\nc", ["    b\n"]),
        ("a\n    b", []),
    ],
)
def test_code_blocks_are_whole_lines(text: str, code: list[str]) -> None:
    assert code == found(text, RegionKind.FENCE, RegionKind.INDENTED)


@pytest.mark.parametrize(
    ("text", "latex"),
    [
        ("so $x_1$ is", ["$x_1$"]),
        ("so $$x$$ is", ["$$x$$"]),
        (r"so \(x\) and \[y\] is", [r"\(x\)", r"\[y\]"]),
        ("\\[\nx\n- y\n\\]", ["\\[\nx\n- y\n\\]"]),
        ("$5 [1] and $6 [2]", []),
        ("$5[1]-$6[2]", []),
        ("5$ and 6$ or US$7", []),
        ("costs $5 [1], or 6$ [2]", []),
        ("$2x = 4$", ["$2x = 4$"]),
        ("$AAPL [1] and ($MSFT) [2]", []),
        ("$x [1] has no end", []),
        (r"\$x [1]$", []),
        (r"\\(x\\)", []),
        ("$a\nb$", []),
        ("\\(a\n\nb\\)", []),
        ("`$x` and $y", []),
        (r"\[12\] and \[1, web:2\]", []),
    ],
)
def test_latex_is_found_and_prices_are_not_latex(text: str, latex: list[str]) -> None:
    assert latex == found(text, RegionKind.MATH)


@given(wild)
def test_the_regions_of_any_text_joined_are_the_text(text: str) -> None:
    assert text == "".join(text[region.start : region.end] for region in regions(text))


@given(wild)
@example("`a`[9]`` b `` c ` d")
@example("`a`[1] `b`[9] [1] `c`")
def test_regions__of_a_document_whose_markers_changed(text: str) -> None:
    sources = (
        Source(number=1, title="A", url="https://a.example/1"),
        Source(number=2, title="B", url="http://evil.com"),
    )

    documents = [number_citations(text, sources).document(lambda number: f"\ufdd0{number}\ufdef")]
    documents.append(parse(drop_dangling(text, sources)[0]))

    for document in documents:
        assert document.regions == Document(document.text, document.blocks).regions
