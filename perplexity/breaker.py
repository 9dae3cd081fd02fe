"""A circuit breaker: after failures in a row a provider is left alone for a while, then tried by one request.

https://learn.microsoft.com/azure/architecture/patterns/circuit-breaker
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class BreakerPolicy:
    """It opens after `failures` in a row, and lets one request through every `seconds` until one succeeds."""

    failures: int = 5
    seconds: float = 30.0


class Breaker:
    """The breaker of one provider. `clock` only goes forward.

    Every request ends in `succeeded`, `failed` or `abandoned`, whether or not `admits` was asked for it.
    """

    def __init__(self, policy: BreakerPolicy, *, clock: Callable[[], float]) -> None:
        self._policy = policy
        self._clock = clock
        self._failures = 0
        self._closed_until_probe = 0.0
        self._probing = False

    @property
    def is_open(self) -> bool:
        """Whether requests are kept away, but for one now and then."""
        return self._failures >= self._policy.failures

    def admits(self) -> bool:
        """Tell whether a request may go out now; one that may while it is open is the probe, and the only one."""
        if not self.is_open:
            return True
        if self._probing or self._clock() < self._closed_until_probe:
            return False
        self._probing = True
        return True

    def succeeded(self) -> None:
        """Close it: the provider is well."""
        self._failures, self._probing = 0, False

    def failed(self) -> None:
        """Count a failure; enough of them in a row open it, and a failed probe keeps it open."""
        self._failures, self._probing = self._failures + 1, False
        if self.is_open:
            self._closed_until_probe = self._clock() + self._policy.seconds

    def abandoned(self) -> None:
        """Forget a request that says nothing of the provider: it was cancelled, or it was the caller's fault."""
        self._probing = False
