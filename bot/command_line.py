"""Shared parts of the subcommands of `python -m bot`.

Nothing heavy is imported here, because a signal must be able to stop some of the subcommands at any time.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bot.stop_signals import Stopped, StopSignals

if TYPE_CHECKING:
    from bot.settings import Settings

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


@dataclass(frozen=True, kw_only=True)
class OpenDatabase:
    """A database that is up to date: its address, its description, and the number of migrations just applied."""

    conninfo: str
    described: str
    applied: int


@contextmanager
def open_database(settings: Settings, stop: StopSignals | None = None) -> Iterator[tuple[str, str]]:
    """Yield the database's address and a description. Raises `Stopped` if a signal arrives while a server starts."""
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


@contextmanager
def open_migrated(
    settings: Settings, stop: StopSignals | None = None, *, tell: Callable[[str], None]
) -> Iterator[OpenDatabase]:
    """Open the database and migrate it; `tell` reports a database newer than this version. Raises `Stopped`."""
    from bot.storage.migrate import database_is_newer, migrate

    stop = stop or StopSignals()
    with open_database(settings, stop) as (conninfo, described):
        applied = asyncio.run(stop.run_until_stopped(migrate(conninfo)))
        if asyncio.run(stop.run_until_stopped(database_is_newer(conninfo))):
            tell(_DATABASE_NEWER)
        yield OpenDatabase(conninfo=conninfo, described=described, applied=applied)


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
