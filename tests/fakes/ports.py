"""Ports that nothing else takes, also while the server that listens on them is down."""

from __future__ import annotations

import os
import socket
from itertools import cycle

FIRST, LAST = 20_000, 32_000
"""Below the ports that the system gives to outgoing connections, which would take that of a process that is down."""

_start = FIRST + os.getpid() * 97 % (LAST - FIRST)
# Two of these programs at once do not begin at the same place.
_candidates = cycle([*range(_start, LAST), *range(FIRST, _start)])


def free_port() -> int:
    """Return a port that is free and that this program has not returned before."""
    port: int = next(port for port in _candidates if _is_free(port))
    return port


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
