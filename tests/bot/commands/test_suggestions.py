from __future__ import annotations

import pytest

from bot.commands.parsing import inline_code
from perplexity.formatting import closest_match


@pytest.mark.parametrize(
    ("value", "shown"),
    [("a`b", "`a'b`"), ("a\n\x00b", "`a b`"), ("x" * 41, f"`{'x' * 39}…`"), ("x" * 40, f"`{'x' * 40}`")],
)
def test_a_value_is_shown_as_harmless_code(value: str, shown: str) -> None:
    assert shown == inline_code(value)


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("serach", "search"),
        ("sea", "search"),
        ("--reasonning", "--reasoning"),
        ("--rea", "--reasoning"),
        ("--r", None),
        ("quokka", None),
        ("", None),
    ],
)
def test_a_misspelt_word_has_a_closest_match(word: str, meant: str | None) -> None:
    assert closest_match(word, ["search", "ask", "--reasoning", "--recency"]) == meant
