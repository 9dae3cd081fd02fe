"""Which messages are commands and which are questions: the rule of docs/commands.md, as a table."""

from __future__ import annotations

import pytest

from bot.commands.routing import route_message
from bot.features import COMMANDS

PHRASES = [
    # Its name, and a text that the command takes.
    ("ask why is the sky blue", "ask", "why is the sky blue"),
    ("Ask: why is the sky blue", None, ""),
    ("/ask why", "ask", "why"),
    ("ask --effort high compare raft and paxos", "ask", "--effort high compare raft and paxos"),
    ("ASK what’s new", "ask", "what’s new"),
    ("ask me anything", "ask", "me anything"),
    ("search python 3.14 free threading", "search", "python 3.14 free threading"),
    ("search --n 3 rust", "search", "--n 3 rust"),
    ("Search —recency “week” rust", "search", "—recency “week” rust"),
    ("/search rust", "search", "rust"),
    ("search\nrust", "search", "rust"),
    ("search what is a monad?", "search", "what is a monad?"),
    ("search engines that respect privacy", "search", "engines that respect privacy"),
    ("news tech", "news", "tech"),
    ("news technology open source databases", "news", "technology open source databases"),
    ("News science --recency week mars", "news", "science --recency week mars"),
    ("news --lang de politics wahl", "news", "--lang de politics wahl"),
    ("news world", "news", "world"),
    # Its name, and a word for help.
    ("ask help", "ask", "help"),
    ("search help", "search", "help"),
    ("news help", "news", "help"),
    # Its name, and what only a question takes.
    ("news about mars?", None, ""),
    ("news from Berlin today", None, ""),
    ("News: what happened in Paris?", None, ""),
    ("news --model high about mars", None, ""),
    ("search --model sonar rust", None, ""),
    # Its name alone, inside another word, or later in the text.
    ("search", None, ""),
    ("news", None, ""),
    ("searching for a flat in Berlin", None, ""),
    ("newsletters about rust", None, ""),
    ("asking for a friend: is it raining", None, ""),
    ("what is the news today", None, ""),
    ("how do search engines rank pages", None, ""),
    ("find a search on heat pumps", None, ""),
    ("status of http/3", None, ""),
    # A mistake in the options, which no question takes either: the command says what is wrong.
    ("search --n 50 rust", "search", "--n 50 rust"),
    ("news tech --recency weak", "news", "tech --recency weak"),
    ("ask --publc why", "ask", "--publc why"),
]


@pytest.mark.parametrize(("text", "command", "rest"), PHRASES)
def test_a_message_is_a_command_if_its_rest_is_one_and_otherwise_a_question(
    text: str, command: str | None, rest: str
) -> None:
    assert route_message(text, COMMANDS) == ((command, rest) if command else ("ask", text))


def test_the_table_has_35_phrases() -> None:
    assert len({text for text, _, _ in PHRASES}) >= 35
