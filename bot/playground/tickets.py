"""What a response_url stands for, held in the address itself so that it outlives a restart of the process."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass

LIFETIME_SECONDS = 30 * 60
MAX_USES = 5


class ClosedError(Exception):
    """A response_url that takes nothing any more; the message is Slack's own word for why."""


@dataclass(frozen=True, kw_only=True)
class Ticket:
    """Where answers go: the channel, and the `ts` of the message that `replace_original` means.

    `trigger` is the `trigger_id` of the request, `issued` seconds since 1970, `private` whether the original is.
    """

    channel: str
    original: str
    trigger: str
    issued: float
    private: bool = True


def encode(ticket: Ticket) -> str:
    """Write a ticket as one segment of a path."""
    packed = json.dumps(asdict(ticket), separators=(",", ":")).encode()
    return base64.urlsafe_b64encode(packed).decode().rstrip("=")


def decode(token: str) -> Ticket:
    """Read a ticket; raises `ClosedError` for anything that `encode` did not write."""
    try:
        values = json.loads(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
        ticket = Ticket(**values)
    except (ValueError, TypeError, RecursionError):
        raise ClosedError("invalid_url") from None
    texts = (ticket.channel, ticket.original, ticket.trigger)
    if not (all(isinstance(text, str) for text in texts) and isinstance(ticket.issued, (int, float))):
        raise ClosedError("invalid_url")
    return ticket


class Uses:
    """Counts how often each response_url was used. `clock` gives seconds since 1970."""

    def __init__(self, *, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._used: dict[str, tuple[int, float]] = {}

    def take(self, ticket: Ticket) -> None:
        """Spend one use; raises `ClosedError` with Slack's word when the address is too old or used up."""
        now = self._clock()
        if now - ticket.issued > LIFETIME_SECONDS:
            raise ClosedError("expired_url")
        self._used = {key: use for key, use in self._used.items() if now - use[1] <= LIFETIME_SECONDS}
        count = self._used.get(ticket.trigger, (0, ticket.issued))[0]
        if count >= MAX_USES:
            raise ClosedError("used_url")
        self._used[ticket.trigger] = (count + 1, ticket.issued)
