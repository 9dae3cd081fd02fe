"""What a command is, and what it may touch."""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import sys
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from types import FrameType
from typing import TextIO, TypeVar

from perplexity.errors import PerplexityError
from perplexity.notes import is_empty_result, with_reasons

_ENDING = (signal.SIGTERM, signal.SIGHUP)
_SIGNALLED = 128

Result = TypeVar("Result")


class Stopped(KeyboardInterrupt):
    """A signal other than Ctrl-C's asked the process to end."""


class Signals:
    """What signals asked of this process. Until it is told to `install`, none but Ctrl-C is heard."""

    def __init__(self) -> None:
        self._first = signal.SIGINT
        self._task: asyncio.Task[object] | None = None

    @property
    def exit_code(self) -> int:
        """The exit code of a process that was asked to end, as a shell gives it: by Ctrl-C, unless it was another."""
        return _SIGNALLED + self._first

    @property
    def stopped(self) -> bool:
        """Whether a signal other than Ctrl-C's came."""
        return self._first is not signal.SIGINT

    def install(self) -> None:
        """Take the signals from now on, in the main thread; those that are ignored, as with nohup, still are."""
        for number in _ENDING:
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, self._take)

    def run(self, work: Coroutine[object, object, Result]) -> Result:
        """Return what the work returns; a signal cancels it. Raises Stopped, or KeyboardInterrupt after Ctrl-C."""
        try:
            return asyncio.run(self._known(work))
        except asyncio.CancelledError:
            if self.stopped:
                raise Stopped from None
            raise
        finally:
            self._task = None

    async def _known(self, work: Coroutine[object, object, Result]) -> Result:
        self._task = asyncio.current_task()
        return await work

    def _take(self, number: int, _: FrameType | None) -> None:
        """Note the first signal; a terminal that is closed sends two, and clearing up is short."""
        if self.stopped:
            return
        self._first = signal.Signals(number)
        if self._task is None:
            raise Stopped
        self._task.get_loop().call_soon_threadsafe(self._task.cancel)


OK, FAILED, WRONG_USE, PIPE_CLOSED = 0, 1, 2, 141
"""The exit codes; the last is that of a program that SIGPIPE ended. `Signals.exit_code` is for other signals."""


_STREAMS = {"stdin": "r", "stdout": "w", "stderr": "w"}


@dataclass(frozen=True, kw_only=True)
class ProcessIO:
    """The environment, the three streams and the signals of a process; `closed` names the streams it was not given."""

    environ: Mapping[str, str] = field(repr=False)
    stdin: TextIO
    stdout: TextIO
    stderr: TextIO
    signals: Signals = field(default_factory=Signals)
    closed: frozenset[str] = frozenset()

    @classmethod
    def current(cls) -> ProcessIO:
        """Return the process's own."""
        closed = frozenset(name for name in _STREAMS if getattr(sys, name) is None)
        for name, mode in _STREAMS.items():
            if name in closed:
                # In this order each takes the descriptor of its own, which a file of ours would take otherwise.
                setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode, encoding="utf-8"))
        for stream in (sys.stdout, sys.stderr):
            # An answer holds letters that the terminal's encoding may not have.
            getattr(stream, "reconfigure", lambda **_: None)(errors="replace")
        signals = Signals()
        signals.install()
        return cls(
            environ=os.environ,
            stdin=sys.stdin,
            stdout=sys.stdout,
            stderr=sys.stderr,
            signals=signals,
            closed=closed,
        )

    def write_stderr(self, text: str) -> None:
        """Write a line to stderr, unless nobody can read it any more."""
        with suppress(OSError):
            self.stderr.write(text + "\n")
            self.stderr.flush()


@dataclass(frozen=True, kw_only=True)
class Command:
    """One command: `add` declares its arguments, `run` does it with those that were read.

    `run` raises UsageError, Failure, InvalidRequest or another PerplexityError, and KeyboardInterrupt; `cancelled` is
    what is said then. `extras` are those that must be installed to run it; its help works without.
    """

    name: str
    summary: str
    add: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace, ProcessIO], None]
    cancelled: str = "Cancelled."
    extras: tuple[str, ...] = ("cli",)


class UsageError(Exception):
    """The arguments cannot be used; its text is one line that says what is right."""


class CommandFailed(Exception):
    """What came is not what was asked for; its text is one line that says why."""


@contextmanager
def explain_nothing_found(nothing: str) -> Iterator[None]:
    """Raise Failure with this sentence, and the reasons, for an error that only says that nothing was found."""
    try:
        yield
    except PerplexityError as error:
        if not is_empty_result(error):
            raise
        raise CommandFailed(with_reasons(nothing, error)) from None
