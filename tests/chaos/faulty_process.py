"""`python -m bot` in a process whose clock jumps and whose names stop to resolve, at a signal; it says who it is.

SIGUSR1 puts the wall clock an hour ahead; the clock that only goes forward stays. SIGUSR2 takes the name server away,
and at the next time gives it back. To the services it names itself as `PROCESS_NAME` does.
"""

from __future__ import annotations

import datetime
import importlib
import os
import signal
import socket
import sys
import time
from datetime import datetime as real_datetime
from typing import Any

from perplexity import transport

AHEAD_SECONDS = 3600.0
# What keeps the real classes: it compares and converts dates, and asks no one what time it is.
BEFORE = ("psycopg", "psycopg_pool", "procrastinate", "pydantic_settings", "aiohttp.web", "slack_bolt.async_app")

real_time, real_resolve_name = time.time, socket.getaddrinfo
ahead = 0.0
named = True


class _Meta(type):
    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, real_datetime)


class ShiftedDatetime(datetime.datetime, metaclass=_Meta):
    """`datetime.datetime`, whose now is ahead."""

    @classmethod
    def now(cls, tz: datetime.tzinfo | None = None) -> Any:
        """Return the moment of the shifted clock."""
        return real_datetime.now(tz) + datetime.timedelta(seconds=ahead)


def shifted_time() -> float:
    """Return the shifted clock's seconds since 1970."""
    return real_time() + ahead


def resolve_name(host: Any, *arguments: Any, **options: Any) -> Any:
    """Resolve a name, or fail as without a name server; an address is none."""
    if not named and isinstance(host, str) and not host.replace(".", "").isdigit():
        raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")
    return real_resolve_name(host, *arguments, **options)


def _move_clock(*_: object) -> None:
    global ahead  # noqa: PLW0603 - a signal's handler has nowhere else to say it
    ahead = AHEAD_SECONDS


def _toggle_names(*_: object) -> None:
    global named  # noqa: PLW0603
    named = not named


def main() -> int:
    """Run the command line of the bot."""
    for name in BEFORE:
        importlib.import_module(name)
    datetime.datetime = ShiftedDatetime  # type: ignore[misc]
    time.time = shifted_time
    socket.getaddrinfo = resolve_name
    transport.USER_AGENT += f" {os.environ['PROCESS_NAME']}"
    signal.signal(signal.SIGUSR1, _move_clock)
    signal.signal(signal.SIGUSR2, _toggle_names)
    from bot.__main__ import main as bot

    return bot(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
