"""A command where a message asks it, in a channel or directly: what is other than behind a slash. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from bot.blocks.base import OutgoingMessage
from bot.commands.base import Command
from bot.commands.filters import PUBLIC
from bot.commands.notices import help_message, notice_message, usage_message
from bot.commands.options import asks_for_help
from bot.commands.words import plain
from bot.errors import UsageError

COMMAND = "ask"
"""The command that a message asks."""

BY_NAME = frozenset({"deepdive"})
"""The commands that a message can ask by their name, which nobody begins a question with."""


def routed(text: str) -> tuple[str, str]:
    """Return the command that a message asks, and the text for it: `deepdive TOPIC` is that, anything else `ask`."""
    name, _, rest = text.partition(" ")
    named = name.lower().removeprefix("/")
    return (named, rest.strip()) if named in BY_NAME and rest.strip() else (COMMAND, text)


@dataclass(frozen=True, kw_only=True)
class Addressed:
    """How people call the app where they ask: by a mention in a channel, by nothing in a direct message."""

    call: str

    def line(self, rest: str) -> str:
        """Return what to type."""
        return f"{self.call} {rest}".strip()


BY_MENTION = Addressed(call="@me")
DIRECTLY = Addressed(call="")


def notice(text: str, command: Command[Any, Any], addressed: Addressed) -> OutgoingMessage | None:
    """Return what to say instead of asking: help, or what is wrong with the options; None when it can be asked."""
    shown = _without_public(command)
    if not plain(text).strip():
        return notice_message(_greeting(addressed))
    if asks_for_help(text):
        return help_message(shown, slash=addressed.call)
    try:
        command.parse(text)
    except UsageError as error:
        return replace(usage_message(shown, error, slash=addressed.call), private=True)
    return None


def _greeting(addressed: Addressed) -> str:
    example, more = addressed.line("what changed in Python 3.14?"), addressed.line("help")
    return f"What would you like to know? Ask me in one message, for example “{example}”. “{more}” shows all options."


def _without_public(command: Command[Any, Any]) -> Command[Any, Any]:
    """Return the command as its help shows it here, where everyone in the conversation sees the answer anyway."""
    return replace(
        command,
        usage=command.usage.replace(f"[{PUBLIC.name}] ", ""),
        options=tuple(option for option in command.options if option is not PUBLIC),
        examples=tuple((line, what) for line, what in command.examples if PUBLIC.name not in line),
    )
