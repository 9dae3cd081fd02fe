"""The base of all commands: their definition, their errors, their access to the process, and its signals."""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import signal
import sys
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import TextIO, TypeVar

from perplexity.errors import PerplexityError
from perplexity.notes import is_empty_result, with_reasons

_STOP_SIGNALS = (signal.SIGTERM, signal.SIGHUP)
_SIGNAL_BASE = 128

Result = TypeVar("Result")


class StoppedBySignal(KeyboardInterrupt):
    """SIGTERM or SIGHUP stopped the command; Ctrl-C raises a plain KeyboardInterrupt."""


class Signals:
    """The signals to this process. Before `install` is called, only Ctrl-C is handled."""

    def __init__(self) -> None:
        self._first = signal.SIGINT
        self._task: asyncio.Task[object] | None = None

    @property
    def exit_code(self) -> int:
        """The exit code after a signal, as in a shell: 128 plus the number of the signal.

        The signal is SIGTERM or SIGHUP if one of them was received, otherwise SIGINT, the signal of Ctrl-C.
        """
        return _SIGNAL_BASE + self._first

    @property
    def stopped(self) -> bool:
        """Whether SIGTERM or SIGHUP was received."""
        return self._first is not signal.SIGINT

    def install(self) -> None:
        """Handle SIGTERM and SIGHUP from now on, unless the process ignores them, as under nohup.

        Call this in the main thread.
        """
        for number in _STOP_SIGNALS:
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, self._on_signal)

    def run(self, work: Coroutine[object, object, Result]) -> Result:
        """Run a coroutine and return its result.

        SIGTERM, SIGHUP and Ctrl-C cancel the coroutine. Raises StoppedBySignal then, or KeyboardInterrupt after Ctrl-C.
        """
        try:
            return asyncio.run(self._track(work))
        except asyncio.CancelledError:
            if self.stopped:
                raise StoppedBySignal from None
            raise
        finally:
            self._task = None

    async def _track(self, work: Coroutine[object, object, Result]) -> Result:
        self._task = asyncio.current_task()
        return await work

    def _on_signal(self, number: int, _: FrameType | None) -> None:
        """Handle the first signal, and ignore later ones.

        A closed terminal sends two signals, and the cleanup after the first takes little time.
        """
        if self.stopped:
            return
        self._first = signal.Signals(number)
        if self._task is None:
            raise StoppedBySignal
        self._task.get_loop().call_soon_threadsafe(self._task.cancel)


OK, FAILED, WRONG_USE, PIPE_CLOSED = 0, 1, 2, 141
"""The exit codes. A shell reports 141 for a program that SIGPIPE ended; `Signals.exit_code` is for other signals."""


_KEY_LINE = re.compile(r"""(?:export\s+)?(\w+_API_KEY)\s*=\s*(["']?)([^\s"'#]+)\2\s*(?:#.*)?""")


def read_keys(path: Path) -> dict[str, str]:
    """Return the variables of a `.env` file whose names end in `_API_KEY`; empty if the file cannot be read."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return {}
    found = filter(None, (_KEY_LINE.fullmatch(line.strip()) for line in text.splitlines()))
    return {line[1]: line[3] for line in found}


_STREAMS = {"stdin": "r", "stdout": "w", "stderr": "w"}


@dataclass(frozen=True, kw_only=True)
class ProcessIO:
    """The environment, the standard streams and the signals of a process.

    `closed` has the names of those streams that were closed at the start. `current` adds the keys in the `.env` of the
    current folder to the environment.
    """

    environ: Mapping[str, str] = field(repr=False)
    stdin: TextIO
    stdout: TextIO
    stderr: TextIO
    signals: Signals = field(default_factory=Signals)
    closed: frozenset[str] = frozenset()

    @classmethod
    def current(cls) -> ProcessIO:
        """Replace closed streams, handle SIGTERM and SIGHUP from now on, and return this process's ProcessIO."""
        closed = frozenset(name for name in _STREAMS if getattr(sys, name) is None)
        for name, mode in _STREAMS.items():
            if name in closed:
                # The null device takes the place of a closed stream; otherwise, the next file that is opened would get
                # the stream's descriptor. `os.open` returns the lowest free descriptor, which is the stream's own,
                # because the loop follows the order of the descriptors.
                setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode, encoding="utf-8"))
        for stream in (sys.stdout, sys.stderr):
            # A character that the terminal's encoding lacks is replaced instead of raising an error.
            getattr(stream, "reconfigure", lambda **_: None)(errors="replace")
        signals = Signals()
        signals.install()
        return cls(
            environ=read_keys(Path(".env")) | os.environ,
            stdin=sys.stdin,
            stdout=sys.stdout,
            stderr=sys.stderr,
            signals=signals,
            closed=closed,
        )

    def write_stderr(self, text: str) -> None:
        """Write a line to stderr; ignore a closed terminal."""
        with suppress(OSError):
            self.stderr.write(text + "\n")
            self.stderr.flush()


@dataclass(frozen=True, kw_only=True)
class CliCommand:
    """A command: `add` declares its arguments, and `run` runs it with the parsed arguments.

    `run` raises UsageError, CommandFailed, InvalidRequest or another PerplexityError. If `run` raises
    KeyboardInterrupt, `cancelled` is written to stderr. `extras` are the extras of the package that must be installed
    to run the command; its help works without them.
    """

    name: str
    summary: str
    add: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace, ProcessIO], None]
    cancelled: str = "Cancelled."
    extras: tuple[str, ...] = ("cli",)


class UsageError(Exception):
    """Invalid arguments; the message is one line that says what is valid."""


class CommandFailed(Exception):
    """The result is not what was requested; the message is one line that says why."""


@contextmanager
def explain_nothing_found(nothing: str) -> Iterator[None]:
    """In the block, raise CommandFailed instead of an error that only says that nothing was found.

    The message of CommandFailed is `nothing`, followed by the providers' reasons. Other errors are raised unchanged.
    """
    try:
        yield
    except PerplexityError as error:
        if not is_empty_result(error):
            raise
        raise CommandFailed(with_reasons(nothing, error)) from None
