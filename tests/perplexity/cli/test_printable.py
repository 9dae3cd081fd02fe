from __future__ import annotations

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perplexity.sanitize import escape_json, printable, printable_line

any_text = st.text(st.characters(codec=None, categories=None), max_size=60)


def commands(text: str) -> list[str]:
    """Return what a terminal would obey."""
    return [c for c in text if c not in "\t\n" and unicodedata.category(c) in {"Cc", "Cs", "Zl", "Zp"}]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain — ü 漢字 🎉\tx\n", "plain — ü 漢字 🎉\tx\n"),
        ("\x1b[31mred\x1b[0m", "␛[31mred␛[0m"),
        ("a\rb\r\nc", "a\nb\nc"),
        ("\x07\x08\x00\x7f", "␇␈␀␡"),
        ("\x9b31m", "\ufffd31m"),
        ("a\u202eb\u2066c\ud800", "a\ufffdb\ufffdc\ufffd"),
        ("🏳\ufe0f\u200d🌈", "🏳\ufe0f\u200d🌈"),
    ],
)
def test_control_characters_are_shown_and_everything_else_stays(text: str, shown: str) -> None:
    assert printable(text) == shown


@given(text=any_text)
def test_no_text_can_command_a_terminal(text: str) -> None:
    assert commands(printable(text)) == []
    assert "\n" not in printable_line(text)
    assert commands(printable_line(text)) == []


@given(text=any_text)
def test_json_says_the_same_without_a_character_that_a_terminal_obeys(text: str) -> None:
    written = escape_json(json.dumps(text, ensure_ascii=False))

    assert commands(written) == []
    assert json.loads(written) == text
