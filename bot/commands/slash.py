"""Which command a slash command means: by its name, whatever prefix it carries, or as a word after the umbrella's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bot.commands.base import Command
from bot.commands.hints import nearest
from bot.commands.options import asks_for_help

UMBRELLA = "pplx"


@dataclass(frozen=True, kw_only=True)
class SlashCommand:
    """A slash command as Slack lists it: its name with the slash, what follows it, what it does."""

    name: str
    usage_hint: str
    description: str


@dataclass(frozen=True, kw_only=True)
class Routed:
    """What a slash command asks for.

    `command` is None for the overview of all commands; `unknown` is then the word that names none, `nearest` the name
    that it may have meant. `help` asks for the command's help. `rest` is the text that the command parses; `slash` is
    how the asker calls the command, such as `/x-ask` or `/pplx ask`.
    """

    command: Command[Any, Any] | None
    help: bool = False
    rest: str = ""
    slash: str
    unknown: str | None = None
    nearest: str | None = None


def route(name: str, text: str, commands: Sequence[Command[Any, Any]]) -> Routed:
    """Find the command that `/name text` means; a name may carry any prefix, such as `/x-ask`. Pure; never raises."""
    bare = name.strip().casefold()
    if command := _ending(bare, commands):
        return Routed(command=command, help=asks_for_help(text), rest=text, slash=name.strip())
    return _under_umbrella(name.strip(), text, commands)


def slash_commands(commands: Sequence[Command[Any, Any]], *, prefix: str = "") -> tuple[SlashCommand, ...]:
    """List the commands as the manifest does, the umbrella last, each name with the prefix."""
    names = [*(command.name for command in commands), "help"]
    umbrella = SlashCommand(
        name=f"/{prefix}{UMBRELLA}", usage_hint=f"{' | '.join(names)} …", description="Every command under one name"
    )
    own = (
        SlashCommand(name=f"/{prefix}{command.name}", usage_hint=command.usage, description=command.summary)
        for command in commands
        if command.own_name
    )
    return (*own, umbrella)


def _ending(name: str, commands: Sequence[Command[Any, Any]]) -> Command[Any, Any] | None:
    """Return the command whose name ends this one; the longest, since one name may end another."""
    fitting = [command for command in commands if command.own_name and name.endswith(command.name)]
    return max(fitting, key=lambda command: len(command.name), default=None)


def _under_umbrella(slash: str, text: str, commands: Sequence[Command[Any, Any]]) -> Routed:
    first, rest = _first_word(text)
    if command := _named(first, commands):
        helped = asks_for_help(rest) and (bool(rest.strip()) or not command.bare)
        return Routed(command=command, help=helped, rest=rest, slash=f"{slash} {command.name}")
    if not asks_for_help(first):
        meant = nearest(first.casefold(), [command.name for command in commands])
        return Routed(command=None, slash=slash, unknown=first, nearest=meant)
    if command := _named(_first_word(rest)[0], commands):
        return Routed(command=command, help=True, slash=f"{slash} {command.name}")
    return Routed(command=None, slash=slash)


def _named(word: str, commands: Sequence[Command[Any, Any]]) -> Command[Any, Any] | None:
    return next((command for command in commands if command.name == word.casefold().removeprefix("/")), None)


def _first_word(text: str) -> tuple[str, str]:
    first, *rest = text.strip().split(maxsplit=1) or [""]
    return first, "".join(rest)
