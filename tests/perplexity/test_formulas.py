"""LaTeX in Markdown: readable, and not a character of it lost."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from markdown_it import MarkdownIt

from perplexity import formulas
from perplexity.citations import number_citations
from perplexity.markdown import parse
from perplexity.types import Source
from tests.fakes.hostile_text import wild

FORMULAS = [line.split("\t") for line in Path("tests/data/latex/formulas.tsv").read_text("utf-8").splitlines()]
MARKDOWN = MarkdownIt("commonmark").enable("table")


def readable(text: str) -> str:
    return formulas.readable(parse(text)).text


def unfinished(text: str) -> int:
    return formulas.unfinished(parse(text))


def visible(text: str) -> str:
    return readable(text).replace("\u2060", "")


def shown(text: str) -> list[str]:
    """Return every text and every code that a renderer shows."""
    tokens = (child for token in MARKDOWN.parse(readable(text)) for child in token.children or [token])
    return [token.content.replace("\u2060", "") for token in tokens if token.content]


@pytest.mark.parametrize(("formula", "text"), FORMULAS)
def test_a_formula_in_a_line_is_its_exact_text_or_code_with_every_character(formula: str, text: str) -> None:
    for signs in ("$%s$", r"\(%s\)"):
        assert (text or f"`{formula}`") in visible(f"So {signs % formula} is it.")
        assert (text or formula) in "".join(shown(f"So {signs % formula} is it."))


@pytest.mark.parametrize("formula", [formula for formula, _ in FORMULAS if formula != "[0, 1]"])
def test_a_displayed_formula_is_a_code_block_with_every_character(formula: str) -> None:
    for signs in ("$$%s$$", r"\[%s\]", "$$\n%s\n$$", "\\[\n%s\n\\]", "\\[\n\n%s\n\n\\]"):
        assert f"```latex\n{formula}\n```" in readable(f"So:\n\n{signs % formula}\n\nEnd."), signs


def test_words_between_two_displayed_formulas_are_no_formula() -> None:
    text = "$$\na^2\n$$\n\nWords with $\\alpha$ inside.\n\n$$\nb^2\n$$"

    assert readable(text) == "```latex\na^2\n```\n\nWords with α inside.\n\n```latex\nb^2\n```"


def test_an_environment_is_shown_whole() -> None:
    text = "\\begin{align*}\na &= b \\\\\n\\begin{cases}c\\end{cases}\n\\end{align*}"

    assert f"So:\n```latex\n{text}\n```\nEnd" == readable(f"So:\n{text}\nEnd")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1. A:\n\\[\nx\n\\]\nb\n2. B", "1. A:\n   ```latex\n   x\n   ```\n   b\n2. B"),
        ("- $$x$$\n- b", "- ```latex\n  x\n  ```\n- b"),
        ("- a $$x$$ b", "- a \n  ```latex\n  x\n  ```\n  b"),
        ("> a\n> $$\n> x\n> > y\n> $$\n> b", "> a\n> ```latex\n> x\n> > y\n> ```\n> b"),
        ("\\[\na\n=\nb\n- c\n\\]", "```latex\na\n=\nb\n- c\n```"),
        ("$$x$$.", "```latex\nx.\n```"),
        ("$$x$$ [1]", "```latex\nx\n```\n[1]"),
        ("# A $$x^2$$", "# A x²"),
        ("A $$x^2$$\n===", "A x²\n==="),
        ("| a |\n|---|\n| $$\\int_a$$ \\(x\\|y\\) $x^q\\|y$ |", "| a |\n|---|\n| ∫ₐ x\\|y `x^q\\|y` |"),
        ("$$```$$", "$$```$$"),
        ("$$a ```b$$", "````latex\na ```b\n````"),
    ],
)
def test_a_formula_stays_in_its_list_quotation_heading_or_cell(text: str, expected: str) -> None:
    assert expected == visible(text)


@pytest.mark.parametrize(
    "text",
    [
        "It costs $5 and $10.",
        "$5 to 6$, 5$ and 6$, US$7, A$8",
        "From $5-$10 or $5/$6 to $5,$6,$",
        "$1 = 2€ and 3$",
        "($AAPL) and $MSFT [1], $HOME and US$",
        "$x [1] has costs 5$",
        "$$ to $$$ and $ – $$",
        "He said \\[sic\\], \\[1\\], \\[2024\\] and \\(see below\\).",
        "`$x^2$` and ``\\(x\\)``",
        "```\n$x^2$ \\[x\\]\n```",
        "    $x^2$",
        "~~~tex\n$$x$$\n~~~",
        "| $a | b$ |\n|---|---|",
        "a \\\\(x\\\\) \\$x$",
    ],
)
def test_prices_words_and_code_stay(text: str) -> None:
    assert text == readable(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("$[1]$", "[1]"),
        ("$[a](b)$", "[a](b)"),
        ("$[a]$(http://evil.example)", "[a](http://evil.example)"),
        ("$a*b$ and $c*d$", "a∗b and c∗d"),
        ("\\(1.\\) x", "1. x"),
        ("$x<y$ $x>z$", "x < y x>z"),
        ("299\\,792\\,458", "299\u2009792\u2009458"),
        ("cut at \\(\\frac{a}{b\\,", "cut at \\(\\frac{a}{b\\,"),
        ("`a`$x_q$`b`", "ax_qb"),
    ],
)
def test_nothing_in_a_formula_is_read_as_markdown(text: str, expected: str) -> None:
    assert expected.split() == " ".join("".join(shown(text)).split()).split()


def test_a_marker_in_a_formula_is_none_before_and_after() -> None:
    sources = (Source(number=1, title="A", url="https://a.example/"),)

    assert not number_citations(
        readable(number_citations("The interval $[1]$ and $[0, 1]$.", sources).text), sources
    ).sources


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("a \\(x", "a "),
        ("a $5", "a "),
        ("a $5 m", "a $5 m"),
        ("a $x + y", "a "),
        ("$AAPL rose", "$AAPL rose"),
        ("a \\", "a "),
        ("a \\beg", "a "),
        ("a \\\\", "a \\\\"),
        ("a $x$ b", "a $x$ b"),
        ("a $x\nb", "a $x\nb"),
        ("a\n\n\\[\nx\n- y", "a\n\n"),
        ("a \\begin{align}\nx", "a "),
        ("\\[sic\\] a", "\\[sic\\] a"),
        ("a \\(x\n\nb", "a \\(x\n\nb"),
        ("```\n$x", "```\n$x"),
    ],
)
def test_half_a_formula_is_found_at_the_end_of_a_text(text: str, whole: str) -> None:
    assert whole == text[: unfinished(text)]


@pytest.mark.parametrize("formula", [r"\(E = mc^2\)", "$x_i \\leq 2$", "$$\n\\int_0^1 x\\,dx\n$$", "\\[\na\n- b\n\\]"])
def test_nothing_of_a_formula_is_shown_before_its_end(formula: str) -> None:
    text = f"It costs $5, so {formula}"

    shown = {readable(text[:place][: unfinished(text[:place])]) for place in range(len("It costs $5, so "), len(text))}

    assert shown == {"It costs $5, so "}


@given(wild)
def test_no_letter_and_no_digit_of_any_text_is_lost(text: str) -> None:
    written = readable(text)

    assert 0 <= unfinished(text) <= len(text)
    rest = iter(unicodedata.normalize("NFKC", written))
    assert all(character in rest for character in unicodedata.normalize("NFKC", text) if character.isalnum())
