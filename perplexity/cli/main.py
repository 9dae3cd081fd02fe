"""Reads the command line, runs one command and says how it went."""

from __future__ import annotations

import argparse
import logging
import os
from collections.abc import Sequence
from typing import NoReturn

from perplexity.advice import advise
from perplexity.cli.ask import ASK
from perplexity.cli.base import FAILED, INTERRUPTED, PIPE_CLOSED, WELL, WRONG_USE, Command, UsageError, World
from perplexity.cli.deepdive import DEEPDIVE
from perplexity.cli.mcp import MCP
from perplexity.cli.news import NEWS
from perplexity.cli.options import explain_wrong, joined
from perplexity.cli.printable import on_one_line
from perplexity.cli.search import SEARCH
from perplexity.cli.tools import TOOLS_COMMAND
from perplexity.errors import InvalidRequest, PerplexityError

COMMANDS: tuple[Command, ...] = (SEARCH, ASK, NEWS, DEEPDIVE, TOOLS_COMMAND, MCP)

PROGRAM = "python -m perplexity"


def main(arguments: Sequence[str], world: World) -> int:
    """Run one command and return the process's exit code."""
    # What a provider logs is for services, whose logs are kept; here it would stand between the lines.
    logging.getLogger("perplexity").addHandler(logging.NullHandler())
    parsed = parser().parse_args(joined(arguments))
    command: Command = parsed.command
    try:
        command.run(parsed, world)
        world.stdout.flush()
        return WELL
    except BrokenPipeError:
        return _without_stdout(world)
    except KeyboardInterrupt:
        world.say(f"\n{command.cancelled}")
        return INTERRUPTED
    except UsageError as error:
        return _fail(command, str(error), world, code=WRONG_USE)
    except InvalidRequest as error:
        return _fail(command, explain_wrong(error), world, code=WRONG_USE)
    except PerplexityError as error:
        return _fail(command, advise(error), world, code=FAILED)


class _Parser(argparse.ArgumentParser):
    """Says what is wrong on one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(WRONG_USE, f"{self.prog}: {on_one_line(message)}; --help lists what there is\n")


def parser() -> argparse.ArgumentParser:
    """Return what reads the arguments; `command` is the Command they are for."""
    reading = _Parser(
        prog=PROGRAM, description="Searches the web and answers from it, with sources.", allow_abbrev=False
    )
    commands = reading.add_subparsers(metavar="COMMAND", required=True)
    for command in COMMANDS:
        described = f"{command.summary[0].upper()}{command.summary[1:]}."
        added = commands.add_parser(command.name, help=command.summary, description=described, allow_abbrev=False)
        command.add(added)
        added.set_defaults(command=command)
    return reading


def _fail(command: Command, text: str, world: World, *, code: int) -> int:
    world.say(f"{PROGRAM} {command.name}: {on_one_line(text)}")
    return code


def _without_stdout(world: World) -> int:
    """End quietly when the reader of a pipe has gone; without this Python complains when it flushes at its end.

    https://docs.python.org/3/library/signal.html#note-on-sigpipe
    """
    os.dup2(os.open(os.devnull, os.O_WRONLY), world.stdout.fileno())
    return PIPE_CLOSED
