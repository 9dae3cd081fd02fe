"""Reads the command line, runs one command and says how it went."""

from __future__ import annotations

import argparse
import logging
import os
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, NoReturn

from perplexity.cli.agent import AGENT
from perplexity.cli.ask import ASK
from perplexity.cli.base import FAILED, OK, PIPE_CLOSED, WRONG_USE, Command, CommandFailed, ProcessIO, UsageError
from perplexity.cli.completion import SCRIPT, completion_command
from perplexity.cli.deepdive import DEEPDIVE
from perplexity.cli.mcp import MCP
from perplexity.cli.news import NEWS
from perplexity.cli.options import closest_match, explain_invalid_request, join_dashed_values, option_hint
from perplexity.cli.output import printable_line
from perplexity.cli.search import SEARCH
from perplexity.cli.tools import TOOLS_COMMAND
from perplexity.errors import InvalidRequest, MissingExtra, PerplexityError
from perplexity.extras import require
from perplexity.tools.environment import explain_error
from perplexity.version import __version__

if TYPE_CHECKING:
    from _typeshed import SupportsWrite

COMMANDS: tuple[Command, ...] = (
    SEARCH,
    ASK,
    NEWS,
    DEEPDIVE,
    AGENT,
    TOOLS_COMMAND,
    MCP,
    completion_command(lambda: COMMANDS),
)

PROGRAM = SCRIPT if Path(sys.argv[0]).name == SCRIPT else "python -m perplexity"

_CHOICE = re.compile(r"invalid choice: '([^']*)'")


def main(arguments: Sequence[str], world: ProcessIO) -> int:
    """Run one command and return the process's exit code."""
    # What a provider logs is for services, whose logs are kept; here it would stand between the lines.
    logging.getLogger("perplexity").addHandler(logging.NullHandler())
    try:
        parsed = build_parser(arguments).parse_args(join_dashed_values(arguments))
    except OSError as error:
        return _cannot_write(PROGRAM, error, world)
    return _run(parsed.command, parsed, world)


def _run(command: Command, parsed: argparse.Namespace, world: ProcessIO) -> int:
    try:
        for extra in command.extras:
            require(extra)
        command.run(parsed, world)
        world.stdout.flush()
    except OSError as error:
        return _cannot_write(f"{PROGRAM} {command.name}", error, world)
    except KeyboardInterrupt:
        world.write_stderr(f"\n{command.cancelled}")
        return world.signals.exit_code
    except (UsageError, CommandFailed, PerplexityError) as error:
        return _failed(command, error, world)
    return OK


class _Parser(argparse.ArgumentParser):
    """Says what is wrong and what was probably meant on one line; raises OSError for a help that cannot be written.

    `words` are all that was typed, `commands` the parsers of each command.
    """

    words: Sequence[str] = ()
    commands: Mapping[str, _Parser] = MappingProxyType({})

    def print_help(self, file: SupportsWrite[str] | None = None) -> None:
        # argparse itself passes over the error, and leaves a part to be written when Python ends.
        (file or sys.stdout).write(self.format_help())
        sys.stdout.flush()

    def error(self, message: str) -> NoReturn:
        """Exit with what is wrong."""
        told = printable_line("; ".join(filter(None, (message, self._advice(message)))))
        end = "" if told.endswith("?") else ";"
        self.exit(WRONG_USE, f"{self.prog}: {told}{end} --help lists what there is\n")

    @property
    def options(self) -> list[str]:
        """The options, in each way in which they may be written."""
        return [option for action in self._actions for option in action.option_strings]

    def _advice(self, message: str) -> str:
        if choice := _CHOICE.search(message):
            near = closest_match(choice[1], (str(known) for action in self._actions for known in action.choices or ()))
            return f"did you mean {near}?" if near else ""
        place = next((place for place, word in enumerate(self.words) if word in self.commands), len(self.words))
        chosen = next((self.commands[word] for word in self.words[place : place + 1]), self)
        others = {name: other.options for name, other in self.commands.items() if other is not chosen}
        return option_hint(self.words[place + 1 :] or self.words, chosen.options, others)


def build_parser(words: Sequence[str] = ()) -> argparse.ArgumentParser:
    """Return what reads the arguments; `command` is the Command they are for. `words` are all that was typed."""
    reading = _Parser(
        prog=PROGRAM, description="Searches the web and answers from it, with sources.", allow_abbrev=False
    )
    reading.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    commands = reading.add_subparsers(metavar="COMMAND", required=True, parser_class=_Parser)
    parsers: dict[str, _Parser] = {}
    for command in COMMANDS:
        described = f"{command.summary[0].upper()}{command.summary[1:]}."
        added = commands.add_parser(command.name, help=command.summary, description=described, allow_abbrev=False)
        command.add(added)
        added.set_defaults(command=command)
        parsers[command.name] = added
    for one in (reading, *parsers.values()):
        one.words, one.commands = join_dashed_values(words), parsers
    return reading


def _failed(command: Command, error: UsageError | CommandFailed | PerplexityError, world: ProcessIO) -> int:
    if isinstance(error, UsageError):
        code, told = WRONG_USE, str(error)
    elif isinstance(error, CommandFailed | MissingExtra):
        code, told = FAILED, str(error)
    elif isinstance(error, InvalidRequest):
        code, told = WRONG_USE, explain_invalid_request(error)
    else:
        code, told = FAILED, explain_error(error)
    world.write_stderr(f"{PROGRAM} {command.name}: {printable_line(told)}")
    return code


def _cannot_write(program: str, error: OSError, world: ProcessIO) -> int:
    """Say why nothing more can be written, unless the reader of a pipe has gone, and write to nowhere from now on.

    Python would otherwise complain when it flushes at its end:
    https://docs.python.org/3/library/signal.html#note-on-sigpipe
    """
    os.dup2(os.open(os.devnull, os.O_WRONLY), world.stdout.fileno())
    if world.signals.stopped:
        # A terminal that was closed cannot be tidied up.
        return world.signals.exit_code
    if isinstance(error, BrokenPipeError):
        return PIPE_CLOSED
    world.write_stderr(f"{program}: nothing more can be written ({error.strerror or type(error).__name__})")
    return FAILED
