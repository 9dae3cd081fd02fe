"""Decides which command a slash command or a message means, and in which lane its question waits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from bot.blocks.escaping import unescape_slack
from bot.blocks.examples import LINES
from bot.commands.ask import ASK
from bot.commands.base import ROOT_COMMAND, Command
from bot.commands.filters import PRIVATE, PUBLIC
from bot.commands.help import help_message, help_overview, text_message, usage_message
from bot.commands.parsing import is_help_request
from bot.conversations.prompts import EXAMPLES
from bot.conversations.small_talk import is_small_talk
from bot.errors import UsageError
from bot.model.message import OutgoingMessage
from bot.model.question import NewQuestion
from bot.storage.limiter import PostgresLimiter
from bot.translation import gettext as _
from perplexity.formatting import closest_match
from perplexity.limiter import CallKind
from perplexity.providers.base import Provider


@dataclass(frozen=True, kw_only=True)
class SlashCommand:
    """A slash command as Slack lists it; `name` has the slash."""

    name: str
    usage_hint: str
    description: str


@dataclass(frozen=True, kw_only=True)
class RoutedCommand:
    """The command that a typed slash command means, and the text for it.

    `command` is None if the reply is the list of commands. `unknown` is then the typed word if it names no command, and
    `closest` is the name of a command that this word resembles; otherwise both are None. `help` is whether the user
    asks for the command's help. `rest` is the text for the command; `slash` is the command as the user typed it, such
    as `/x-ask` or `/pplx ask`.
    """

    command: Command[Any, Any] | None
    help: bool = False
    rest: str = ""
    slash: str
    unknown: str | None = None
    closest: str | None = None


def route_slash_command(name: str, text: str, commands: Sequence[Command[Any, Any]]) -> RoutedCommand:
    """Return the command that `/name text` means; the name may have any prefix, such as `/x-ask`."""
    bare = name.strip().casefold()
    if command := _match_suffix(bare, commands):
        return RoutedCommand(command=command, help=is_help_request(text), rest=text, slash=name.strip())
    return _route_subcommand(name.strip(), text, commands)


def slash_commands(commands: Sequence[Command[Any, Any]], *, prefix: str = "") -> tuple[SlashCommand, ...]:
    """Return the slash commands of the manifest, `/pplx` last, each name with the prefix."""
    umbrella = SlashCommand(
        name=f"/{prefix}{ROOT_COMMAND}", usage_hint="help", description="Help, digests, your settings"
    )
    own = (
        SlashCommand(name=f"/{prefix}{command.name}", usage_hint=command.example, description=command.summary)
        for command in commands
        if command.has_slash_command
    )
    return (*own, umbrella)


def _match_suffix(name: str, commands: Sequence[Command[Any, Any]]) -> Command[Any, Any] | None:
    """Return the command with the longest name with which `name` ends; None if there is none."""
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
"""The app's name in the manifest, which people mention."""


def route_message(text: str, commands: Sequence[Command[Any, Any]]) -> tuple[str, str]:
    """Return the name of the command that a message means, and the text for it.

    A message that begins with the name of a slash command is that command if the rest can be parsed as its options and
    text, or asks for help. Otherwise the whole message is a question for `/ask`. If `/ask` cannot parse the message
    either, the named command gets the rest, and reports what is wrong.
    """
    name, *more = text.split(maxsplit=1) or [""]
    rest = "".join(more)
    command = _find_command(name, commands)
    if command is None or not command.has_slash_command or not rest:
        return ASK.name, text
    if is_help_request(rest) or _parses(command, rest) or not _parses(ASK, text):
        return command.name, rest
    return ASK.name, text


_OFFERED = frozenset({*LINES.values(), *(prompt.message for prompt in EXAMPLES)})


def is_offered(command: str, text: str) -> bool:
    """Return whether a question is, word for word, one that the app itself offers by a button or as a prompt."""
    said = text if command == ASK.name else f"{command} {text}"
    return any(said in {one, _(one)} for one in _OFFERED)


def _parses(command: Command[Any, Any], text: str) -> bool:
    try:
        command.parse(text)
    except UsageError:
        return False
    return True


@dataclass(frozen=True, kw_only=True)
class Invocation:
    """The text that people type before a command in a message: a mention in a channel, nothing in a direct message."""

    prefix: str

    def command_line(self, rest: str) -> str:
        """Return the line that people type for the text `rest`."""
        return f"{self.prefix} {rest}".strip()


NEW_CONVERSATION = "new"
"""The text of a direct message after which the next direct message starts a new conversation."""


def begins_conversation(text: str) -> bool:
    """Return whether a direct message only asks for a new conversation."""
    return text.strip().casefold() == NEW_CONVERSATION


BY_MENTION = Invocation(prefix=f"@{APP_NAME}")
IN_DIRECT_MESSAGE = Invocation(prefix="")


def mention_line(command: Command[Any, Any]) -> str | None:
    """Return the line to type in a thread instead of a slash command; None if a mention cannot run the command."""
    if not command.has_slash_command:
        return None
    return BY_MENTION.command_line(_("question") if command.name == ASK.name else f"{command.name} …")


def usage_reply(
    text: str, command: Command[Any, Any], invocation: Invocation, *, umbrella: str = f"/{ROOT_COMMAND}"
) -> OutgoingMessage | None:
    """Return help or a usage error as the reply to a message; None if the message is a question.

    `umbrella` is the slash command under which every command can be typed.
    """
    # Everyone in the conversation sees an answer to a message, so the help leaves these options out.
    shown = command.without(PUBLIC).without(PRIVATE)
    slash = invocation.prefix if command.name == ASK.name else invocation.command_line(command.name)
    if is_help_request(text):
        helped = help_overview((), slash=umbrella) if command.name == ASK.name else help_message(shown, slash=slash)
        return replace(helped, private=True)
    if invocation is IN_DIRECT_MESSAGE and begins_conversation(text):
        return text_message(_("This is a new conversation. What would you like to know?"))
    try:
        command.parse(text)
    except UsageError as error:
        return replace(usage_message(shown, error, slash=slash), private=True)
    return None


def is_talk(command: str, text: str) -> bool:
    """Return whether a message to the app asks nothing: an empty mention, a greeting, thanks."""
    said = unescape_slack(text).strip()
    return command == ASK.name and (not said or (not is_help_request(said) and is_small_talk(said)))


FIRST_CALLS: Mapping[str, CallKind] = {
    "ask": "answer",
    "check": "answer",
    "deepdive": "answer",
    "digest": "answer",
    "news": "answer",
    "search": "search",
}
"""The kind of a command's first request to a service."""


def first_lane(
    question: NewQuestion, *, providers: Sequence[Provider], limiter: PostgresLimiter, shares: bool
) -> str | None:
    """Return the lane of a question's first call for the current workspace; None if the question needs no turn.

    With `shares`, answers to questions that the app itself offers are shared. Such a question takes its turn only while
    it is worked on, since it may need no call.
    """
    kind = None if shares and is_offered(question.command, question.text) else FIRST_CALLS.get(question.command)
    first = next((one for one in providers if kind in one.capabilities), None)
    return limiter.lane(first.name, kind) if first is not None and kind is not None else None
