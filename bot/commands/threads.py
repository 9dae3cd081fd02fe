"""A command where a message asks it, in a channel or directly: what is other than behind a slash. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from bot.blocks.base import OutgoingMessage
from bot.commands.ask import ASK
from bot.commands.base import Command
from bot.commands.deepdive import DEEPDIVE
from bot.commands.filters import PUBLIC
from bot.commands.news import NEWS
from bot.commands.notices import help_message, notice_message, usage_message
from bot.commands.options import asks_for_help
from bot.commands.search import SEARCH
from bot.commands.words import plain
from bot.errors import UsageError

APP_NAME = "Web Answers"
"""The name that the manifest gives the app, by which people mention it."""

BY_NAME: Mapping[str, Command[Any, Any]] = {one.name: one for one in (SEARCH, ASK, NEWS, DEEPDIVE)}
"""The commands that a message can begin with."""


def routed(text: str) -> tuple[str, str]:
    """Return the command that a message asks, and the text for it.

    A message that begins with the name of a command is that command if the rest can be parsed as its options and text,
    or asks for its help. Otherwise the whole message is a question. If it is none either, because of its options, it is
    the named command, which says what is wrong with them.
    """
    name, *more = text.split(maxsplit=1) or [""]
    rest = "".join(more)
    command = BY_NAME.get(name.lower().removeprefix("/"))
    if command is None or not rest:
        return ASK.name, text
    if asks_for_help(rest) or _parses(command, rest) or not _parses(ASK, text):
        return command.name, rest
    return ASK.name, text


def _parses(command: Command[Any, Any], text: str) -> bool:
    try:
        command.parse(text)
    except UsageError:
        return False
    return True


@dataclass(frozen=True, kw_only=True)
class Addressed:
    """How people call the app where they ask: by a mention in a channel, by nothing in a direct message."""

    call: str

    def line(self, rest: str) -> str:
        """Return what to type."""
        return f"{self.call} {rest}".strip()


BY_MENTION = Addressed(call=f"@{APP_NAME}")
DIRECTLY = Addressed(call="")


def notice(text: str, command: Command[Any, Any], addressed: Addressed) -> OutgoingMessage | None:
    """Return what to say instead of asking: help, or what is wrong with the options; None when it can be asked."""
    # Everyone in the conversation sees the answer anyway.
    shown = command.without(PUBLIC)
    slash = addressed.call if command.name == ASK.name else addressed.line(command.name)
    if not plain(text).strip():
        return notice_message(_greeting(addressed))
    if asks_for_help(text):
        return help_message(shown, slash=slash)
    try:
        command.parse(text)
    except UsageError as error:
        return replace(usage_message(shown, error, slash=slash), private=True)
    return None


def _greeting(addressed: Addressed) -> str:
    example, more = addressed.line("what changed in Python 3.14?"), addressed.line("help")
    return f"What would you like to know? Ask me in one message, for example “{example}”. “{more}” shows all options."
