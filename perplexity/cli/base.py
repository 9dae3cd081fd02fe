"""What a command is, and what it may touch."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TextIO

WELL, FAILED, WRONG_USE, INTERRUPTED, PIPE_CLOSED = 0, 1, 2, 130, 141
"""The exit codes; the last two are what a shell gives a program that a signal ended."""


@dataclass(frozen=True, kw_only=True)
class World:
    """The environment and the three streams of a process."""

    environ: Mapping[str, str] = field(repr=False)
    stdin: TextIO
    stdout: TextIO
    stderr: TextIO

    @classmethod
    def of_this_process(cls) -> World:
        """Return the process's own."""
        for stream in (sys.stdout, sys.stderr):
            # An answer holds letters that the terminal's encoding may not have.
            getattr(stream, "reconfigure", lambda **_: None)(errors="replace")
        return cls(environ=os.environ, stdin=sys.stdin, stdout=sys.stdout, stderr=sys.stderr)

    def say(self, text: str) -> None:
        """Write a line to stderr."""
        self.stderr.write(text + "\n")
        self.stderr.flush()


@dataclass(frozen=True, kw_only=True)
class Command:
    """One command: `add` declares its arguments, `run` does it with those that were read.

    `run` raises UsageError, InvalidRequest or another PerplexityError, and KeyboardInterrupt; `cancelled` is what is
    said then.
    """

    name: str
    summary: str
    add: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace, World], None]
    cancelled: str = "Cancelled."


class UsageError(Exception):
    """The arguments cannot be used; its text is one line that says what is right."""
