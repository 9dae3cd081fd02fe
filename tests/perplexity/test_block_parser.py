"""The blocks of a text: those of CommonMark's parser, and the same after what leaves them alone."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from perplexity.citations import number_citations
from perplexity.markdown import BlockKind, Edit, parse, read_blocks
from perplexity.types import Source
from tests.fakes.hostile_text import SCRAPS, wild

PARSER = MarkdownIt("commonmark", {"html": False}).enable("table").disable(["inline", "reference"])
KINDS = {
    "heading_open": BlockKind.HEADING,
    "paragraph_open": BlockKind.PARAGRAPH,
    "bullet_list_open": BlockKind.LIST,
    "ordered_list_open": BlockKind.LIST,
    "list_item_open": BlockKind.ITEM,
    "blockquote_open": BlockKind.QUOTE,
    "fence": BlockKind.FENCE,
    "code_block": BlockKind.INDENTED,
    "table_open": BlockKind.TABLE,
    "hr": BlockKind.RULE,
}
LINES = (
    *("- a", "- b [1]", "  - c", "    - d", "     e", "1. x", "2. y", "10) z", "> q", "> > r", ">", "> - l", "```"),
    *("~~~", "``` `", "    code", "\tcode", " \t- x", "# h", "## h ##", "h\n===", "---", "***", "- - -", "| a | b |"),
    *("|---|---|", "| c |", "a | b", "-|-", "text", "", "   ", "-", "1.", "* a", "* **b**", "+ b", "2021 was", "3.5"),
    *("=====", "[9]", "| [9] | c |", "| c | [9]"),
)
SOURCES = tuple(Source(number=n, title="", url=f"https://{n}.example/") for n in (1, 2, 3))
structured = st.lists(st.sampled_from(LINES), max_size=25).map("\n".join)


def expected(text: str) -> list[tuple[BlockKind, int, int, int]]:
    tokens = [(token.type, token.level, token.map) for token in PARSER.parse(text) if token.type in KINDS]
    return [(KINDS[kind], level, lines[0], lines[1]) for kind, level, lines in tokens if lines]


@given(wild | structured)
@example("~~~\na\n  ")
@example("- a\n\n\n    b\n- c")
@example("a | b\n-|-\n\n|c\n|-")
def test_every_block_is_where_the_parser_of_commonmark_finds_it(text: str) -> None:
    found = [(block.kind, block.depth, block.start, block.end) for block in read_blocks(text)]

    assert expected(text) == found


@given(wild | structured)
def test_a_heading_and_code_have_the_text_that_commonmark_gives_them(text: str) -> None:
    tokens = PARSER.parse(text)
    contents = [
        tokens[index + 1].content if token.type == "heading_open" else token.content
        for index, token in enumerate(tokens)
        if token.type in ("heading_open", "fence", "code_block")
    ]
    kinds = (BlockKind.HEADING, BlockKind.FENCE, BlockKind.INDENTED)

    assert contents == [block.content for block in read_blocks(text) if block.kind in kinds]


@given(st.lists(st.sampled_from((*SCRAPS, *LINES, "\n")), max_size=40).map("".join) | structured)
@example("[9] - x")
@example("[# a](https://1.example/)")
@example("[9]\n===")
@example("a | [9]\n-|-")
def test_a_cited_text_has_the_blocks_that_it_would_have_if_it_were_read_again(text: str) -> None:
    document = number_citations(text, SOURCES).document(lambda number: f"\ufdd0{number}\ufdef")

    assert document.blocks == read_blocks(document.text)


@pytest.mark.parametrize(
    ("text", "edit"),
    [
        ("# a", (0, 2, "")),
        ("a\n\nb", (1, 2, "x")),
        ("x - a", (0, 2, "")),
        ("a | b\n-|-", (2, 3, "x")),
        ("| a |\n|---|", (2, 3, "b | c")),
        ("1x a", (1, 2, ".")),
        ("a\nb", (2, 3, "===")),
        ("a\nb c", (2, 3, "- d")),
        ("a `b` c", (2, 5, "```")),
    ],
)
def test_an_edit_that_might_change_the_blocks_has_the_text_read_again(text: str, edit: Edit) -> None:
    start, end, new = edit

    edited = parse(text).replace([edit])

    assert edited.text == text[:start] + new + text[end:]
    assert edited.blocks == read_blocks(edited.text)
