"""The list of commands; a new command is a file in this package and an entry in `COMMANDS`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from bot.commands.ask import ASK
from bot.commands.base import Command
from bot.commands.budget import BUDGET, PAUSE, RESUME
from bot.commands.check import CHECK
from bot.commands.deepdive import DEEPDIVE
from bot.commands.limits import LIMITS
from bot.commands.news import NEWS
from bot.commands.search import SEARCH
from bot.commands.settings import SETTINGS
from bot.commands.status import STATUS
from bot.commands.watch import WATCH

COMMANDS: tuple[Command[Any, Any], ...] = (
    SEARCH,
    ASK,
    NEWS,
    DEEPDIVE,
    CHECK,
    STATUS,
    SETTINGS,
    BUDGET,
    PAUSE,
    RESUME,
    LIMITS,
    WATCH,
)


def with_built(built: Iterable[Command[Any, Any]]) -> tuple[Command[Any, Any], ...]:
    """Return the commands, with these in place of those that have their names."""
    by_name = {command.name: command for command in built}
    return tuple(by_name.get(command.name, command) for command in COMMANDS)
