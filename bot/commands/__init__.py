"""The commands of the core; features add others."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from bot.commands.ask import ASK
from bot.commands.base import Command
from bot.commands.news import NEWS
from bot.commands.search import SEARCH
from bot.commands.status import STATUS

COMMANDS: tuple[Command[Any, Any], ...] = (
    SEARCH,
    ASK,
    NEWS,
    STATUS,
)

ORDER = (
    "search", "ask", "news", "deepdive", "check", "status", "settings", "budget", "pause", "resume", "limits", "watch",
)  # fmt: skip
"""The order in which help, forms and Slack list commands; other commands follow."""


def in_order(commands: Iterable[Command[Any, Any]]) -> tuple[Command[Any, Any], ...]:
    """Return commands in the order in which people see them."""
    places = {name: place for place, name in enumerate(ORDER)}
    return tuple(sorted(commands, key=lambda one: places.get(one.name, len(ORDER))))


def with_built(
    commands: Iterable[Command[Any, Any]], built: Iterable[Command[Any, Any]]
) -> tuple[Command[Any, Any], ...]:
    """Return the commands; a command in `built` replaces the one with the same name."""
    by_name = {command.name: command for command in built}
    return tuple(by_name.get(command.name, command) for command in commands)
