"""Encodes what a response_url is for in the address itself, so that it survives a restart of the process.

The address is signed, so that the playground accepts only addresses that it issued.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass

LIFETIME_SECONDS = 30 * 60
MAX_USES = 5

TRACKED = 1000
"""The most addresses whose uses are counted; the oldest are forgotten first."""

_SIGNATURE_BYTES = hashlib.sha256().digest_size


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


def encode(ticket: Ticket, *, secret: str) -> str:
    """Write a ticket, signed with a secret, as one segment of a path."""
    packed = json.dumps(asdict(ticket), separators=(",", ":")).encode()
    return base64.urlsafe_b64encode(_signature(packed, secret) + packed).decode().rstrip("=")


def decode(token: str, *, secret: str) -> Ticket:
    """Read a ticket; raises `ClosedError` for anything that `encode` did not write with the same secret."""
    try:
        signed = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))
    except ValueError:
        raise ClosedError("invalid_url") from None
    signature, packed = signed[:_SIGNATURE_BYTES], signed[_SIGNATURE_BYTES:]
    if not hmac.compare_digest(signature, _signature(packed, secret)):
        raise ClosedError("invalid_url")
    try:
        return Ticket(**json.loads(packed))
    except (ValueError, TypeError):  # of another version
        raise ClosedError("invalid_url") from None


def _signature(packed: bytes, secret: str) -> bytes:
    """Return the signature of a ticket; no signature of a request, which begins with a version, is ever one."""
    return hmac.new(secret.encode(), b"response_url:" + packed, hashlib.sha256).digest()


class Uses:
    """Counts how often each response_url was used. `clock` gives seconds since 1970."""

    def __init__(self, *, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._used: dict[str, tuple[int, float]] = {}

    def take(self, ticket: Ticket) -> None:
        """Spend one use; raises `ClosedError` with Slack's word when the address is too old or used up."""
        now = self._clock()
        if not abs(now - ticket.issued) <= LIFETIME_SECONDS:  # also for what is no number
            raise ClosedError("expired_url")
        self._used = {key: use for key, use in self._used.items() if now - use[1] <= LIFETIME_SECONDS}
        count = self._used.get(ticket.trigger, (0, ticket.issued))[0]
        if count >= MAX_USES:
            raise ClosedError("used_url")
        self._used.pop(ticket.trigger, None)
        self._used[ticket.trigger] = (count + 1, ticket.issued)
        if len(self._used) > TRACKED:
            del self._used[next(iter(self._used))]
