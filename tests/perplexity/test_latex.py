"""Formulas as Unicode text: what is exact, and that nothing else is."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perplexity.latex import LONGEST, unicode_text

CORPUS = [line.split("\t") for line in Path("tests/data/latex/formulas.tsv").read_text("utf-8").splitlines()]


def test_the_corpus_has_fifty_formulas() -> None:
    assert len({formula for formula, _ in CORPUS}) == 50


@pytest.mark.parametrize(("formula", "text"), CORPUS)
def test_each_formula_of_the_corpus_is_exact_or_left_alone(formula: str, text: str) -> None:
    assert (text or None) == unicode_text(formula)


@pytest.mark.parametrize(
    ("formula", "text"),
    [
        (r"2\frac12", "2(1/2)"),
        (r"\frac{1}{2} m v^2", "(1/2) m v²"),
        (r"\frac{h}{2\pi}", "h/(2π)"),
        (r"\left(\frac{a+b}{c}\right)^2", "((a+b)/c)²"),
        (r"\frac{dy}{dx}", "dy/dx"),
        (r"\sqrt{2}x", "√(2)x"),
        (r"2\sin\theta", "2 sin θ"),
        (r"x\leq y", "x ≤ y"),
        (r"x_1^2", "x₁²"),
        (r"\text{CO}_2", "CO₂"),
        (r"5\text{–}10\,\%", "5–10\u2009%"),
        (r"25^\circ\mathrm{C}", "25°C"),
        (r"\left.x\right|", "x|"),
        (r"1{,}000", "1,000"),
        ("a*b", "a∗b"),
        (r"a\!b", "ab"),
    ],
)
def test_brackets_and_spaces_keep_the_meaning(formula: str, text: str) -> None:
    assert text == unicode_text(formula)


@pytest.mark.parametrize(
    "formula",
    [
        "", " ", "{ab}^2", "x^2^3", "x^", "x^*", "{", "}", "\\", r"\unknown", r"\ce{H2O}", r"a & b", r"a \\ b", "a#b",
        r"\text{$x$}", r"\text x", r"\hat{xy}", r"\sqrt[3]{x}", r"\not\in", r"n \pmod{2}", r"\frac{}{2}",
        "www.evil.com", "http://x", "a`b", r"\mathbb{\alpha}", "{" * 9 + "x" + "}" * 9, "x" * (LONGEST + 1), "\ufdd0",
        "\u200bx",
    ],
)  # fmt: skip
def test_what_is_not_known_to_be_exact_has_no_text(formula: str) -> None:
    assert unicode_text(formula) is None


@given(st.text(alphabet="ab2^_{}\\ '|[]()+-=.frcsqtx", max_size=40))
def test_no_letter_or_digit_is_lost_and_no_markup_left(formula: str) -> None:
    text = unicode_text(formula)

    assert text is None or not set(text) & set("\\^_")
