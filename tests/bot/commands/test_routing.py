from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.commands.ask import ASK
from bot.commands.routing import RoutedCommand, SlashCommand, route_slash_command, slash_commands
from bot.commands.search import SEARCH
from bot.features import COMMANDS


@pytest.mark.parametrize(
    ("name", "text", "routed"),
    [
        ("/ask", "why", RoutedCommand(command=ASK, rest="why", slash="/ask")),
        ("/search", "why --n 3", RoutedCommand(command=SEARCH, rest="why --n 3", slash="/search")),
        ("/x-ask", "why", RoutedCommand(command=ASK, rest="why", slash="/x-ask")),
        ("/ACME_Search", "why", RoutedCommand(command=SEARCH, rest="why", slash="/ACME_Search")),
        ("/pplx-ask", "why", RoutedCommand(command=ASK, rest="why", slash="/pplx-ask")),
        ("/ask", "", RoutedCommand(command=ASK, help=True, slash="/ask")),
        ("/ask", "—help", RoutedCommand(command=ASK, help=True, rest="—help", slash="/ask")),
        ("/ask", "help me", RoutedCommand(command=ASK, rest="help me", slash="/ask")),
        ("/pplx", "ask why  not", RoutedCommand(command=ASK, rest="why  not", slash="/pplx ask")),
        ("/x-pplx", " Search\nwhy\nnot", RoutedCommand(command=SEARCH, rest="why\nnot", slash="/x-pplx search")),
        ("/pplx", "/ask why", RoutedCommand(command=ASK, rest="why", slash="/pplx ask")),
        ("/pplx", "ask", RoutedCommand(command=ASK, help=True, slash="/pplx ask")),
        ("/pplx", "ask help", RoutedCommand(command=ASK, help=True, rest="help", slash="/pplx ask")),
        ("/pplx", "help ask", RoutedCommand(command=ASK, help=True, slash="/pplx ask")),
        ("/pplx", "", RoutedCommand(command=None, slash="/pplx")),
        ("/pplx", "help", RoutedCommand(command=None, slash="/pplx")),
        ("/pplx", "–help", RoutedCommand(command=None, slash="/pplx")),
        ("/pplx", "help nonsense", RoutedCommand(command=None, slash="/pplx")),
        ("/pplx", "serach why", RoutedCommand(command=None, slash="/pplx", unknown="serach", closest="search")),
        ("/pplx", "quokka", RoutedCommand(command=None, slash="/pplx", unknown="quokka")),
        ("/else", "ask why", RoutedCommand(command=ASK, rest="why", slash="/else ask")),
    ],
)
def test_a_slash_command_is_found_by_its_name(name: str, text: str, routed: RoutedCommand) -> None:
    assert route_slash_command(name, text, COMMANDS) == routed


@given(st.text(max_size=20), st.text(max_size=60))
def test_any_name_and_text_are_routed(name: str, text: str) -> None:
    routed = route_slash_command(name, text, COMMANDS)

    assert routed.rest in text


def test_the_longest_matching_name_wins() -> None:
    assert route_slash_command("/research", "x", COMMANDS).command is SEARCH


def test_the_list_ends_with_the_root_command() -> None:
    first, second, *_, last = slash_commands(COMMANDS)

    assert first == SlashCommand(name="/search", usage_hint=SEARCH.example, description=SEARCH.summary)
    assert second == SlashCommand(name="/ask", usage_hint="what changed in python 3.14?", description=ASK.summary)
    assert last == SlashCommand(name="/pplx", usage_hint="help", description="Help, digests, your settings")


def test_every_name_carries_the_prefix() -> None:
    names = [command.name for command in slash_commands(COMMANDS, prefix="x-")]

    assert names == [*(f"/x-{command.name}" for command in COMMANDS if command.has_slash_command), "/x-pplx"]
