"""Ports that nothing else takes, also while the server that listens on them is down."""

from __future__ import annotations

import atexit
import os
import socket
from collections import deque
from collections.abc import Iterator
from itertools import cycle

FIRST, LAST, TOGETHER = 20_000, 32_000, 100
"""Below the ports that the system gives to outgoing connections, which would take that of a process that is down."""


def _candidates() -> Iterator[int]:
    """Yield ports of blocks that no other program of these has claimed; the last two blocks stay claimed.

    The sign of a claim is a UDP socket on the block's first port. Without it two programs that walk through the same
    ports meet sooner or later, and one's test asks the other's app.
    """
    claims: deque[socket.socket] = deque()
    blocks = range(FIRST, LAST, TOGETHER)
    begin = os.getpid() % len(blocks)
    for block in cycle([*blocks[begin:], *blocks[:begin]]):
        claim = socket.socket(type=socket.SOCK_DGRAM)
        try:
            claim.bind(("127.0.0.1", block))
        except OSError:
            claim.close()
            continue
        claims.append(claim)
        atexit.register(claim.close)
        if len(claims) > 2:
            claims.popleft().close()
        yield from range(block, block + TOGETHER)


_ports = _candidates()


def free_port() -> int:
    """Return a port that is free and that no program of these has returned lately."""
    return next(port for port in _ports if _is_free(port))


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
