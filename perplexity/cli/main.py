"""The command line: parse it, run one command, and report its errors."""

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
from perplexity.cli.base import FAILED, OK, PIPE_CLOSED, WRONG_USE, CliCommand, CommandFailed, ProcessIO, UsageError
from perplexity.cli.check import CHECK
from perplexity.cli.completion import SCRIPT, completion_command
from perplexity.cli.deepdive import DEEPDIVE
from perplexity.cli.mcp import MCP
from perplexity.cli.news import NEWS
from perplexity.cli.options import explain_invalid_request, join_dashed_values, option_hint
from perplexity.cli.search import SEARCH
from perplexity.cli.tools import TOOLS_COMMAND
from perplexity.client import first_variable
from perplexity.errors import InvalidRequest, MissingExtra, PerplexityError
from perplexity.extras import require
from perplexity.formatting import did_you_mean
from perplexity.providers import PROVIDERS
from perplexity.sanitize import printable_line
from perplexity.tools.environment import explain_error
from perplexity.version import __version__

if TYPE_CHECKING:
    from _typeshed import SupportsWrite

COMMANDS: tuple[CliCommand, ...] = (
    SEARCH,
    ASK,
    NEWS,
    DEEPDIVE,
    CHECK,
    AGENT,
    TOOLS_COMMAND,
    MCP,
    completion_command(lambda: COMMANDS),
)

PROGRAM = SCRIPT if Path(sys.argv[0]).name == SCRIPT else "python -m perplexity"

_CHOICE = re.compile(r"invalid choice: '([^']*)'")


def main(arguments: Sequence[str], process: ProcessIO) -> int:
    """Run one command and return the process's exit code."""
    # Log records of providers are meant for servers; here they would appear between the lines of output.
    logging.getLogger("perplexity").addHandler(logging.NullHandler())
    try:
        parsed = build_parser(arguments).parse_args(join_dashed_values(arguments) or ["--help"])
    except OSError as error:
        return _report_write_error(PROGRAM, error, process)
    return _run(parsed.command, parsed, process)


def _run(command: CliCommand, parsed: argparse.Namespace, process: ProcessIO) -> int:
    try:
        for extra in command.extras:
            require(extra)
        command.run(parsed, process)
        process.stdout.flush()
    except OSError as error:
        return _report_write_error(f"{PROGRAM} {command.name}", error, process)
    except KeyboardInterrupt:
        process.write_stderr(f"\n{command.cancelled}")
        return process.signals.exit_code
    except (UsageError, CommandFailed, PerplexityError) as error:
        return _report(command, error, process)
    return OK


class _Parser(argparse.ArgumentParser):
    """A parser that reports an error and a suggestion on one line, and raises OSError if help cannot be written.

    `words` are all arguments of the program. `commands` maps the name of each command to its parser.
    """

    words: Sequence[str] = ()
    commands: Mapping[str, _Parser] = MappingProxyType({})

    def print_help(self, file: SupportsWrite[str] | None = None) -> None:
        # argparse's own method ignores errors in writing, and leaves a part of the text in the buffer until Python
        # exits.
        (file or sys.stdout).write(self.format_help())
        sys.stdout.flush()

    def error(self, message: str) -> NoReturn:
        """Exit with the error and a suggestion."""
        text = printable_line("; ".join(filter(None, (message, self._hint(message)))))
        end = "" if text.endswith("?") else ";"
        self.exit(WRONG_USE, f"{self.prog}: {text}{end} see --help\n")

    @property
    def options(self) -> list[str]:
        """The options in all spellings."""
        return [option for action in self._actions for option in action.option_strings]

    def _hint(self, message: str) -> str:
        if choice := _CHOICE.search(message):
            known = (str(known) for action in self._actions for known in action.choices or ())
            return did_you_mean(choice[1], known).strip()
        place = next((place for place, word in enumerate(self.words) if word in self.commands), len(self.words))
        chosen = next((self.commands[word] for word in self.words[place : place + 1]), self)
        others = {name: other.options for name, other in self.commands.items() if other is not chosen}
        return option_hint(self.words[place + 1 :] or self.words, chosen.options, others)


def build_parser(words: Sequence[str] = ()) -> argparse.ArgumentParser:
    """Return the parser of the command line; its result has the chosen CliCommand as `command`.

    `words` are the program's arguments, which the parser needs for hints in its error messages.
    """
    root = _Parser(prog=PROGRAM, description="Searches the web and answers from it, with sources.", allow_abbrev=False)
    root.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    commands = root.add_subparsers(metavar="COMMAND", required=True, parser_class=_Parser)
    parsers: dict[str, _Parser] = {}
    for command in COMMANDS:
        described = f"{command.summary[0].upper()}{command.summary[1:]}."
        added = commands.add_parser(command.name, help=command.summary, description=described, allow_abbrev=False)
        command.add(added)
        added.set_defaults(command=command)
        parsers[command.name] = added
    for each in (root, *parsers.values()):
        each.words, each.commands = join_dashed_values(words), parsers
    return root


def _report(command: CliCommand, error: UsageError | CommandFailed | PerplexityError, process: ProcessIO) -> int:
    if isinstance(error, UsageError):
        code, message = WRONG_USE, str(error)
    elif isinstance(error, CommandFailed | MissingExtra):
        code, message = FAILED, str(error)
    elif isinstance(error, InvalidRequest):
        code, message = WRONG_USE, explain_invalid_request(error)
    else:
        code, message = FAILED, explain_error(error) + _missing_keys(process.environ)
    process.write_stderr(f"{PROGRAM} {command.name}: {printable_line(message)}")
    return code


def _missing_keys(environ: Mapping[str, str]) -> str:
    """Return the advice to set a key if the environment has no key of any service; empty if it has one."""
    variables = [variable for spec in PROVIDERS.values() for variable in spec.key_variables]
    if first_variable(environ, *variables):
        return ""
    return f" No key is set: put {variables[0]} into the environment, or into .env in this folder."


def _report_write_error(program: str, error: OSError, process: ProcessIO) -> int:
    """Report why output failed, redirect stdout to the null device, and return the exit code.

    Nothing is reported if the reader closed the pipe, or if a signal stopped the process.

    If stdout were not redirected, Python would report an error when it flushes stdout at exit:
    https://docs.python.org/3/library/signal.html#note-on-sigpipe
    """
    os.dup2(os.open(os.devnull, os.O_WRONLY), process.stdout.fileno())
    if process.signals.stopped:
        # A signal stopped the process, perhaps because its terminal was closed, so nothing is reported.
        return process.signals.exit_code
    if isinstance(error, BrokenPipeError):
        return PIPE_CLOSED
    process.write_stderr(f"{program}: cannot write output ({error.strerror or type(error).__name__})")
    return FAILED
