"""The list of commands; a new command is a file in this package and an entry in `COMMANDS`."""

from __future__ import annotations

from typing import Any

from bot.commands.ask import ASK, ASK_WITHOUT_AGENT
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


def available_commands(*, agent: bool) -> tuple[Command[Any, Any], ...]:
    """Return the commands; without an agent, the help of `/ask` does not list `--agent`."""
    return COMMANDS if agent else tuple(ASK_WITHOUT_AGENT if command is ASK else command for command in COMMANDS)
