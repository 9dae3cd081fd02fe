"""Which messages ask for a report and which are questions: the rule of docs/commands.md, as a table."""

from __future__ import annotations

import pytest

from bot.commands.routing import route_message
from bot.features import COMMANDS

PHRASES = [
    ("deepdive heat pumps", "deepdive", "heat pumps"),
    ("DeepDive  the four-day week", "deepdive", "the four-day week"),
    ("deepdive --help", "deepdive", "--help"),
    ("deepdive --recency week heat pumps", None, ""),
    ("deepdive", None, ""),
    ("find a deepdive on heat pumps", None, ""),
]


@pytest.mark.parametrize(("text", "command", "rest"), PHRASES)
def test_a_message_is_a_command_if_its_rest_is_one_and_otherwise_a_question(
    text: str, command: str | None, rest: str
) -> None:
    assert route_message(text, COMMANDS) == ((command, rest) if command else ("ask", text))
