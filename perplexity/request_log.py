"""Which requests leave for the services."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True)
class SentRequest:
    """One request with what was sent: the `service`'s host, the `path`, and the `body`, word for word.

    The body is JSON; a request without one has its query in the path. `at` is in seconds since 1970. No header is
    kept, and so no key.
    """

    service: str
    path: str
    body: str
    at: float


BeforeSending = Callable[[SentRequest], Awaitable[None]]
"""Awaited with a request that is about to leave; if it raises, nothing leaves."""


@dataclass(kw_only=True)
class RequestLog:
    """The requests in the order in which they left; `now` returns seconds since 1970.

    `before_sending` is awaited after each was noted, and before it leaves; if it raises, nothing leaves.
    """

    requests: list[SentRequest] = field(default_factory=list)
    now: Callable[[], float] = time.time
    before_sending: BeforeSending | None = None

    async def record(
        self, service: str, path: str, body: str, *, before_sending: BeforeSending | None = None
    ) -> SentRequest:
        """Note a request that is about to leave. Raises what its own `before_sending` raises, and the log's."""
        sent = self.add(service, path, body)
        try:
            for before in (before_sending, self.before_sending):
                if before is not None:
                    await before(sent)
        except BaseException:
            self.remove(sent)
            raise
        return sent

    def add(self, service: str, path: str, body: str) -> SentRequest:
        """Note a request that leaves now."""
        sent = SentRequest(service=service, path=path, body=body, at=self.now())
        self.requests.append(sent)
        return sent

    def remove(self, request: SentRequest) -> None:
        """Take back a request that did not leave after all."""
        self.requests = [one for one in self.requests if one is not request]
