"""Starts the command line: `python -m perplexity`, or `pplx` if it is installed."""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType


def run() -> int:
    """Run the command line of this process and return the exit code."""
    handler = signal.getsignal(signal.SIGINT)
    if handler is signal.default_int_handler:
        signal.signal(signal.SIGINT, _leave)
    # These imports take a moment, in which Ctrl-C has nothing to cancel. The default handler would show a traceback, so
    # `_leave` handles Ctrl-C until they are done.
    from perplexity.cli.base import ProcessIO
    from perplexity.cli.main import main

    process = ProcessIO.current()
    signal.signal(signal.SIGINT, handler)
    return main(sys.argv[1:], process)


def _leave(number: int, _: FrameType | None) -> None:
    os._exit(128 + number)


if __name__ == "__main__":
    sys.exit(run())
