"""The commands. A new one is a file beside this and a word in `COMMANDS`."""

from __future__ import annotations

from typing import Any

from bot.commands.ask import ASK
from bot.commands.base import Command
from bot.commands.deepdive import DEEPDIVE
from bot.commands.news import NEWS
from bot.commands.search import SEARCH
from bot.commands.status import STATUS
from bot.commands.watch import WATCH

COMMANDS: tuple[Command[Any, Any], ...] = (SEARCH, ASK, NEWS, DEEPDIVE, STATUS, WATCH)
