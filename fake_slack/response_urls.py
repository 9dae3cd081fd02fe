"""The response_urls for an app's answers: their signed tokens, and how often and how long each may be used.

https://docs.slack.dev/interactivity/handling-user-interaction#message_responses
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

MAX_TRACKED = 1000
"""The most addresses whose uses are counted; the oldest are dropped first."""

_SIGNATURE_BYTES = hashlib.sha256().digest_size


class ClosedError(Exception):
    """The response_url is closed; the message is Slack's error name."""


@dataclass(frozen=True, kw_only=True)
class ResponseUrlToken:
    """The content of a response_url: the channel in which its answers appear, and the message that they may replace.

    `original` is the `ts` of this message, and `private` is whether the message is private. `trigger` is the
    `trigger_id` of the request to the app. `issued` is in seconds since 1970.
    """

    channel: str
    original: str
    trigger: str
    issued: float
    private: bool = True


def encode(ticket: ResponseUrlToken, *, secret: str) -> str:
    """Return a token as a signed segment of a path."""
    packed = json.dumps(asdict(ticket), separators=(",", ":")).encode()
    return base64.urlsafe_b64encode(_signature(packed, secret) + packed).decode().rstrip("=")


def decode(token: str, *, secret: str) -> ResponseUrlToken:
    """Return the token in a path segment. Raises `ClosedError` if `encode` did not sign it with the same secret."""
    try:
        signed = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))
    except ValueError:
        raise ClosedError("invalid_url") from None
    signature, packed = signed[:_SIGNATURE_BYTES], signed[_SIGNATURE_BYTES:]
    if not hmac.compare_digest(signature, _signature(packed, secret)):
        raise ClosedError("invalid_url")
    try:
        return ResponseUrlToken(**json.loads(packed))
    except (ValueError, TypeError):  # Another version signed the token.
        raise ClosedError("invalid_url") from None


def _signature(packed: bytes, secret: str) -> bytes:
    """Return the signature of a token; because of the prefix, the signature of a request is never valid for a token."""
    return hmac.new(secret.encode(), b"response_url:" + packed, hashlib.sha256).digest()


class UseCounter:
    """Counts the uses of each response_url. `clock` returns seconds since 1970."""

    def __init__(self, *, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._used: dict[str, tuple[int, float]] = {}

    def spend(self, ticket: ResponseUrlToken) -> None:
        """Count one use. Raises `ClosedError` if the address is too old or used up."""
        now = self._clock()
        if not abs(now - ticket.issued) <= LIFETIME_SECONDS:  # With `not … <=`, NaN counts as expired, too.
            raise ClosedError("expired_url")
        self._used = {key: use for key, use in self._used.items() if now - use[1] <= LIFETIME_SECONDS}
        count = self._used.get(ticket.trigger, (0, ticket.issued))[0]
        if count >= MAX_USES:
            raise ClosedError("used_url")
        self._used.pop(ticket.trigger, None)
        self._used[ticket.trigger] = (count + 1, ticket.issued)
        if len(self._used) > MAX_TRACKED:
            del self._used[next(iter(self._used))]
