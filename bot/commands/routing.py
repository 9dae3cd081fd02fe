"""Which command a slash command means: by its name, whatever prefix it carries, or as a word after the umbrella's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from bot.blocks.escaping import unescape_slack
from bot.commands.ask import ASK
from bot.commands.base import Command
from bot.commands.filters import PUBLIC
from bot.commands.help import help_message, text_message, usage_message
from bot.commands.parsing import closest_match, is_help_request
from bot.errors import UsageError
from bot.model.message import OutgoingMessage

ROOT_COMMAND = "pplx"


@dataclass(frozen=True, kw_only=True)
class SlashCommand:
    """A slash command as Slack lists it: its name with the slash, what follows it, what it does."""

    name: str
    usage_hint: str
    description: str


@dataclass(frozen=True, kw_only=True)
class RoutedCommand:
    """What a slash command asks for.

    `command` is None for the overview of all commands; `unknown` is then the word that names none, `closest` the name
    that it may have meant. `help` asks for the command's help. `rest` is the text that the command parses; `slash` is
    how the asker calls the command, such as `/x-ask` or `/pplx ask`.
    """

    command: Command[Any, Any] | None
    help: bool = False
    rest: str = ""
    slash: str
    unknown: str | None = None
    closest: str | None = None


def route_slash_command(name: str, text: str, commands: Sequence[Command[Any, Any]]) -> RoutedCommand:
    """Find the command that `/name text` means; a name may carry any prefix, such as `/x-ask`. Pure; never raises."""
    bare = name.strip().casefold()
    if command := _match_suffix(bare, commands):
        return RoutedCommand(command=command, help=is_help_request(text), rest=text, slash=name.strip())
    return _route_subcommand(name.strip(), text, commands)


def slash_commands(commands: Sequence[Command[Any, Any]], *, prefix: str = "") -> tuple[SlashCommand, ...]:
    """List the commands as the manifest does, the umbrella last, each name with the prefix."""
    names = [*(command.name for command in commands), "help"]
    umbrella = SlashCommand(
        name=f"/{prefix}{ROOT_COMMAND}", usage_hint=f"{' | '.join(names)} …", description="Every command under one name"
    )
    own = (
        SlashCommand(name=f"/{prefix}{command.name}", usage_hint=command.usage, description=command.summary)
        for command in commands
        if command.has_slash_command
    )
    return (*own, umbrella)


def _match_suffix(name: str, commands: Sequence[Command[Any, Any]]) -> Command[Any, Any] | None:
    """Return the command whose name ends this one; the longest, since one name may end another."""
    fitting = [command for command in commands if command.has_slash_command and name.endswith(command.name)]
    return max(fitting, key=lambda command: len(command.name), default=None)


def _route_subcommand(slash: str, text: str, commands: Sequence[Command[Any, Any]]) -> RoutedCommand:
    first, rest = _first_word(text)
    if command := _find_command(first, commands):
        helped = is_help_request(rest) and (bool(rest.strip()) or not command.runs_without_arguments)
        return RoutedCommand(command=command, help=helped, rest=rest, slash=f"{slash} {command.name}")
    if not is_help_request(first):
        meant = closest_match(first.casefold(), [command.name for command in commands])
        return RoutedCommand(command=None, slash=slash, unknown=first, closest=meant)
    if command := _find_command(_first_word(rest)[0], commands):
        return RoutedCommand(command=command, help=True, slash=f"{slash} {command.name}")
    return RoutedCommand(command=None, slash=slash)


def _find_command(word: str, commands: Sequence[Command[Any, Any]]) -> Command[Any, Any] | None:
    return next((command for command in commands if command.name == word.casefold().removeprefix("/")), None)


def _first_word(text: str) -> tuple[str, str]:
    first, *rest = text.strip().split(maxsplit=1) or [""]
    return first, "".join(rest)


APP_NAME = "Web Answers"
"""The name that the manifest gives the app, by which people mention it."""


def route_message(text: str, commands: Sequence[Command[Any, Any]]) -> tuple[str, str]:
    """Return the command that a message asks, and the text for it.

    A message that begins with the name of a command is that command if the rest can be parsed as its options and text,
    or asks for its help. Otherwise the whole message is a question. If it is none either, because of its options, it is
    the named command, which says what is wrong with them.
    """
    name, *more = text.split(maxsplit=1) or [""]
    rest = "".join(more)
    command = _find_command(name, commands)
    if command is None or not command.has_slash_command or not rest:
        return ASK.name, text
    if is_help_request(rest) or _parses(command, rest) or not _parses(ASK, text):
        return command.name, rest
    return ASK.name, text


def _parses(command: Command[Any, Any], text: str) -> bool:
    try:
        command.parse(text)
    except UsageError:
        return False
    return True


@dataclass(frozen=True, kw_only=True)
class Invocation:
    """How people call the app where they ask: by a mention in a channel, by nothing in a direct message."""

    prefix: str

    def command_line(self, rest: str) -> str:
        """Return what to type."""
        return f"{self.prefix} {rest}".strip()


BY_MENTION = Invocation(prefix=f"@{APP_NAME}")
IN_DIRECT_MESSAGE = Invocation(prefix="")


def usage_reply(text: str, command: Command[Any, Any], invocation: Invocation) -> OutgoingMessage | None:
    """Return what to say instead of asking: help, or what is wrong with the options; None when it can be asked."""
    # Everyone in the conversation sees the answer anyway.
    shown = command.without(PUBLIC)
    slash = invocation.prefix if command.name == ASK.name else invocation.command_line(command.name)
    if not unescape_slack(text).strip():
        return text_message(_greeting(invocation))
    if is_help_request(text):
        return help_message(shown, slash=slash)
    try:
        command.parse(text)
    except UsageError as error:
        return replace(usage_message(shown, error, slash=slash), private=True)
    return None


def _greeting(addressed: Invocation) -> str:
    example, more = addressed.command_line("what changed in Python 3.14?"), addressed.command_line("help")
    return f"What would you like to know? Ask me in one message, for example “{example}”. “{more}” shows all options."
