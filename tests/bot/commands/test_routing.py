from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.commands import COMMANDS
from bot.commands.ask import ASK
from bot.commands.routing import Routed, SlashCommand, route, slash_commands
from bot.commands.search import SEARCH


@pytest.mark.parametrize(
    ("name", "text", "routed"),
    [
        ("/ask", "why", Routed(command=ASK, rest="why", slash="/ask")),
        ("/search", "why --n 3", Routed(command=SEARCH, rest="why --n 3", slash="/search")),
        ("/x-ask", "why", Routed(command=ASK, rest="why", slash="/x-ask")),
        ("/ACME_Search", "why", Routed(command=SEARCH, rest="why", slash="/ACME_Search")),
        ("/pplx-ask", "why", Routed(command=ASK, rest="why", slash="/pplx-ask")),
        ("/ask", "", Routed(command=ASK, help=True, slash="/ask")),
        ("/ask", "—help", Routed(command=ASK, help=True, rest="—help", slash="/ask")),
        ("/ask", "help me", Routed(command=ASK, rest="help me", slash="/ask")),
        ("/pplx", "ask why  not", Routed(command=ASK, rest="why  not", slash="/pplx ask")),
        ("/x-pplx", " Search\nwhy\nnot", Routed(command=SEARCH, rest="why\nnot", slash="/x-pplx search")),
        ("/pplx", "/ask why", Routed(command=ASK, rest="why", slash="/pplx ask")),
        ("/pplx", "ask", Routed(command=ASK, help=True, slash="/pplx ask")),
        ("/pplx", "ask help", Routed(command=ASK, help=True, rest="help", slash="/pplx ask")),
        ("/pplx", "help ask", Routed(command=ASK, help=True, slash="/pplx ask")),
        ("/pplx", "", Routed(command=None, slash="/pplx")),
        ("/pplx", "help", Routed(command=None, slash="/pplx")),
        ("/pplx", "–help", Routed(command=None, slash="/pplx")),
        ("/pplx", "help nonsense", Routed(command=None, slash="/pplx")),
        ("/pplx", "serach why", Routed(command=None, slash="/pplx", unknown="serach", nearest="search")),
        ("/pplx", "quokka", Routed(command=None, slash="/pplx", unknown="quokka")),
        ("/else", "ask why", Routed(command=ASK, rest="why", slash="/else ask")),
    ],
)
def test_a_slash_command_is_found_by_its_name(name: str, text: str, routed: Routed) -> None:
    assert route(name, text, COMMANDS) == routed


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=20), st.text(max_size=60))
def test_any_name_and_text_are_routed(name: str, text: str) -> None:
    routed = route(name, text, COMMANDS)

    assert routed.rest in text


def test_the_longest_name_wins_where_one_ends_another() -> None:
    assert route("/research", "x", COMMANDS).command is SEARCH


def test_the_list_ends_with_the_umbrella() -> None:
    hint = f"{' | '.join(command.name for command in COMMANDS)} | help …"
    first, second, *_, last = slash_commands(COMMANDS)

    assert first == SlashCommand(name="/search", usage_hint=SEARCH.usage, description=SEARCH.summary)
    assert second == SlashCommand(name="/ask", usage_hint=ASK.usage, description=ASK.summary)
    assert last == SlashCommand(name="/pplx", usage_hint=hint, description="Every command under one name")


def test_every_name_carries_the_prefix() -> None:
    names = [command.name for command in slash_commands(COMMANDS, prefix="x-")]

    assert names == [*(f"/x-{command.name}" for command in COMMANDS if command.has_slash_command), "/x-pplx"]
