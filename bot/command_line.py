"""Shared parts of the subcommands of `python -m bot`: their arguments, the database, printing, and stopping.

The first stop signal ends the process gracefully within a time limit, and a second one ends it at once. Most imports
are inside functions, because they are slow, and the signal handlers must be installed first.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import sys
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Timer, current_thread, main_thread
from time import monotonic
from types import FrameType
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from bot.settings import Settings

T = TypeVar("T")

NO_OAUTH = (
    "{what}: workspaces install the app by OAuth only if SLACK_OAUTH_CLIENT_ID and the settings next to it are set "
    "(docs/workspaces.md)."
)
_DATABASE_NEWER = (
    "Database  newer than this version of the app, but still usable. Questions for commands that this version does not "
    "know stay in the queue for a newer version."
)


@dataclass(frozen=True, kw_only=True)
class Subcommand:
    """A subcommand of `python -m bot`; `run` returns the exit code.

    A subcommand that `only_prints` fails at once if the standard output is closed. `run` receives the parsed arguments,
    whose attribute `brought` has the parts of the features.
    """

    name: str
    help: str
    add_arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[Settings, argparse.Namespace], int]
    only_prints: bool = False


@contextmanager
def open_database(settings: Settings, stop: StopSignals | None = None) -> Iterator[tuple[str, str]]:
    """Yield the database's address and a description. Raises `Stopped` if a signal arrives while Postgres starts."""
    from bot.storage.embedded import embedded_server, require_embedded

    stop = stop or StopSignals()
    if settings.database_url is not None:
        yield settings.database_url.get_secret_value(), "Postgres at DATABASE_URL"
        return
    require_embedded(dyno=settings.dyno)
    with embedded_server(
        Path(settings.data_dir), stopping=stop.requested, on_abrupt_exit=stop.on_forced_exit
    ) as conninfo:
        if stop.requested():
            raise Stopped
        yield conninfo, f"embedded Postgres in {settings.data_dir}"


async def update_database(conninfo: str, *, tell: Callable[[str], None]) -> int:
    """Apply the missing migrations and return their number; `tell` reports a database newer than this version."""
    from bot.storage.migrate import database_is_newer, migrate

    applied = await migrate(conninfo)
    if await database_is_newer(conninfo):
        tell(_DATABASE_NEWER)
    return applied


@contextmanager
def open_migrated(settings: Settings) -> Iterator[str]:
    """Bring the database up to date, and yield its address."""
    with open_database(settings) as (conninfo, _):
        asyncio.run(update_database(conninfo, tell=say_aside))
        yield conninfo


def say(text: str) -> None:
    """Print a line at once."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def say_aside(text: str) -> None:
    """Print a line on standard error, so that standard output has only data."""
    sys.stderr.write(text + "\n")


def fail(text: str, *, code: int) -> int:
    """Print why a command failed, and return its exit code."""
    say_aside(text)
    return code


def user_id(user: str) -> str:
    """Parse the id of a person. Raises ArgumentTypeError."""
    from bot.settings import USER_ID

    if not USER_ID.fullmatch(user):
        raise argparse.ArgumentTypeError(f"{user!r} must be a Slack user id, such as U012AB3CD")
    return user


def channel_id(channel: str) -> str:
    """Parse the id of a channel. Raises ArgumentTypeError."""
    from bot.settings import CHANNEL_ID

    if not CHANNEL_ID.fullmatch(channel):
        raise argparse.ArgumentTypeError(f"{channel!r} must be the id of a channel, such as C012AB3CD")
    return channel


SIGNALS = (signal.SIGINT, signal.SIGTERM)
MAX_STOP_SECONDS = 25.0
"""How long a graceful stop may take; hosts kill a process thirty seconds after asking it to stop."""

SAME_SECONDS = 0.5
"""How long after the first signal another signal counts as the same one.

Ctrl-C sends a signal to every process of a group, and `make` passes its signal on to its child, which then gets two.
"""

EXIT_FORCED = 130
EXIT_LATE = 1


class Stopped(Exception):
    """The process was asked to stop before its command was done."""


class StopSignals:
    """Handles stop signals."""

    def __init__(self) -> None:
        self._requested_at: float | None = None
        self._wake: Callable[[], None] | None = None
        self._at_once: list[Callable[[], None]] = []

    @contextmanager
    def handled(self, *, exiting: bool) -> Iterator[None]:
        """Handle the signals inside the block, then restore their handlers. Does nothing outside the main thread.

        If the process ends after the block (`exiting`), the signals are ignored instead. Otherwise a late signal would
        kill a process whose command is done, and the exit code would be the signal's.
        """
        if current_thread() is not main_thread():
            yield
            return
        before = {number: signal.signal(number, self._on_signal) for number in SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, signal.SIG_IGN if exiting else handler)
            if self.requested():
                _print("Stopped")

    def requested(self) -> bool:
        """Return whether a signal has arrived."""
        return self._requested_at is not None

    def on_forced_exit(self, abandon: Callable[[], None]) -> None:
        """Register a callback for a forced exit, which runs no other cleanup. The callback must not wait."""
        self._at_once.append(abandon)

    def event(self) -> asyncio.Event:
        """Return an event of the running loop that is set once a signal has arrived."""
        loop, event = asyncio.get_running_loop(), asyncio.Event()

        def wake() -> None:
            with suppress(RuntimeError):  # Raised if the loop has ended.
                loop.call_soon_threadsafe(event.set)

        self._wake = wake
        if self.requested():
            event.set()
        return event

    async def run_until_stopped(self, work: Coroutine[Any, Any, T]) -> T:
        """Run `work` and return its result. If a signal arrives first, cancel the work and raise `Stopped`."""
        working = asyncio.ensure_future(work)
        stopping = asyncio.ensure_future(self.event().wait())
        await asyncio.wait({working, stopping}, return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        if working.done():
            return working.result()
        working.cancel()
        await asyncio.wait({working})
        raise Stopped

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self._requested_at is not None:
            if monotonic() - self._requested_at >= SAME_SECONDS:
                self._exit(EXIT_FORCED)
            return
        self._requested_at = monotonic()
        again = "press Ctrl-C again" if number == signal.SIGINT else "repeat the signal"
        _print(f"\nStopping  ({again} to stop at once; no question is lost)")
        late = Timer(MAX_STOP_SECONDS, self._exit, args=[EXIT_LATE])
        late.daemon = True
        late.start()
        if self._wake is not None:
            self._wake()

    def _exit(self, code: int) -> None:
        for abandon in self._at_once:
            with suppress(Exception):
                abandon()
        os._exit(code)


def _print(line: str) -> None:
    # `sys.stdout` is not used, because the signal may have interrupted a write to it.
    with suppress(OSError):
        os.write(1, f"{line}\n".encode())
